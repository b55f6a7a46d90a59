import { SECOND } from "../../../duration.ts";
import type { Instant } from "../../../entitlements/time.ts";
import type { AndroidPackage, AndroidStore } from "../../../stores/android-store/android-store.ts";
import type { AndroidOrders } from "../../../stores/android-store/orders.ts";
import type {
  AppStoreAnswer,
  AppStoreApp,
  AppStoreServer,
  AppTransactions,
} from "../../../stores/ios-store/server-api/app-store-server.ts";
import type { Gates, Paced } from "./pace.ts";

export interface ImportStores {
  readonly appStore: Pick<AppStoreServer, "subscriptionStatuses" | "transactionHistory"> & AppTransactions;
  readonly androidStore: Pick<AndroidStore, "lookUp" | "acknowledge">;
  readonly orders: AndroidOrders;
}

const STOPPED = { outcome: "credential-rejected", status: null, reason: null } as const;

const gateNameOf = ({ bundleIdentifier, environment }: AppStoreApp): string =>
  `ios-store ${bundleIdentifier} ${environment}`;

/** Apple's sandbox takes a tenth of the requests. */
export const rateOf =
  (perSecond: number) =>
  (gate: string): number =>
    gate.startsWith("ios-store ") && gate.endsWith(" sandbox") ? perSecond / 10 : perSecond;

/** Without a 429, the seconds that a failure names are a default. */
const googleRetryAt =
  (now: () => Instant) =>
  (failed: Paced & { readonly retryAfterSeconds?: number | null }): Instant | null =>
    failed.status === 429 && failed.retryAfterSeconds != null
      ? now() + failed.retryAfterSeconds * SECOND
      : null;

/** The same stores, at the pace of each bundle's and package's gate. */
export const pacedStores = (
  { appStore, androidStore, orders }: ImportStores,
  gates: Gates,
  now: () => Instant,
): ImportStores => {
  const paced = async <Answer extends Paced>(
    gate: string,
    send: () => Promise<Answer>,
    retryAt: (failed: Answer) => Instant | null,
  ): Promise<Answer | typeof STOPPED> => {
    const answer = await gates.of(gate).ask(send, retryAt);
    return answer === "stopped" ? STOPPED : answer;
  };
  const ofApple = <Content>(app: AppStoreApp, send: () => Promise<AppStoreAnswer<Content>>) =>
    paced(gateNameOf(app), send, (failed) => (failed.outcome === "unavailable" ? failed.retryAt : null));
  const ofGoogle = <Answer extends Paced>({ packageName }: AndroidPackage, send: () => Promise<Answer>) =>
    paced(`android-store ${packageName}`, send, googleRetryAt(now));
  return {
    appStore: {
      appTransaction: (app, id) => ofApple(app, () => appStore.appTransaction(app, id)),
      subscriptionStatuses: (app, id) => ofApple(app, () => appStore.subscriptionStatuses(app, id)),
      transactionHistory: (app, id, revision) =>
        ofApple(app, () => appStore.transactionHistory(app, id, revision)),
    },
    androidStore: {
      lookUp: (of, request) => ofGoogle(of, () => androidStore.lookUp(of, request)),
      acknowledge: (...asked) => androidStore.acknowledge(...asked),
    },
    orders: { find: (of, identifiers) => ofGoogle(of, () => orders.find(of, identifiers)) },
  };
};
