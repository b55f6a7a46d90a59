import { HOUR, MINUTE, SECOND } from "../../duration.ts";
import type { Instant } from "../../entitlements/time.ts";
import type {
  AndroidPackage,
  AndroidStore,
  AndroidOrders,
} from "../../stores/android-store/android-store.ts";
import type { AppStoreAnswer, AppStoreApp, AppStoreClient } from "../../stores/ios-store/app-store-server.ts";

export interface ImportStores {
  readonly appStore: Pick<AppStoreClient, "subscriptionStatuses" | "transactionHistory" | "appTransaction">;
  readonly androidStore: Pick<AndroidStore, "lookUp" | "acknowledge">;
  readonly orders: AndroidOrders;
}

interface Paced {
  readonly outcome: string;
  readonly status?: number | null;
  readonly retryAt?: Instant | null;
}

/** Failures of a request, while others succeed, after which it is given up. */
const MOST_TRIES = 3;
/** Longest that a request waits for a store that answers nobody. */
const PATIENCE = 2 * HOUR;
/** Pauses after failures in a row, where the store names no time. */
const PAUSES = [SECOND, 5 * SECOND, 30 * SECOND, MINUTE, 2 * MINUTE, 5 * MINUTE];
/** Status of an answer that cannot be read. */
const READ = 200;

/** Outcome of requests that are not sent: the store has refused the credential. */
export const STOPPED = { outcome: "credential-rejected", status: null, reason: null } as const;

interface Clock {
  readonly now: () => Instant;
  readonly wait: (milliseconds: number) => Promise<void>;
}

/**
 * Pace of the requests to one bundle or package in one environment. A store that answers nobody is asked again for two
 * hours; a request that fails while others succeed is given up earlier.
 */
export const createGate = ({ now, wait }: Clock, perSecond: number) => {
  const step = SECOND / perSecond;
  let nextAt = 0;
  let pausedUntil = 0;
  let failures = 0;
  let successes = 0;
  let isStopped = false;

  const turn = async (): Promise<void> => {
    for (;;) {
      const at = Math.max(now(), nextAt, pausedUntil);
      nextAt = at + step;
      const left = at - now();
      if (left > 0) await wait(Math.ceil(left));
      // Those that a pause has kept waiting go one after the other again.
      if (isStopped || pausedUntil <= now()) return;
    }
  };
  /** Requests that fail together count once. */
  const failed = (named: Instant | null): void => {
    if (named !== null) pausedUntil = Math.max(pausedUntil, named);
    if (now() < pausedUntil) return;
    pausedUntil = now() + (PAUSES[Math.min(failures, PAUSES.length - 1)] ?? 0);
    failures += 1;
  };

  return {
    ask: async <Answer extends Paced>(send: () => Promise<Answer>): Promise<Answer | typeof STOPPED> => {
      let [tries, firstFailedAt, seen] = [0, Infinity, successes];
      for (;;) {
        await turn();
        if (isStopped) return STOPPED;
        const answer = await send();
        if (answer.outcome === "credential-rejected") isStopped = true;
        if (answer.outcome !== "unavailable") {
          successes += 1;
          failures = 0;
          return answer;
        }
        if (answer.status === READ) return answer;
        failed(answer.retryAt ?? null);
        firstFailedAt = Math.min(firstFailedAt, now());
        if (successes > seen) tries += 1;
        seen = successes;
        if (tries >= MOST_TRIES || now() - firstFailedAt >= PATIENCE) return answer;
      }
    },
    get isStopped() {
      return isStopped;
    },
    /** Null: the store is not left alone. */
    get pausedUntil() {
      return pausedUntil > now() ? pausedUntil : null;
    },
  };
};
type Gate = ReturnType<typeof createGate>;

/** By bundle or package, and environment. */
export type Gates = ReadonlyMap<string, Omit<Gate, "ask">>;

/** The same stores, each bundle and package at its own pace. Apple's sandbox takes a tenth of the requests. */
export const pacedStores = (
  { appStore, androidStore, orders }: ImportStores,
  clock: Clock,
  perSecond: number,
): { readonly stores: ImportStores; readonly gates: Gates } => {
  const gates = new Map<string, Gate>();
  const gateAt = (name: string, rate: number): Gate => {
    const gate = gates.get(name) ?? createGate(clock, rate);
    gates.set(name, gate);
    return gate;
  };
  const ofApple = <Content>(
    { bundleIdentifier, environment }: AppStoreApp,
    send: () => Promise<AppStoreAnswer<Content>>,
  ) =>
    gateAt(
      `ios-store ${bundleIdentifier} ${environment}`,
      environment === "sandbox" ? perSecond / 10 : perSecond,
    ).ask(send);
  const ofGoogle = <Answer extends Paced>({ packageName }: AndroidPackage, send: () => Promise<Answer>) =>
    gateAt(`android-store ${packageName}`, perSecond).ask(send);
  return {
    gates,
    stores: {
      appStore: {
        appTransaction: (app, id) => ofApple(app, () => appStore.appTransaction(app, id)),
        subscriptionStatuses: (app, id) => ofApple(app, () => appStore.subscriptionStatuses(app, id)),
        transactionHistory: (app, id, revision) =>
          ofApple(app, () => appStore.transactionHistory(app, id, revision)),
      },
      androidStore: {
        ...androidStore,
        lookUp: (of, request) => ofGoogle(of, () => androidStore.lookUp(of, request)),
      },
      orders: { find: (of, identifiers) => ofGoogle(of, () => orders.find(of, identifiers)) },
    },
  };
};
