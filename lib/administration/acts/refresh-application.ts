import type { Application } from "../../applications/application.ts";
import type { Store } from "../../contract/schemas.ts";
import type { StoredPurchase } from "../../customers/storing/records.ts";
import { ASKED_PER_SECOND, ASKED_PER_SECOND_IN_SANDBOX } from "../../customers/asking/ask-due-purchases.ts";
import { SECOND } from "../../duration.ts";
import { lastHeard } from "../../entitlements/next-ask.ts";
import type { Instant } from "../../entitlements/time.ts";
import type { NotAskedReason } from "../reports/asking.ts";
import { createQueueing, purchasesOf, type Refreshing } from "./refresh.ts";

/** Due times of each bundle or package at a steady rate from a moment on, so that scheduled questions stay ahead. */
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

interface Counts {
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
export type ApplicationRefresh = Readonly<Counts>;

/**
 * Queues the purchases of all customers, at the pace of the service. To resume, repeat it with the same `since`: purchases
 * asked about meanwhile, or due earlier, are skipped.
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
  const done: Counts = {
    customers: 0,
    queued: 0,
    alreadyQueued: 0,
    recent: 0,
    notAsked: [],
    until: null,
  };

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
