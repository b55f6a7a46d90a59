import type { Application } from "../../applications/application.ts";
import type { StoreInEnvironment } from "../../customers/application-stores.ts";
import type { AskQueues, PauseReason } from "../../customers/asking/ask.ts";
import type { IosStoreSource, StoredPurchase } from "../../customers/storing/records.ts";
import { lastHeard, nextAsk, type AskReason } from "../../entitlements/next-ask.ts";
import type { Instant } from "../../entitlements/time.ts";
import type { QueueHealth } from "../../queues/health.ts";

/** Why a store is not asked about a purchase, in words that follow "is not asked:". */
export const NOT_ASKED = {
  xcode: "it knows nothing of purchases made in Xcode",
  "no-key": "the manifest has no key of Apple's (serverApi) for the purchase's bundle",
  "no-package": "the manifest no longer has the purchase's package",
  "unknown-bundle":
    "several bundles have a key, and the purchase's own is not known until the app synchronizes",
  environment: "the manifest does not accept the purchase's environment",
  mentioned: "the purchase is known only because another one names it",
  replaced: "another purchase has replaced it",
  "voided-list":
    "a paid one-time purchase changes only by a refund, which comes from the hourly list of voided purchases",
  dropped: "it no longer knows the purchase",
  "token-gone": "the purchase token is no longer in the queue; link the purchase again",
  over: "the purchase is over, and nothing more is expected",
  "not-queued":
    "the purchase was not queued since the key was given, or it no longer knows the purchase; customer refresh asks",
} as const;
export type NotAskedReason = keyof typeof NOT_ASKED;

/** When a purchase's store is asked about it next and why, or why it is not. */
export type Question =
  /** `queue`: that of its bundle or package. */
  | {
      readonly outcome: "due";
      readonly at: Instant;
      readonly because: AskReason;
      readonly queue: StoreInEnvironment;
    }
  | { readonly outcome: "none"; readonly because: NotAskedReason };

/** A question with the health of the queue in which it waits; null: it waits in none. */
export type Asking = Question & { readonly health: QueueHealth<PauseReason> | null };

type Known = Pick<StoredPurchase, "purchase" | "ask" | "bundleOrPackage">;

const iosStoreSourceOf = (
  { iosStore }: Application,
  { purchase, bundleOrPackage }: Known,
): IosStoreSource | NotAskedReason => {
  if (purchase.environment === "xcode") return "xcode";
  const [app, ...others] = iosStore.filter(
    (one) => one.serverApi !== null && (bundleOrPackage === null || one.bundleIdentifier === bundleOrPackage),
  );
  if (app === undefined) return "no-key";
  if (others.length > 0) return "unknown-bundle";
  if (!app.environments.includes(purchase.environment)) return "environment";
  return { store: "ios-store", bundleIdentifier: app.bundleIdentifier };
};

const whyAndroidIsNotAsked = (
  { androidStore }: Application,
  { purchase: { lines, replacedBy, replacedAt, verifiedAt }, ask, bundleOrPackage }: Known,
): NotAskedReason | null => {
  const isOfPackage = androidStore.some(({ packageName }) => packageName === bundleOrPackage);
  if (bundleOrPackage !== null && !isOfPackage) return "no-package";
  if (ask !== null) return null;
  if (verifiedAt === 0) return "mentioned";
  if (lines.length > 0 && replacedBy !== null && replacedAt === null) return "replaced";
  const isOneTime = lines.length > 0 && lines.every(({ nature }) => nature !== "auto_renewable");
  return isOneTime ? "voided-list" : "dropped";
};

/**
 * The bundle whose key is used to ask Apple about a purchase, or why its store is not asked; null: the queue of its
 * package has what Google is asked with.
 */
export const storeSourceOf = (
  application: Application,
  stored: Known,
): IosStoreSource | NotAskedReason | null =>
  stored.purchase.store === "ios-store"
    ? iosStoreSourceOf(application, stored)
    : whyAndroidIsNotAsked(application, stored);

export const questionOf = (application: Application, stored: Known): Question => {
  const { purchase, ask, bundleOrPackage } = stored;
  const source = storeSourceOf(application, stored);
  if (typeof source === "string") return { outcome: "none", because: source };
  if (ask !== null && bundleOrPackage !== null) {
    const { store, environment } = purchase;
    const queue = { application: application.identifier, store, environment, bundleOrPackage };
    return { outcome: "due", ...ask, queue };
  }
  if (purchase.lines.length === 0) return { outcome: "none", because: "mentioned" };
  const isOver = nextAsk(purchase, lastHeard(purchase), true) === null;
  return { outcome: "none", because: isOver ? "over" : "not-queued" };
};

export const queueText = ({ store, environment, bundleOrPackage }: StoreInEnvironment): string =>
  `${store} ${environment} ${bundleOrPackage}`;

/** Reads what is asked about purchases of an application next; the health of each queue once. */
export const createAskings = (queues: Pick<AskQueues, "healthOf">, application: Application) => {
  const healths = new Map<string, ReturnType<AskQueues["healthOf"]>>();
  return async (stored: Known): Promise<Asking> => {
    const question = questionOf(application, stored);
    if (question.outcome === "none") return { ...question, health: null };
    const text = queueText(question.queue);
    const health = healths.get(text) ?? queues.healthOf(question.queue);
    healths.set(text, health);
    return { ...question, health: await health };
  };
};
