import pMap from "p-map";
import { v7 as uuid } from "uuid";
import type { Application } from "../../lib/applications/application.ts";
import { askApple } from "../../lib/customers/asking/ask-apple.ts";
import { askDuePurchases, type AskRun } from "../../lib/customers/asking/ask-due-purchases.ts";
import { type IosStoreCustomers, linkIosStoreCustomer } from "../../lib/customers/ios-store-customers.ts";
import { DAY, MINUTE, SECOND } from "../../lib/duration.ts";
import type { Instant } from "../../lib/entitlements/time.ts";
import { applicationId } from "../../lib/identifiers.ts";
import type { AppStoreServer } from "../../lib/stores/ios-store/app-store-server.ts";
import type { SignedFacts } from "../../lib/stores/ios-store/server-answers.ts";
import { createAskQueues } from "../../lib/table/queues/asks.ts";
import {
  newDevice,
  renewableSubscription,
  signedRenewalInfo,
  signedRequest,
} from "../../testing/support/stores/signed-purchases.ts";
import { type MeteredWorld, consumedBy, withWorld } from "../measure.ts";

const ENDS = 2000;
const AT_ONCE = { concurrency: 20 };
const INVOCATION_MILLISECONDS = 210 * SECOND;
const SERVER_API = { issuerIdentifier: "issuer", keyIdentifier: "key", secret: "key" };

/** Links subscribers whose periods end at one moment; returns the App Store's answers, signed beforehand. */
const linkAll = async (
  customers: IosStoreCustomers,
  { identifier }: Application,
  { chain }: MeteredWorld,
  ends: number,
  endsAt: Instant,
): Promise<ReadonlyMap<string, SignedFacts>> => {
  const answers = new Map<string, SignedFacts>();
  const link = async (): Promise<void> => {
    const device = newDevice();
    const bought = { ...renewableSubscription(), expiresDate: endsAt };
    await linkIosStoreCustomer(customers, identifier, {
      ...signedRequest(device, [bought], chain),
      signedRenewalInfos: [signedRenewalInfo(device, bought, chain)],
      applicationAccountIdentifier: uuid(),
    });
    const next = { ...bought, purchaseDate: endsAt, expiresDate: endsAt + 30 * DAY, signedDate: endsAt };
    answers.set(bought.originalTransactionIdentifier ?? "", {
      signedTransactions: signedRequest(device, [next], chain).signedTransactions,
      signedRenewalInfos: [signedRenewalInfo(device, next, chain)],
    });
  };
  await pMap(Array.from({ length: ends }), link, AT_ONCE);
  return answers;
};

const answeringWith = (answers: ReadonlyMap<string, SignedFacts>): AppStoreServer => {
  const otherwise = () => Promise.reject(new Error("Only subscriptions are asked about."));
  return {
    subscriptionStatuses: (_, transactionIdentifier) => {
      const content = answers.get(transactionIdentifier);
      return Promise.resolve(
        content === undefined
          ? { outcome: "unknown", status: 404, reason: null }
          : { outcome: "answered", content },
      );
    },
    transactionHistory: otherwise,
    notificationHistory: otherwise,
  };
};

/** Bundles of the world's application, with a key of the App Store Server API. */
const withKey = ({ application }: MeteredWorld): Application => ({
  ...application,
  identifier: applicationId(uuid()),
  iosStore: application.iosStore.map((bundle) => ({ ...bundle, serverApi: SERVER_API })),
});

/** The worker of one application, on a clock that skips the waits for the limit. */
const workerOf = (
  customers: IosStoreCustomers,
  { identifier }: Application,
  { table }: MeteredWorld,
  answers: ReadonlyMap<string, SignedFacts>,
  from: Instant,
) => {
  const started = performance.now();
  let skipped = 0;
  let stored = 0;
  const now = (): Instant => Math.round(from + performance.now() - started + skipped);
  const asking = { ...customers, now, appStore: answeringWith(answers) };
  const run: AskRun = {
    store: "ios-store",
    directory: customers.directory,
    queues: createAskQueues(table),
    table: customers.table,
    applications: () => Promise.resolve([identifier]),
    ask: async (application, due) => {
      const outcome = await askApple(asking, application, due);
      if (outcome.outcome === "stored") stored += 1;
      return outcome;
    },
    newWorker: uuid,
    now,
    wait: (milliseconds) => {
      skipped += milliseconds;
      return Promise.resolve();
    },
    onFailure: (error) => {
      throw error;
    },
  };
  return {
    run: () => askDuePurchases(run, now() + INVOCATION_MILLISECONDS),
    stored: () => stored,
  };
};

/**
 * Drains the queue of subscriptions of one application that end in one second, are all renewed, and of which nobody is
 * notified; then finds nothing more. The rate is as if there were no limit; the CPU time is of all threads.
 */
export const drain = (ends: number) =>
  withWorld(async (world) => {
    const application = withKey(world);
    const byIdentifier = () => Promise.resolve(application);
    const customers = { ...world.customers, directory: { ...world.customers.directory, byIdentifier } };
    const endsAt = Date.now() + 20 * DAY;
    const answers = await linkAll(customers, application, world, ends, endsAt);
    const worker = workerOf(customers, application, world, answers, endsAt + MINUTE);
    const started = performance.now();
    const cpu = process.cpuUsage();
    const consumption = await consumedBy(world, async () => {
      while (worker.stored() < ends) await worker.run();
    });
    const unlimitedRate = (ends * SECOND) / (performance.now() - started);
    const { user, system } = process.cpuUsage(cpu);
    const cpuMilliseconds = (user + system) / 1000 / ends;
    const drained = { ends, unlimitedRate, cpuMilliseconds, ...consumption };
    return { drain: drained, idle: await consumedBy(world, worker.run) };
  });

export const measureRefreshes = () => drain(ENDS);
