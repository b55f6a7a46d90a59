import type { Application } from "../../applications/application.ts";
import type { CustomerTable } from "../../customers/storing/customer-table.ts";
import type { StoredCustomer, StoredPurchase } from "../../customers/storing/records.ts";
import type { StoreInEnvironment } from "../../customers/asking/store-in-environment.ts";
import type { AskQueues } from "../../customers/asking/ask-queue.ts";
import { bundleOrPackageOf, queuedAsk, type AskSource } from "../../customers/asking/ask.ts";
import { referenceText, type PurchaseReference } from "../../entitlements/purchase.ts";
import type { Instant } from "../../entitlements/time.ts";
import type { CustomerId } from "../../identifiers.ts";
import { compare } from "../../order.ts";
import { again, type Pause } from "../../pause.ts";
import { queueText, iosStoreSourceOf, whyAndroidIsNotAsked, type NotAskedReason } from "../reports/asking.ts";
import type { FindOwnership, OperationTable } from "./operation-table.ts";

export interface Refreshing {
  readonly customers: Pick<CustomerTable, "findCustomers" | "findFacts">;
  readonly findOwnership: FindOwnership;
  readonly table: Pick<OperationTable, "customerPages">;
  readonly queue: Pick<AskQueues, "sourceOf" | "set" | "resume" | "healthOf">;
  readonly now: () => Instant;
  readonly pause: Pause;
  readonly wait: (milliseconds: number) => Promise<void>;
}

const ATTEMPTS = 20;

/** Outcome of queueing one purchase. `queued` includes one that was already due by then. */
type Queueing =
  | { readonly outcome: "queued"; readonly isNew: boolean; readonly dueAt: Instant }
  | { readonly outcome: "not-asked"; readonly because: NotAskedReason };

export type QueuedPurchase = Queueing & { readonly before: StoredPurchase };

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

export const read = async (
  { customers, now }: Refreshing,
  { identifier }: Application,
  references: readonly PurchaseReference[],
): Promise<ReadonlyMap<string, StoredPurchase>> =>
  (await customers.findFacts(identifier, [], references, now())).purchases;

export type Resume = (queue: StoreInEnvironment) => Promise<void>;

export const resumingOnce = ({ queue }: Refreshing): Resume => {
  const resumed = new Set<string>();
  return async (reference) => {
    const text = queueText(reference);
    if (resumed.has(text)) return;
    resumed.add(text);
    await queue.resume(reference);
  };
};

/** Sets a purchase's question to a time, unless it is due earlier. Null: the purchase is gone. */
export const queueOne = async (
  refreshing: Refreshing,
  application: Application,
  found: StoredPurchase,
  dueAt: Instant,
  resume: Resume,
): Promise<QueuedPurchase | null> => {
  let before = found;
  return again<QueuedPurchase | null>(ATTEMPTS, refreshing.pause, async (attempt) => {
    if (attempt > 1) {
      const known = await read(refreshing, application, [before.purchase]);
      const now = known.get(referenceText(before.purchase));
      if (now === undefined) return null;
      before = now;
    }
    const source = await sourceFor(refreshing, application, before);
    // The worker may have moved a question between two reads.
    const isSure = source !== "token-gone" || attempt > 1;
    if (typeof source === "string" && isSure) return { before, outcome: "not-asked", because: source };
    if (typeof source !== "string") {
      const { store, environment } = before.purchase;
      const bundleOrPackage = bundleOrPackageOf(source);
      // The worker must not find the queue paused.
      await resume({ application: application.identifier, store, environment, bundleOrPackage });
      const waiting = queuedAsk(before, refreshing.now());
      const at = Math.min(dueAt, waiting?.at ?? Infinity);
      const ask = { at, because: "requested" } as const;
      const written = await refreshing.queue.set(application.identifier, before, ask, source);
      if (written === "written") return { before, outcome: "queued", isNew: at !== waiting?.at, dueAt: at };
    }
    return "conflict";
  });
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

export interface QueuedCustomer {
  readonly customer: StoredCustomer;
  readonly purchases: readonly QueuedPurchase[];
}

/**
 * Queues all purchases of a customer, so that their stores are asked now. The service's worker asks, so limits of the
 * stores hold. A paused queue is resumed. Null: there is no such customer.
 */
export const queueCustomer = async (
  refreshing: Refreshing,
  application: Application,
  identifier: CustomerId,
  begin?: (customer: StoredCustomer) => Promise<void>,
): Promise<QueuedCustomer | null> => {
  const { customers, now } = refreshing;
  const resume = resumingOnce(refreshing);
  const { living } = await customers.findCustomers(application.identifier, [identifier]);
  const customer = living.get(identifier);
  if (customer === undefined) return null;
  await begin?.(customer);
  const queued: QueuedPurchase[] = [];
  for (const found of await purchasesOf(refreshing, application, customer)) {
    const one = await queueOne(refreshing, application, found, now(), resume);
    if (one !== null) queued.push(one);
  }
  return { customer, purchases: queued };
};
