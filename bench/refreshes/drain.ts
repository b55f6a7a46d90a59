import { setTimeout as sleep } from "node:timers/promises";
import { v7 as uuid } from "uuid";
import type { Application } from "../../lib/applications/application.ts";
import type { IosStoreCustomers } from "../../lib/customers/ios-store-request.ts";
import { linkIosStoreCustomer } from "../../lib/customers/link-ios-store-customer.ts";
import { askDuePurchases, type AskRun } from "../../lib/customers/ask-due-purchases.ts";
import { askApple } from "../../lib/customers/ask-apple.ts";
import { DAY, MINUTE, SECOND } from "../../lib/duration.ts";
import { entitlementsAt } from "../../lib/entitlements/entitlements.ts";
import type { Holding } from "../../lib/entitlements/holding.ts";
import type { Instant } from "../../lib/entitlements/time.ts";
import { accountId, applicationId, type ApplicationId } from "../../lib/identifiers.ts";
import type { AppStoreServer, SignedFacts } from "../../lib/stores/ios-store/app-store-server.ts";
import { createAskQueues } from "../../lib/table/queues/asks.ts";
import type { SandboxCustomer, SandboxTransaction } from "../../sandbox/ios-store/app-store.ts";
import { newDevice, renewableSubscription, signedRenewalInfo, signedRequest } from "../purchases.ts";
import { createMeteredWorld, type MeteredWorld } from "../metered-world.ts";
import { ANSWER_MILLISECONDS, INVOCATION_MILLISECONDS } from "./queues.ts";

/** The worker and the use case that it calls, on DynamoDB Local, with a scripted App Store. */

const LEEWAY = 15 * MINUTE;
const AT_ONCE = 20;

const KEY = { issuerIdentifier: "issuer", keyIdentifier: "key", secret: "key" };

interface Subscriber {
  readonly application: ApplicationId;
  readonly account: string;
  readonly device: SandboxCustomer;
  readonly bought: SandboxTransaction;
}

/** Applications whose subscriptions all end at one moment. */
export interface Ending {
  readonly world: MeteredWorld;
  readonly applications: readonly ApplicationId[];
  readonly endsAt: Instant;
  /** The subscribers' holdings, as stored now. */
  holdingsOf(subscriber: Subscriber): Promise<readonly Holding[]>;
  readonly subscribers: ReadonlyMap<string, Subscriber>;
  /** A run with a store that answers with the next period. */
  run(given: {
    readonly now: () => Instant;
    readonly wait: AskRun["wait"];
    readonly isRejected?: (application: ApplicationId) => boolean;
    /** Called once an answer is stored. */
    readonly onStored: (subscriber: Subscriber) => void;
  }): AskRun;
  terms(): Pick<Application, "catalog" | "renewalLeeway">;
}

/** Runs the tasks, some at once. */
const eachOf = async <T>(items: readonly T[], act: (item: T) => Promise<unknown>): Promise<void> => {
  const waiting = [...items];
  const work = async (): Promise<void> => {
    for (let item = waiting.pop(); item !== undefined; item = waiting.pop()) await act(item);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
};

/** Links subscribers: one count per application. */
const ending = async (counts: readonly number[]): Promise<Ending> => {
  const world = await createMeteredWorld();
  const [configuration] = world.application.iosStore;
  if (configuration === undefined) throw new Error("The application has no bundle.");
  const applications = new Map(
    counts.map((): [ApplicationId, Application] => {
      const identifier = applicationId(uuid());
      return [
        identifier,
        {
          ...world.application,
          identifier,
          iosStore: [{ ...configuration, serverApi: KEY }],
          renewalLeeway: LEEWAY,
        },
      ];
    }),
  );
  const byIdentifier = (identifier: ApplicationId): Promise<Application | null> =>
    Promise.resolve(applications.get(identifier) ?? null);
  const customersOf = (now: () => Instant): IosStoreCustomers => ({
    ...world.customers,
    now,
    directory: { ...world.customers.directory, byIdentifier },
  });

  const endsAt = Date.now() + 20 * DAY;
  const identifiers = [...applications.keys()];
  const linked = identifiers.flatMap((application, index): Subscriber[] =>
    Array.from({ length: counts[index] ?? 0 }, () => ({
      application,
      account: uuid(),
      device: newDevice(),
      bought: { ...renewableSubscription(), expiresDate: endsAt },
    })),
  );
  const linking = customersOf(() => Date.now());
  await eachOf(linked, async ({ application, account, device, bought }) =>
    linkIosStoreCustomer(linking, application, {
      ...signedRequest(device, [bought], world.chain),
      // The renewal leeway needs a known renewal.
      signedRenewalInfos: [signedRenewalInfo(device, bought, world.chain)],
      applicationAccountIdentifier: account,
    }),
  );
  const subscribers = new Map(
    linked.map((one): [string, Subscriber] => [one.bought.originalTransactionIdentifier ?? "", one]),
  );
  // Signed beforehand: it is the store's work.
  const answers = new Map(
    [...subscribers].map(([key, { device, bought }]): [string, SignedFacts] => {
      const next = {
        ...bought,
        purchaseDate: endsAt,
        expiresDate: endsAt + 30 * DAY,
        signedDate: endsAt,
      };
      return [
        key,
        {
          signedTransactions: signedRequest(device, [next], world.chain).signedTransactions,
          signedRenewalInfos: [signedRenewalInfo(device, next, world.chain)],
        },
      ];
    }),
  );
  const otherwise = () => Promise.reject(new Error("Only subscriptions are asked about."));

  return {
    world,
    applications: identifiers,
    endsAt,
    subscribers,
    terms: () => ({ catalog: world.application.catalog, renewalLeeway: LEEWAY }),
    holdingsOf: async ({ application, account }) =>
      (await world.customers.table.findAccount(application, accountId(account))).flatMap(
        ({ customer, holdings, assertedBy }) =>
          holdings.map((purchase) => ({ customerIdentifier: customer, assertedBy, purchase })),
      ),
    run: ({ now, wait, isRejected = () => false, onStored }) => {
      const appStore: AppStoreServer = {
        subscriptionStatuses: async (_, transactionIdentifier) => {
          await sleep(ANSWER_MILLISECONDS);
          const application = subscribers.get(transactionIdentifier)?.application;
          if (application !== undefined && isRejected(application))
            return { outcome: "credential-rejected", status: 401, reason: null };
          const content = answers.get(transactionIdentifier);
          return content === undefined
            ? { outcome: "unknown", status: 404, reason: null }
            : { outcome: "answered", content };
        },
        transaction: otherwise,
        transactionHistory: otherwise,
        failedNotifications: otherwise,
      };
      const refreshing = { ...customersOf(now), appStore };
      return {
        store: "ios-store",
        directory: refreshing.directory,
        queues: createAskQueues(world.table),
        table: world.customers.table,
        applications: () => Promise.resolve(identifiers),
        ask: async (application, due) => {
          const outcome = await askApple(refreshing, application, due);
          const subscriber = subscribers.get(due.purchase.key);
          if (outcome.outcome === "stored" && subscriber !== undefined) onStored(subscriber);
          return outcome;
        },
        newWorker: uuid,
        now,
        wait,
        onFailure: (error) => {
          throw error;
        },
      };
    },
  };
};

export interface DrainResult {
  readonly ends: number;
  /** Seconds from the end to the last stored answer, on a clock that skips the waits for the limit. */
  readonly seconds: number;
  /** Seconds of these that the worker waited for the limit. */
  readonly waited: number;
  /** Refreshes per second of work, as if there were no limit. */
  readonly unlimitedRate: number;
  /** CPU time of a refresh, all threads. */
  readonly cpuMilliseconds: number;
  /** Subscribers without access just before their answer was stored. */
  readonly withoutAccess: number;
  /** Subscribers without access after it. */
  readonly withoutAccessAfter: number;
  readonly requests: Readonly<Record<string, number>>;
  readonly readUnits: number;
  readonly writeUnits: number;
}

const hasAccess = (holdings: readonly Holding[], at: Instant, terms: ReturnType<Ending["terms"]>): boolean =>
  entitlementsAt(at, holdings, terms).some(({ active }) => active);

/** All subscriptions of one application end in one second, all are renewed, and nobody is notified. */
export const measureDrain = async (ends: number): Promise<DrainResult> => {
  const { world, endsAt, subscribers, run: runOf, holdingsOf, terms } = await ending([ends]);
  try {
    const before = new Map<Subscriber, readonly Holding[]>();
    await eachOf([...subscribers.values()], async (one) => before.set(one, await holdingsOf(one)));

    // The first run of the schedule comes up to a minute after the refreshes are due.
    const from = endsAt + 5 * SECOND + MINUTE;
    const started = performance.now();
    let skipped = 0;
    const now = (): Instant => Math.round(from + performance.now() - started + skipped);
    const skip = (milliseconds: number): Promise<void> => {
      skipped += milliseconds;
      return Promise.resolve();
    };
    const storedAt = new Map<Subscriber, Instant>();
    let waited = 0;
    const run = runOf({
      now,
      wait: (milliseconds) => {
        waited += milliseconds;
        return skip(milliseconds);
      },
      onStored: (subscriber) => void storedAt.set(subscriber, now()),
    });
    world.meter.take();
    const cpu = process.cpuUsage();
    while (storedAt.size < ends) {
      const began = now();
      await askDuePurchases(run, began + INVOCATION_MILLISECONDS);
      // The next invocation that finds the queue free.
      if (storedAt.size < ends) await skip(Math.ceil((now() - from) / MINUTE) * MINUTE - (now() - from));
    }
    const worked = performance.now() - started;
    const { user, system } = process.cpuUsage(cpu);
    const { milliseconds: _, ...consumption } = world.meter.take();
    const last = [...storedAt.values()].reduce((latest, at) => Math.max(latest, at), 0);
    let withoutAccess = 0;
    let withoutAccessAfter = 0;
    for (const [subscriber, at] of storedAt)
      if (!hasAccess(before.get(subscriber) ?? [], at - 1, terms())) withoutAccess += 1;
    await eachOf([...storedAt], async ([subscriber, at]) => {
      if (!hasAccess(await holdingsOf(subscriber), at, terms())) withoutAccessAfter += 1;
    });
    return {
      ends,
      seconds: (last - endsAt) / SECOND,
      waited: waited / SECOND,
      unlimitedRate: (ends * SECOND) / worked,
      cpuMilliseconds: (user + system) / 1000 / ends,
      withoutAccess,
      withoutAccessAfter,
      ...consumption,
    };
  } finally {
    await world.remove();
  }
};

/**
 * One run over tenants with these numbers of due refreshes, in real time: milliseconds from its start to each stored
 * answer.
 *
 * @param rejected number of tenants, from the first, whose key the store rejects
 * @param leftOut number of tenants, from the first, to leave out of the result
 * @param seconds time after which no batch starts
 */
export const delaysOf = async (
  counts: readonly number[],
  { rejected = 0, leftOut = 0, seconds = 60 } = {},
): Promise<readonly number[]> => {
  const { world, endsAt, run: runOf, applications } = await ending(counts);
  try {
    const first = new Set(applications.slice(0, Math.max(rejected, leftOut)));
    const started = performance.now();
    const now = (): Instant => Math.round(endsAt + MINUTE + performance.now() - started);
    const delays: number[] = [];
    const run = runOf({
      now,
      wait: async (milliseconds) => sleep(milliseconds),
      isRejected: (application) => rejected > 0 && first.has(application),
      onStored: ({ application }) => {
        if (!first.has(application)) delays.push(performance.now() - started);
      },
    });
    await askDuePurchases(run, now() + seconds * SECOND);
    return delays;
  } finally {
    await world.remove();
  }
};
