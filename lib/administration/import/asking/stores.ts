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
import type { Gates } from "./pace.ts";

/** The stores, as an import asks them. */
export interface ImportStores {
  readonly appStore: Pick<AppStoreServer, "subscriptionStatuses" | "transactionHistory"> & AppTransactions;
  readonly androidStore: Pick<AndroidStore, "lookUp" | "acknowledge">;
  readonly orders: AndroidOrders;
}

const STOPPED = { outcome: "credential-rejected", status: null, reason: null } as const;

export const gateNameOf = ({ bundleIdentifier, environment }: AppStoreApp): string =>
  `ios-store ${bundleIdentifier} ${environment}`;
const packageGate = ({ packageName }: AndroidPackage): string => `android-store ${packageName}`;

/** Apple's sandbox takes a tenth of the requests. */
export const rateOf =
  (perSecond: number) =>
  (gate: string): number =>
    gate.startsWith("ios-store ") && gate.endsWith(" sandbox") ? perSecond / 10 : perSecond;

const pacedAppStore = (appStore: ImportStores["appStore"], gates: Gates): ImportStores["appStore"] => {
  const paced = async <Content>(
    app: AppStoreApp,
    send: () => Promise<AppStoreAnswer<Content>>,
  ): Promise<AppStoreAnswer<Content>> => {
    const answer = await gates
      .of(gateNameOf(app))
      .ask(send, (failed) => (failed.outcome === "unavailable" ? failed.retryAt : null));
    return answer === "stopped" ? STOPPED : answer;
  };
  return {
    appTransaction: async (app, id) => paced(app, async () => appStore.appTransaction(app, id)),
    subscriptionStatuses: async (app, id) => paced(app, async () => appStore.subscriptionStatuses(app, id)),
    transactionHistory: async (app, id, revision) =>
      paced(app, async () => appStore.transactionHistory(app, id, revision)),
  };
};

/** Without a 429, the seconds that a failure names are a default. */
const googleRetryAt =
  (now: () => Instant) =>
  (failed: {
    readonly outcome: string;
    readonly status?: number | null;
    readonly retryAfterSeconds?: number | null;
  }): Instant | null =>
    failed.status === 429 && failed.retryAfterSeconds != null
      ? now() + failed.retryAfterSeconds * SECOND
      : null;

/** The same stores, at the pace of each bundle's and package's gate. */
export const pacedStores = (
  { appStore, androidStore, orders }: ImportStores,
  gates: Gates,
  now: () => Instant,
): ImportStores => {
  const retryAt = googleRetryAt(now);
  return {
    appStore: pacedAppStore(appStore, gates),
    androidStore: {
      lookUp: async (androidPackage, request) => {
        const gate = gates.of(packageGate(androidPackage));
        const answer = await gate.ask(async () => androidStore.lookUp(androidPackage, request), retryAt);
        return answer === "stopped" ? STOPPED : answer;
      },
      acknowledge: async (...asked) => androidStore.acknowledge(...asked),
    },
    orders: {
      find: async (androidPackage, identifiers) => {
        const gate = gates.of(packageGate(androidPackage));
        const answer = await gate.ask(async () => orders.find(androidPackage, identifiers), retryAt);
        return answer === "stopped" ? STOPPED : answer;
      },
    },
  };
};
