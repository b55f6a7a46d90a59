import type { Application } from "../../applications/application.ts";
import type { Store } from "../../contract/schemas.ts";
import type { CustomerTable } from "../../customers/storing/customer-table.ts";
import type { StoredCustomer, StoredPurchase } from "../../customers/storing/records.ts";
import type { StoreInEnvironment } from "../../customers/asking/store-in-environment.ts";
import { ASKED_PER_SECOND, ASKED_PER_SECOND_IN_SANDBOX } from "../../customers/asking/ask-due-purchases.ts";
import type { AskQueues } from "../../customers/asking/ask-queue.ts";
import { bundleOrPackageOf, queuedAsk, type AskSource } from "../../customers/asking/ask.ts";
import { SECOND } from "../../duration.ts";
import { lastHeard, nextAsk } from "../../entitlements/next-ask.ts";
import { referenceText, type PurchaseReference } from "../../entitlements/purchase.ts";
import type { Instant } from "../../entitlements/time.ts";
import type { CustomerId } from "../../identifiers.ts";
import { compare } from "../../order.ts";
import { again } from "../../pause.ts";
import {
  askingOf,
  healthFor,
  healthsOf,
  queueText,
  iosStoreSourceOf,
  whyAndroidIsNotAsked,
  type NotAskedReason,
  type QueueHealths,
} from "../reports/asking.ts";
import type { FindOwnership, OperationTable } from "./operation-table.ts";

export interface Refreshing {
  readonly customers: Pick<CustomerTable, "findCustomers" | "findFacts">;
  readonly findOwnership: FindOwnership;
  readonly table: Pick<OperationTable, "customerPages">;
  readonly queue: Pick<AskQueues, "sourceOf" | "set" | "resume" | "healthOf">;
  readonly now: () => Instant;
  readonly pause: (attempt: number) => Promise<void>;
  /** Waits this many milliseconds. */
  readonly wait: (milliseconds: number) => Promise<void>;
}

const ATTEMPTS = 20;

/** Outcome of queueing one purchase. `queued` includes one that was already due by then. */
type Queueing =
  | { readonly outcome: "queued"; readonly isNew: boolean; readonly dueAt: Instant }
  | { readonly outcome: "not-asked"; readonly because: NotAskedReason };

/** A purchase as it was before its store was asked, and its place in the queue. */
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

const read = async (
  { customers, now }: Refreshing,
  { identifier }: Application,
  references: readonly PurchaseReference[],
): Promise<ReadonlyMap<string, StoredPurchase>> =>
  (await customers.findFacts(identifier, [], references, now())).purchases;

type Resume = (queue: StoreInEnvironment) => Promise<void>;

/** Resumes each queue once. */
const resumingOnce = ({ queue }: Refreshing): Resume => {
  const resumed = new Set<string>();
  return async (reference) => {
    const text = queueText(reference);
    if (resumed.has(text)) return;
    resumed.add(text);
    await queue.resume(reference);
  };
};

/** Sets a purchase's question to a time, unless it is due earlier. Null: the purchase is gone. */
const queueOne = async (
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
const purchasesOf = async (
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

/** A customer whose purchases are queued to be asked about. */
export interface QueuedCustomer {
  readonly customer: StoredCustomer;
  readonly purchases: readonly QueuedPurchase[];
}

/**
 * Queues all purchases of a customer, so that their stores are asked now. The service's worker asks, so limits of the
 * stores hold. A paused queue is resumed. Null: there is no such customer.
 *
 * @param begin called with the customer before anything is queued
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

/**
 * Outcome for one purchase.
 * - `answered`: its store answered; `after` holds what it said. An Android purchase that was verified less than a minute
 *   before counts as answered.
 * - `dropped`: its store no longer knows it, and is not asked again.
 * - `unanswered`: it was asked about without a usable answer, and is asked about again at `after.ask`; null: it is over,
 *   and not asked about again.
 * - `erased`: it was erased meanwhile.
 * - `waiting`: it is still in the queue.
 */
export type RefreshedPurchase =
  | { readonly before: StoredPurchase; readonly outcome: "not-asked"; readonly because: NotAskedReason }
  | { readonly before: StoredPurchase; readonly outcome: "erased" }
  | {
      readonly before: StoredPurchase;
      readonly outcome: "answered" | "dropped" | "unanswered" | "waiting";
      readonly after: StoredPurchase;
    };

const outcomeOf = (
  queued: QueuedPurchase,
  after: StoredPurchase | undefined,
  moment: Instant,
): RefreshedPurchase => {
  const { before } = queued;
  if (queued.outcome === "not-asked") return { before, outcome: "not-asked", because: queued.because };
  if (after === undefined) return { before, outcome: "erased" };
  const { purchase, ask } = after;
  if (ask?.because === "requested") return { before, after, outcome: "waiting" };
  if (ask?.because === "no-answer") return { before, after, outcome: "unanswered" };
  if (ask !== null || lastHeard(purchase) > lastHeard(before.purchase))
    return { before, after, outcome: "answered" };
  const isExpected = nextAsk(purchase, moment, true) !== null;
  return { before, after, outcome: isExpected ? "dropped" : "unanswered" };
};

/** Outcomes so far, and the health of the queues of purchases that wait. */
export interface RefreshProgress {
  readonly purchases: readonly RefreshedPurchase[];
  readonly healths: QueueHealths;
}

/** Reads how far the queued purchases have come. */
export const readRefreshes = async (
  refreshing: Refreshing,
  application: Application,
  queued: readonly QueuedPurchase[],
): Promise<RefreshProgress> => {
  const asked = queued.filter(({ outcome }) => outcome === "queued").map(({ before }) => before.purchase);
  const known = asked.length === 0 ? new Map() : await read(refreshing, application, asked);
  const moment = refreshing.now();
  const purchases = queued.map((one) =>
    outcomeOf(one, known.get(referenceText(one.before.purchase)), moment),
  );
  const waiting = purchases.filter(({ outcome }) => outcome === "waiting");
  return {
    purchases,
    healths: await healthsOf(
      refreshing.queue,
      waiting.map((one) => askingOf(application, "after" in one ? one.after : one.before)),
    ),
  };
};

/** Milliseconds between two polls. */
const BETWEEN_LOOKS = SECOND;

/**
 * Waits until the queued purchases were asked about.
 *
 * @param milliseconds longest wait; ends early if every queue still waited for is paused for longer
 */
export const awaitRefreshes = async (
  refreshing: Refreshing,
  application: Application,
  queued: readonly QueuedPurchase[],
  milliseconds: number,
): Promise<RefreshProgress> => {
  let report = await readRefreshes(refreshing, application, queued);
  for (let left = milliseconds; left > 0; left -= BETWEEN_LOOKS) {
    const end = refreshing.now() + left;
    const waits = (one: RefreshedPurchase): boolean =>
      one.outcome === "waiting" &&
      (healthFor(report.healths, askingOf(application, one.after))?.pausedUntil ?? 0) <= end;
    if (!report.purchases.some(waits)) return report;
    await refreshing.wait(BETWEEN_LOOKS);
    report = await readRefreshes(refreshing, application, queued);
  }
  return report;
};

/** Counts of purchases by outcome. */
export interface ApplicationRefresh {
  readonly customers: number;
  readonly queued: number;
  /** Already due by then. */
  readonly alreadyQueued: number;
  /** Purchases that their store reported at or after `since`. */
  readonly recent: number;
  /** Purchases that are not asked about, by store and reason. */
  readonly notAsked: readonly {
    readonly store: Store;
    readonly because: NotAskedReason;
    readonly count: number;
  }[];
  /** Due time of the last queued purchase; null: none was queued. */
  readonly until: Instant | null;
}

/**
 * Spreads the due times of each bundle or package at a steady rate from a moment on, so that scheduled questions stay
 * ahead.
 */
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

/**
 * Queues the purchases of all customers, at most {@link ASKED_PER_SECOND} of a bundle or package. To resume, repeat it with the
 * same `since`: purchases asked about meanwhile, or due earlier, are skipped.
 *
 * @param since purchases that their store reported at or after this time are skipped
 * @param only the store to ask; null: both
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
  const resume = resumingOnce(refreshing);
  const done = { customers: 0, queued: 0, alreadyQueued: 0, recent: 0 };
  const notAsked: { readonly store: Store; readonly because: NotAskedReason; count: number }[] = [];
  let until: Instant | null = null;

  const countNotAsked = (store: Store, because: NotAskedReason): void => {
    const known = notAsked.find((one) => one.store === store && one.because === because);
    if (known === undefined) notAsked.push({ store, because, count: 1 });
    else known.count += 1;
  };

  const queueNext = async (found: StoredPurchase): Promise<void> => {
    const { purchase } = found;
    if (only !== null && purchase.store !== only) return;
    if (lastHeard(purchase) >= since) {
      done.recent += 1;
      return;
    }
    const slot = nextSlot(found);
    const one = await queueOne(refreshing, application, found, slot.dueAt, resume);
    if (one?.outcome === "not-asked") countNotAsked(purchase.store, one.because);
    if (one?.outcome !== "queued") return;
    if (!one.isNew) {
      done.alreadyQueued += 1;
      return;
    }
    slot.take();
    done.queued += 1;
    until = Math.max(until ?? 0, one.dueAt);
  };

  for await (const { customers: page } of table.customerPages(identifier, null)) {
    const { living } = await customers.findCustomers(identifier, page);
    for (const customer of page) {
      const stored = living.get(customer);
      done.customers += 1;
      if (stored === undefined) continue;
      for (const found of await purchasesOf(refreshing, application, stored)) await queueNext(found);
    }
    progress({ ...done, notAsked, until });
  }
  return { ...done, notAsked, until };
};
