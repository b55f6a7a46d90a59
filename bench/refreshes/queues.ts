import { v7 as uuid } from "uuid";
import type { Application } from "../../lib/applications/application.ts";
import { askDuePurchases, type AskReport, type AskRun } from "../../lib/customers/ask-due-purchases.ts";
import type { AskQueues } from "../../lib/customers/ask-queue.ts";
import type { StoreInEnvironment } from "../../lib/customers/store-in-environment.ts";
import { MINUTE, SECOND } from "../../lib/duration.ts";
import type { Instant } from "../../lib/entitlements/time.ts";
import { HEALTHY, type QueueHealth } from "../../lib/queues/health.ts";
import type { AskOutcome, DueAsk } from "../../lib/customers/ask.ts";
import { applicationId, purchaseKey, type ApplicationId } from "../../lib/identifiers.ts";
import { anApplication, inBothStores } from "../../testing/support/application.ts";
import { createVirtualTime } from "./virtual-time.ts";

/** The worker of refreshes on queues in memory and a clock of its own: its order and its pace, exact and fast. */

/** Time for which one invocation starts batches: the functions' timeout, less their longest step. */
export const INVOCATION_MILLISECONDS = (240 - 30) * SECOND;

/** Assumed time of a store's answer. */
export const ANSWER_MILLISECONDS = 150;

/** Assumed time of a request to DynamoDB. */
const ROUND_TRIP_MILLISECONDS = 6;

/** Delay of a purchase's refresh after its end. */
export const DUE_AFTER_END = 5 * SECOND;

const BUNDLE = "com.example.trails";

/** One application's due refreshes. */
export interface Tenant {
  readonly due: number;
  /** Whether the store rejects its key. */
  readonly isRejected?: boolean;
}

/** A refresh whose answer is stored. */
export interface Refreshed {
  /** Index of the tenant. */
  readonly tenant: number;
  /** Milliseconds from its due time to its stored answer. */
  readonly delay: number;
}

interface MemoryQueue {
  readonly due: Map<string, DueAsk>;
  health: QueueHealth;
  worker: string | null;
  leaseUntil: Instant;
}

const textOf = ({ application, bundleOrPackage, environment }: StoreInEnvironment): string =>
  `${application} ${bundleOrPackage} ${environment}`;

const memoryQueues = (wait: (milliseconds: number) => Promise<void>) => {
  const stored = new Map<string, MemoryQueue>();
  const of = (reference: StoreInEnvironment): MemoryQueue => {
    const text = textOf(reference);
    const found = stored.get(text) ?? { due: new Map(), health: HEALTHY, worker: null, leaseUntil: 0 };
    stored.set(text, found);
    return found;
  };
  const requests: Record<"due" | "take" | "release" | "healthOf" | "move", number> = {
    due: 0,
    take: 0,
    release: 0,
    healthOf: 0,
    move: 0,
  };
  const roundTrip = async (name: keyof typeof requests): Promise<void> => {
    requests[name] += 1;
    await wait(ROUND_TRIP_MILLISECONDS);
  };
  const notUsed = () => Promise.reject(new Error("Runs do not use this."));
  const queues: AskQueues = {
    of: (reference) => ({
      due: async (moment, limit) => {
        await roundTrip("due");
        const due: DueAsk[] = [];
        for (const one of of(reference).due.values()) {
          if (due.length === limit || one.dueAt > moment) break;
          due.push(one);
        }
        return due;
      },
      take: async ({ worker, until }, moment) => {
        await roundTrip("take");
        const state = of(reference);
        if (state.worker !== worker && state.leaseUntil > moment) return null;
        if (state.health.pausedUntil > moment) return null;
        state.worker = worker;
        state.leaseUntil = until;
        return state.health;
      },
      release: async ({ worker }, health) => {
        await roundTrip("release");
        const state = of(reference);
        if (state.worker !== worker) return;
        state.leaseUntil = 0;
        state.health = health;
      },
    }),
    healthOf: async (reference) => {
      await roundTrip("healthOf");
      return of(reference).health;
    },
    move: notUsed,
    sourceOf: notUsed,
    resume: notUsed,
    set: notUsed,
    acknowledged: notUsed,
  };
  return { of, queues, requests };
};

/** Outcome of the due refreshes. */
export interface Drained {
  /** In the order in which they were stored. */
  readonly refreshed: readonly Refreshed[];
  /** Requests to the queues, by the queue's method. */
  readonly requests: Readonly<Record<string, number>>;
  readonly reports: readonly AskReport[];
}

const applicationOf = (identifier: ApplicationId): Application =>
  anApplication({ identifier, renewalLeeway: 15 * MINUTE, ...inBothStores(BUNDLE) });

/**
 * Processes refreshes that are all due at one moment, as the schedule does: an invocation every minute, whether or not
 * earlier ones are done.
 *
 * @param firstAfter milliseconds from the due time to the first invocation
 */
export const drained = async (
  tenants: readonly Tenant[],
  { firstAfter = 0, invocations = Infinity } = {},
): Promise<Drained> => {
  const dueAt = Date.UTC(2027, 0, 10, 12);
  const { now, wait, run: pass } = createVirtualTime(dueAt + firstAfter);
  const { of, queues, requests } = memoryQueues(wait);
  const identifiers = tenants.map(() => applicationId(uuid()));
  const indexOf = new Map(identifiers.map((identifier, index) => [identifier, index]));
  const queueOf = (application: ApplicationId): MemoryQueue =>
    of({ application, store: "ios-store", environment: "production", bundleOrPackage: BUNDLE });
  const isLeft = (): boolean =>
    tenants.some(
      ({ isRejected = false }, index) =>
        !isRejected && queueOf(identifiers[index] ?? applicationId("")).due.size > 0,
    );
  for (const [index, { due }] of tenants.entries()) {
    const application = identifiers[index] ?? applicationId("");
    for (let place = 0; place < due; place += 1) {
      const key = purchaseKey(String(place));
      queueOf(application).due.set(key, {
        application,
        purchase: { store: "ios-store", environment: "production", key },
        dueAt,
        because: "renewal",
        acknowledgement: null,
        source: { store: "ios-store", bundleIdentifier: BUNDLE },
      });
    }
  }
  const refreshed: Refreshed[] = [];
  const ask = async (_: Application, { application, purchase }: DueAsk): Promise<AskOutcome> => {
    const tenant = indexOf.get(application) ?? 0;
    await wait(ANSWER_MILLISECONDS);
    if (tenants[tenant]?.isRejected === true) return { outcome: "credential-rejected" };
    // Two reads, and the transaction that moves the refresh.
    await wait(3 * ROUND_TRIP_MILLISECONDS);
    queueOf(application).due.delete(purchase.key);
    refreshed.push({ tenant, delay: now() - dueAt });
    return { outcome: "stored" };
  };
  const notStored = () => Promise.reject(new Error("Every answer is stored."));
  const run: AskRun = {
    store: "ios-store",
    directory: { byIdentifier: (identifier) => Promise.resolve(applicationOf(identifier)) },
    queues,
    table: { findFacts: notStored, findCustomers: notStored },
    applications: () => Promise.resolve(identifiers),
    ask,
    newWorker: uuid,
    now,
    wait,
    onFailure: (error) => {
      throw error;
    },
  };
  const schedule = async (): Promise<readonly AskReport[]> => {
    const running: Promise<AskReport>[] = [];
    while (isLeft() && running.length < invocations) {
      running.push(askDuePurchases(run, now() + INVOCATION_MILLISECONDS));
      await wait(MINUTE);
    }
    return Promise.all(running);
  };
  const reports = await pass(schedule());
  return { refreshed, requests, reports };
};
