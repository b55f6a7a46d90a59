import type { Application } from "../../applications/application.ts";
import type { Store } from "../../contract/schemas.ts";
import type { StoreInEnvironment } from "../../customers/application-stores.ts";
import { ASKED_PER_SECOND, ASKED_PER_SECOND_IN_SANDBOX } from "../../customers/asking/ask-due-purchases.ts";
import { type AskQueues, queuedAsk } from "../../customers/asking/ask.ts";
import type { CustomerTable } from "../../customers/storing/fact-store.ts";
import {
  bundleOrPackageOf,
  type StoredCustomer,
  type StoredPurchase,
} from "../../customers/storing/records.ts";
import { SECOND } from "../../duration.ts";
import { lastHeard, nextAsk } from "../../entitlements/next-ask.ts";
import { referenceText, type PurchaseReference } from "../../entitlements/purchase.ts";
import type { Instant } from "../../entitlements/time.ts";
import type { CustomerId } from "../../identifiers.ts";
import { compare } from "../../order.ts";
import { again, pause } from "../../pause.ts";
import {
  createAskings,
  queueText,
  storeSourceOf,
  type Asking,
  type NotAskedReason,
} from "../reports/asking.ts";
import type { FindOwnership, OperationTable } from "./operations.ts";

export interface Refreshing {
  readonly customers: Pick<CustomerTable, "findCustomers" | "findFacts">;
  readonly findOwnership: FindOwnership;
  readonly table: Pick<OperationTable, "customerPages">;
  readonly queue: Pick<AskQueues, "sourceOf" | "set" | "resume" | "healthOf">;
  readonly now: () => Instant;
  readonly wait: (milliseconds: number) => Promise<void>;
}

const ATTEMPTS = 20;

/** `queued`: also one that was due by then already. */
type QueuedPurchase = { readonly before: StoredPurchase } & (
  | { readonly outcome: "queued"; readonly isNew: boolean; readonly dueAt: Instant }
  | { readonly outcome: "not-asked"; readonly because: NotAskedReason }
);

const read = async (
  { customers, now }: Refreshing,
  { identifier }: Application,
  references: readonly PurchaseReference[],
): Promise<ReadonlyMap<string, StoredPurchase>> =>
  references.length === 0
    ? new Map()
    : (await customers.findFacts(identifier, [], references, now())).purchases;

/** Sets purchases' questions to a time, unless they are due earlier, and resumes a paused queue. Null: it is gone. */
const createQueueing = (refreshing: Refreshing, application: Application) => {
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
      const source =
        storeSourceOf(application, before) ??
        (await queue.sourceOf(application.identifier, before)) ??
        "token-gone";
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
const purchasesOf = async (
  refreshing: Refreshing,
  application: Application,
  { identifier, holdings }: StoredCustomer,
): Promise<readonly StoredPurchase[]> => {
  const { purchases } = await refreshing.findOwnership(application.identifier, identifier);
  const listed = new Set(purchases.map(({ purchase }) => referenceText(purchase)));
  const missed = holdings.filter((purchase) => !listed.has(referenceText(purchase)));
  const late = await read(refreshing, application, missed);
  return [...purchases, ...late.values()].sort((a, b) =>
    compare(referenceText(a.purchase), referenceText(b.purchase)),
  );
};

/** Makes the service's worker ask about a customer's purchases now. Null: there is no such customer. */
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
 * `answered`: by its store, or an Android purchase that was verified less than a minute before. `dropped`: its store no
 * longer knows it. `unanswered`: the store is asked again at `after.ask`; null: never, it is over. `waiting`: it is still
 * in the queue, which has this health.
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
  const known = await read(refreshing, application, asked);
  const moment = refreshing.now();
  const askings = createAskings(refreshing.queue, application);
  const outcomeOf = async (one: QueuedPurchase): Promise<RefreshedPurchase> => {
    const { before } = one;
    if (one.outcome === "not-asked") return { before, outcome: "not-asked", because: one.because };
    const after = known.get(referenceText(before.purchase));
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

/** Waits until the queued purchases were asked about, or no queue can be worked off in time. 0 milliseconds: no wait. */
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

/** Due times of each bundle or package at a steady rate, so that scheduled questions stay ahead. */
const createSchedule = (from: Instant) => {
  const taken = new Map<string, number>();
  return ({ purchase: { store, environment }, bundleOrPackage }: StoredPurchase) => {
    const isSandbox = store === "ios-store" && environment !== "production";
    const rate = isSandbox ? ASKED_PER_SECOND_IN_SANDBOX : ASKED_PER_SECOND;
    const lane = `${store} ${isSandbox} ${bundleOrPackage}`;
    const before = taken.get(lane) ?? 0;
    return {
      dueAt: from + Math.floor((before * SECOND) / rate),
      take: () => void taken.set(lane, before + 1),
    };
  };
};

export interface ApplicationRefresh {
  customers: number;
  queued: number;
  alreadyQueued: number;
  /** Purchases that their store reported at or after `since`. */
  recent: number;
  /** Purchases that are not asked about, by store and reason. */
  readonly notAsked: { readonly store: Store; readonly because: NotAskedReason; count: number }[];
  /** Due time of the last question; null: none is queued. */
  until: Instant | null;
}

/**
 * Queues the purchases of all customers, at the pace of the service. To resume, repeat it with the same `since`: what was
 * asked about meanwhile, or is due earlier, is skipped.
 */
export const queueApplication = async (
  refreshing: Refreshing,
  application: Application,
  { since, only }: { readonly since: Instant; readonly only: Store | null },
  progress: (done: ApplicationRefresh) => void,
): Promise<ApplicationRefresh> => {
  const { customers, table, now } = refreshing;
  const { identifier } = application;
  const nextSlot = createSchedule(now());
  const queue = createQueueing(refreshing, application);
  const counts = { customers: 0, queued: 0, alreadyQueued: 0, recent: 0 };
  const done: ApplicationRefresh = { ...counts, notAsked: [], until: null };

  const queueNext = async (found: StoredPurchase): Promise<void> => {
    const { store } = found.purchase;
    if (only !== null && store !== only) return;
    if (lastHeard(found.purchase) >= since) {
      done.recent += 1;
      return;
    }
    const slot = nextSlot(found);
    const one = await queue(found, slot.dueAt);
    if (one?.outcome === "not-asked") {
      const { because } = one;
      const same = done.notAsked.find((other) => other.store === store && other.because === because);
      if (same === undefined) done.notAsked.push({ store, because, count: 1 });
      else same.count += 1;
    } else if (one?.isNew === true) {
      slot.take();
      done.queued += 1;
      done.until = Math.max(done.until ?? 0, one.dueAt);
    } else if (one !== null) done.alreadyQueued += 1;
  };

  for await (const { customers: page } of table.customerPages(identifier, null)) {
    const { living } = await customers.findCustomers(identifier, page);
    for (const customer of page) {
      const stored = living.get(customer);
      done.customers += 1;
      if (stored === undefined) continue;
      for (const found of await purchasesOf(refreshing, application, stored)) await queueNext(found);
    }
    progress(done);
  }
  return done;
};
