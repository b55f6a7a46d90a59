import type { Application } from "../../applications/application.ts";
import type { CustomerTable } from "../../customers/storing/customer-table.ts";
import type { StoredCustomer, StoredPurchase } from "../../customers/storing/records.ts";
import type { StoreInEnvironment } from "../../customers/application-of.ts";
import type { AskQueues } from "../../customers/asking/ask-queue.ts";
import { bundleOrPackageOf, queuedAsk, type AskSource } from "../../customers/asking/ask.ts";
import { SECOND } from "../../duration.ts";
import { lastHeard, nextAsk } from "../../entitlements/next-ask.ts";
import { referenceText, type PurchaseReference } from "../../entitlements/purchase.ts";
import type { Instant } from "../../entitlements/time.ts";
import type { CustomerId } from "../../identifiers.ts";
import { compare } from "../../order.ts";
import { again, pause } from "../../pause.ts";
import {
  createAskings,
  iosStoreSourceOf,
  queueText,
  whyAndroidIsNotAsked,
  type Asking,
  type NotAskedReason,
} from "../reports/asking.ts";
import type { FindOwnership, OperationTable } from "./operation-table.ts";

export interface Refreshing {
  readonly customers: Pick<CustomerTable, "findCustomers" | "findFacts">;
  readonly findOwnership: FindOwnership;
  readonly table: Pick<OperationTable, "customerPages">;
  readonly queue: Pick<AskQueues, "sourceOf" | "set" | "resume" | "healthOf">;
  readonly now: () => Instant;
  readonly wait: (milliseconds: number) => Promise<void>;
}

const ATTEMPTS = 20;

/** Outcome of queueing one purchase. `queued` includes one that was already due by then. */
type QueuedPurchase = { readonly before: StoredPurchase } & (
  | { readonly outcome: "queued"; readonly isNew: boolean; readonly dueAt: Instant }
  | { readonly outcome: "not-asked"; readonly because: NotAskedReason }
);

const sourceFor = async (
  { queue }: Refreshing,
  application: Application,
  stored: StoredPurchase,
): Promise<AskSource | NotAskedReason> => {
  if (stored.purchase.store === "ios-store") return iosStoreSourceOf(application, stored);
  const because = whyAndroidIsNotAsked(application, stored);
  if (because !== null) return because;
  return (await queue.sourceOf(application.identifier, stored)) ?? "token-gone";
};

const read = async (
  { customers, now }: Refreshing,
  { identifier }: Application,
  references: readonly PurchaseReference[],
): Promise<ReadonlyMap<string, StoredPurchase>> =>
  (await customers.findFacts(identifier, [], references, now())).purchases;

/**
 * Sets purchases' questions to a time, unless they are due earlier, and resumes a paused queue once. Null: the purchase is
 * gone.
 */
export const createQueueing = (refreshing: Refreshing, application: Application) => {
  const { queue, now } = refreshing;
  const resumed = new Set<string>();
  const resume = async (reference: StoreInEnvironment): Promise<void> => {
    const text = queueText(reference);
    if (resumed.has(text)) return;
    resumed.add(text);
    await queue.resume(reference);
  };
  return async (found: StoredPurchase, dueAt: Instant): Promise<QueuedPurchase | null> => {
    let before = found;
    return again<QueuedPurchase | null>(ATTEMPTS, pause, async (attempt) => {
      if (attempt > 1) {
        const known = await read(refreshing, application, [before.purchase]);
        const current = known.get(referenceText(before.purchase));
        if (current === undefined) return null;
        before = current;
      }
      const source = await sourceFor(refreshing, application, before);
      // The worker may have moved a question between two reads.
      if (source === "token-gone" && attempt === 1) return "conflict";
      if (typeof source === "string") return { before, outcome: "not-asked", because: source };
      const { store, environment } = before.purchase;
      const bundleOrPackage = bundleOrPackageOf(source);
      // The worker must not find the queue paused.
      await resume({ application: application.identifier, store, environment, bundleOrPackage });
      const waiting = queuedAsk(before, now());
      const at = Math.min(dueAt, waiting?.at ?? Infinity);
      const ask = { at, because: "requested" } as const;
      const written = await queue.set(application.identifier, before, ask, source);
      return written === "written"
        ? { before, outcome: "queued", isNew: at !== waiting?.at, dueAt: at }
        : "conflict";
    });
  };
};

/** A customer's purchases: those that the index lists, and newer ones that only the holdings have. */
export const purchasesOf = async (
  refreshing: Refreshing,
  application: Application,
  { identifier, holdings }: StoredCustomer,
): Promise<readonly StoredPurchase[]> => {
  const { purchases } = await refreshing.findOwnership(application.identifier, identifier);
  const listed = new Set(purchases.map(({ purchase }) => referenceText(purchase)));
  const missed = holdings.filter((purchase) => !listed.has(referenceText(purchase)));
  const late = missed.length === 0 ? [] : (await read(refreshing, application, missed)).values();
  return [...purchases, ...late].sort((a, b) =>
    compare(referenceText(a.purchase), referenceText(b.purchase)),
  );
};

/** Queues all purchases of a customer, so that the service's worker asks now. Null: there is no such customer. */
export const queueCustomer = async (
  refreshing: Refreshing,
  application: Application,
  identifier: CustomerId,
  begin: (customer: StoredCustomer) => Promise<void>,
) => {
  const { customers, now } = refreshing;
  const { living } = await customers.findCustomers(application.identifier, [identifier]);
  const customer = living.get(identifier);
  if (customer === undefined) return null;
  await begin(customer);
  const queue = createQueueing(refreshing, application);
  const queued: QueuedPurchase[] = [];
  for (const found of await purchasesOf(refreshing, application, customer)) {
    const one = await queue(found, now());
    if (one !== null) queued.push(one);
  }
  return { customer, purchases: queued };
};

/**
 * Outcome for one purchase; `before` is as it was, `after` as it is now. `answered`: by its store, or an Android purchase
 * that was verified less than a minute before. `dropped`: its store no longer knows it. `unanswered`: the store is asked
 * again at `after.ask`; null: never, it is over. `waiting`: it is still in the queue, which has this health.
 */
export type RefreshedPurchase = { readonly before: StoredPurchase } & (
  | { readonly outcome: "not-asked"; readonly because: NotAskedReason }
  | { readonly outcome: "erased" }
  | { readonly outcome: "answered" | "dropped" | "unanswered"; readonly after: StoredPurchase }
  | { readonly outcome: "waiting"; readonly after: StoredPurchase; readonly health: Asking["health"] }
);

const readRefreshes = async (
  refreshing: Refreshing,
  application: Application,
  queued: readonly QueuedPurchase[],
): Promise<readonly RefreshedPurchase[]> => {
  const asked = queued.filter(({ outcome }) => outcome === "queued").map(({ before }) => before.purchase);
  const known = asked.length === 0 ? new Map() : await read(refreshing, application, asked);
  const moment = refreshing.now();
  const askings = createAskings(refreshing.queue, application);
  const outcomeOf = async (one: QueuedPurchase): Promise<RefreshedPurchase> => {
    const { before } = one;
    if (one.outcome === "not-asked") return { before, outcome: "not-asked", because: one.because };
    const after: StoredPurchase | undefined = known.get(referenceText(before.purchase));
    if (after === undefined) return { before, outcome: "erased" };
    const { purchase, ask } = after;
    if (ask?.because === "requested")
      return { before, after, outcome: "waiting", health: (await askings(after)).health };
    if (ask?.because === "no-answer") return { before, after, outcome: "unanswered" };
    if (ask !== null || lastHeard(purchase) > lastHeard(before.purchase))
      return { before, after, outcome: "answered" };
    const isExpected = nextAsk(purchase, moment, true) !== null;
    return { before, after, outcome: isExpected ? "dropped" : "unanswered" };
  };
  return Promise.all(queued.map(outcomeOf));
};

const BETWEEN_LOOKS = SECOND;

/**
 * Waits until the queued purchases were asked about, or no queue can be worked off in time.
 *
 * @param milliseconds longest wait; 0: none
 */
export const awaitRefreshes = async (
  refreshing: Refreshing,
  application: Application,
  queued: readonly QueuedPurchase[],
  milliseconds: number,
): Promise<readonly RefreshedPurchase[]> => {
  let refreshed = await readRefreshes(refreshing, application, queued);
  for (let left = milliseconds; left > 0; left -= BETWEEN_LOOKS) {
    const end = refreshing.now() + left;
    const waits = (one: RefreshedPurchase): boolean =>
      one.outcome === "waiting" && (one.health?.pausedUntil ?? 0) <= end;
    if (!refreshed.some(waits)) return refreshed;
    await refreshing.wait(BETWEEN_LOOKS);
    refreshed = await readRefreshes(refreshing, application, queued);
  }
  return refreshed;
};
