import type { Application } from "../applications/application.ts";
import type { RefreshQueue } from "../customers/refresh-queue.ts";
import type { StoredPurchase } from "../customers/records.ts";
import { askReasonAt, lastHeard, nextAsk, type AskReason } from "../entitlements/next-ask.ts";
import type { PurchaseReference } from "../entitlements/purchase.ts";
import type { Instant } from "../entitlements/time.ts";
import type { QueueHealth } from "../freshness/queue-health.ts";
import type { IosStoreSource } from "../freshness/refresh.ts";

/** Why a store is not asked about a purchase. */
export type NotAskedReason =
  /** The App Store does not know purchases made in Xcode. */
  | "xcode"
  /** The application has no App Store Server API key for the purchase's bundle. */
  | "no-key"
  /** Several bundles have a key, and the purchase's bundle is not known. */
  | "unknown-bundle"
  /** The application does not accept the purchase's environment. */
  | "environment"
  /** Known only because another purchase names it, so its purchase token is not known. */
  | "mentioned"
  | "replaced"
  /** Refunds of paid Android one-time purchases are in the store's list of voided purchases. */
  | "voided-list"
  /** The store no longer knows it. */
  | "dropped"
  /** Its refresh is gone, and the purchase token with it. */
  | "token-gone"
  /** It has ended, and no further change is expected. */
  | "over"
  /**
   * The App Store can be asked, but nothing new was stored since the key was configured, or the store dropped the
   * purchase.
   */
  | "not-queued";

/** Next refresh of a purchase. */
export type Asking =
  /** `because` null: a person asked for it. */
  | { readonly outcome: "due"; readonly at: Instant; readonly because: AskReason | null }
  | { readonly outcome: "none"; readonly because: NotAskedReason };

type Known = Pick<StoredPurchase, "purchase" | "refreshAt" | "bundleIdentifier">;

/** The bundle whose key is used to ask Apple about a purchase, or why there is none. */
export const iosStoreSourceOf = (
  { iosStore }: Application,
  { purchase, bundleIdentifier }: Known,
): IosStoreSource | NotAskedReason => {
  if (purchase.environment === "xcode") return "xcode";
  const [app, ...others] = iosStore.filter(
    (one) =>
      one.serverApi !== null && (bundleIdentifier === null || one.bundleIdentifier === bundleIdentifier),
  );
  if (app === undefined) return "no-key";
  if (others.length > 0) return "unknown-bundle";
  if (!app.environments.includes(purchase.environment)) return "environment";
  return { store: "ios-store", bundleIdentifier: app.bundleIdentifier };
};

/** Why the Android store is not asked about a purchase that is in no queue. */
export const whyAndroidIsNotAsked = ({
  lines,
  replacedBy,
  replacedAt,
  verifiedAt,
}: StoredPurchase["purchase"]): NotAskedReason => {
  if (verifiedAt === 0) return "mentioned";
  if (lines.length > 0 && replacedBy !== null && replacedAt === null) return "replaced";
  const isOneTime = lines.length > 0 && lines.every(({ nature }) => nature !== "auto_renewable");
  return isOneTime ? "voided-list" : "dropped";
};

/** When a purchase's store is asked about it next and why, or why it is not. Pure. */
export const askingOf = (application: Application, stored: Known): Asking => {
  const { purchase, refreshAt } = stored;
  if (purchase.store === "ios-store") {
    const source = iosStoreSourceOf(application, stored);
    if (typeof source === "string") return { outcome: "none", because: source };
  }
  if (refreshAt !== null) return { outcome: "due", at: refreshAt, because: askReasonAt(purchase, refreshAt) };
  if (purchase.store === "android-store") return { outcome: "none", because: whyAndroidIsNotAsked(purchase) };
  if (purchase.lines.length === 0) return { outcome: "none", because: "mentioned" };
  const isOver = nextAsk(purchase, lastHeard(purchase), true) === null;
  return { outcome: "none", because: isOver ? "over" : "not-queued" };
};

/** Identifies a queue within its application. */
type QueueOfPurchase = Pick<PurchaseReference, "store" | "environment">;

/** Map key of a queue within its application. */
export const queueText = ({ store, environment }: QueueOfPurchase): string => `${store} ${environment}`;

/** Health of the queues of an application, by {@link queueText}. */
export type QueueHealths = ReadonlyMap<string, QueueHealth>;

/** Health of the queue that a purchase is in. */
export const healthFor = (healths: QueueHealths, purchase: QueueOfPurchase): QueueHealth | undefined =>
  healths.get(queueText(purchase));

/** Reads the health of the queues that purchases are in. */
export const healthsOf = async (
  queue: Pick<RefreshQueue, "healthOf">,
  { identifier: application }: Application,
  purchases: readonly QueueOfPurchase[],
): Promise<QueueHealths> => {
  const queues = new Map(purchases.map((purchase) => [queueText(purchase), purchase]));
  return new Map(
    await Promise.all(
      [...queues].map(
        async ([text, { store, environment }]) =>
          [text, await queue.healthOf({ application, store, environment })] as const,
      ),
    ),
  );
};
