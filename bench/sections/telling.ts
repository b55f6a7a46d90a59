import { setTimeout as sleep } from "node:timers/promises";
import { v7 as uuid } from "uuid";
import { composeDelivery } from "../../functions/wiring/delivery.ts";
import { composeTelling } from "../../functions/wiring/telling.ts";
import type { Application, Destination } from "../../lib/applications/application.ts";
import { linkIosStoreCustomer } from "../../lib/customers/ios-store-customers.ts";
import { DAY, MINUTE, SECOND } from "../../lib/duration.ts";
import { applicationId } from "../../lib/identifiers.ts";
import { createApplicationTable } from "../../lib/table/applications/applications.ts";
import { deliverMessages, type DeliveryRun } from "../../lib/delivery/deliver-messages.ts";
import { tellChanges } from "../../lib/telling/tell-changes.ts";
import type { SandboxCustomer, SandboxTransaction } from "../../sandbox/ios-store/shop/payloads.ts";
import {
  newDevice,
  renewableSubscription,
  signedRequest,
} from "../../testing/support/stores/signed-purchases.ts";
import { consumedBy, type MeteredWorld, quantile, withWorld } from "../measure.ts";
import { directoryOf } from "../../testing/support/application.ts";
import { failedBecause } from "../../lib/delivery/message.ts";
import type { Consumption } from "../../testing/support/table/meter.ts";

/** A subscriber whose account's changes are told. */
interface ToldSubscriber {
  readonly account: string;
  readonly device: SandboxCustomer;
  readonly bought: SandboxTransaction;
}

/** Time that a destination takes to answer. */
const ANSWER_MILLISECONDS = 20;

const webhook = (_: unknown, index: number): Destination => ({
  name: `backend-${index}`,
  url: `https://backend-${index}.example.com/told`,
  secretEpochs: [],
});

const answering: DeliveryRun["send"] = async () => {
  await sleep(ANSWER_MILLISECONDS);
  return { outcome: "delivered" };
};

/**
 * An application in a metered table, with the functions that tell and deliver as they are deployed.
 *
 * @param keepsChanges whether the changes are kept where there is no destination
 */
const createToldSubscribers = async (world: MeteredWorld, destinations: number, keepsChanges: boolean) => {
  const { table, chain } = world;
  const application: Application = {
    ...world.application,
    identifier: applicationId(uuid()),
    destinations: Array.from({ length: destinations }, webhook),
    keepsChanges,
  };
  await createApplicationTable(table).save(null, application);
  const customers = { ...world.customers, directory: directoryOf(application) };
  const configuration = {
    table,
    now: () => Date.now(),
    onFailure: (error: unknown): never => {
      throw error;
    },
    masterSecret: () => Promise.resolve(Buffer.alloc(32, 1)),
  };
  const telling = composeTelling(configuration);
  const delivery = composeDelivery({
    ...configuration,
    allowsDestination: () => false,
    eventBusClientOf: () => {
      throw new Error("No destination is an event bus.");
    },
  });
  const link = ({ account, device }: ToldSubscriber, transaction: SandboxTransaction) =>
    linkIosStoreCustomer(customers, application.identifier, {
      ...signedRequest(device, [transaction], chain),
      applicationAccountIdentifier: account,
    });
  return {
    application: application.identifier,
    /** Links a new subscriber, whose period ended a minute ago. */
    link: async (): Promise<ToldSubscriber> => {
      const bought = { ...renewableSubscription(), expiresDate: Date.now() - MINUTE };
      const subscriber = { account: uuid(), device: newDevice(), bought };
      await link(subscriber, bought);
      return subscriber;
    },
    /** Stores the subscriber's next period, which began when the one before ended. */
    renew: (subscriber: ToldSubscriber) => {
      const { bought } = subscriber;
      const end = bought.expiresDate ?? 0;
      const next = { ...bought, purchaseDate: end, expiresDate: end + 30 * DAY, signedDate: Date.now() };
      return link(subscriber, next);
    },
    tell: () => tellChanges(telling, Infinity),
    /** @param send unset: a destination takes all after {@link ANSWER_MILLISECONDS} */
    deliver: (send: DeliveryRun["send"] = answering) => deliverMessages({ ...delivery, send }, Infinity),
  };
};

const SLOW_MILLISECONDS = 15 * SECOND;
const BETWEEN_MESSAGES = 300;
const QUICK = 4;

const accountOf = (data: unknown): string =>
  typeof data === "object" && data !== null && "applicationAccountIdentifier" in data
    ? String(data.applicationAccountIdentifier)
    : "";

/** Calls follow one another, as those of a shard of the table's stream do, while there is something to deliver. */
const createDeliverer = (deliver: () => Promise<unknown>) => {
  let isWanted = false;
  let running: Promise<void> | null = null;
  const run = async (): Promise<void> => {
    while (isWanted) {
      isWanted = false;
      await deliver();
    }
    running = null;
  };
  return {
    call: (): void => {
      isWanted = true;
      running ??= run();
    },
    settled: async () => running,
  };
};

/**
 * Milliseconds from a change to its message at destinations that answer, beside one that takes {@link SLOW_MILLISECONDS}
 * for each try, and fails.
 */
const measureBesideSlow = (slowIs: "of the same application" | "of another application", messages: number) =>
  withWorld(async (world) => {
    const isShared = slowIs === "of the same application";
    const quick = await createToldSubscribers(world, isShared ? QUICK + 1 : QUICK, false);
    const slow = isShared ? quick : await createToldSubscribers(world, 1, false);
    const changedAt = new Map<string, number>();
    const delays: number[] = [];
    const send: DeliveryRun["send"] = async (application, { name }, { data }) => {
      if (application === slow.application && name === "backend-0") {
        await sleep(SLOW_MILLISECONDS);
        return failedBecause("timeout");
      }
      await sleep(ANSWER_MILLISECONDS);
      const since = changedAt.get(accountOf(data));
      if (since !== undefined) delays.push(performance.now() - since);
      return { outcome: "delivered" };
    };
    const deliverer = createDeliverer(() => quick.deliver(send));
    if (!isShared) await slow.link();
    for (let message = 0; message < messages; message += 1) {
      const { account } = await quick.link();
      changedAt.set(account, performance.now());
      await quick.tell();
      deliverer.call();
      await sleep(BETWEEN_MESSAGES);
    }
    await deliverer.settled();
    return { slowIs, messages: delays.length, p50: quantile(delays, 0.5), p99: quantile(delays, 0.99) };
  });

const TOGETHER = 100;

const perChange = ({ requests, readUnits, writeUnits }: Consumption, changes: number): Consumption => ({
  requests: Object.fromEntries(Object.entries(requests).map(([name, count]) => [name, count / changes])),
  readUnits: readUnits / changes,
  writeUnits: writeUnits / changes,
});

/**
 * Units of a renewal that is told, to so many destinations: of its write, of telling and delivering it, and of each of so
 * many changes of one run.
 */
export const rowOf = (destinations: number, keepsChanges: boolean, together = TOGETHER) =>
  withWorld(async (world) => {
    const { link, renew, tell, deliver } = await createToldSubscribers(world, destinations, keepsChanges);
    /** Subscribers whose links are told. */
    const linked = async (count: number) => {
      const subscribers = [];
      for (let made = 0; made < count; made += 1) subscribers.push(await link());
      await tell();
      await deliver();
      return subscribers;
    };
    const one = await linked(1);
    const renewAll = (subscribers: typeof one) => async () => {
      for (const subscriber of subscribers) await renew(subscriber);
    };
    const store = await consumedBy(world, renewAll(one));
    const costs = { tell: await consumedBy(world, tell), deliver: await consumedBy(world, deliver) };
    await renewAll(await linked(together))();
    const all = { tell: await consumedBy(world, tell), deliver: await consumedBy(world, deliver) };
    return {
      destinations,
      keepsChanges,
      store,
      ...costs,
      together: { tell: perChange(all.tell, together), deliver: perChange(all.deliver, together) },
    };
  });

/** Runs that find nothing to do. */
export const idleOf = () =>
  withWorld(async (world) => {
    const { tell, deliver } = await createToldSubscribers(world, 1, false);
    await tell();
    await deliver();
    return { tell: await consumedBy(world, tell), deliver: await consumedBy(world, deliver) };
  });

/** Units of telling a change, and its delay beside a slow destination. */
export const measureTelling = async () => ({
  rows: [await rowOf(0, false), await rowOf(0, true), await rowOf(1, false), await rowOf(3, false)],
  idle: await idleOf(),
  besideSlow: [
    await measureBesideSlow("of the same application", TOGETHER),
    await measureBesideSlow("of another application", TOGETHER),
  ],
});
