import { setTimeout as sleep } from "node:timers/promises";
import { v7 as uuid } from "uuid";
import { composeDelivery } from "../../functions/wiring/delivery.ts";
import { composeTelling } from "../../functions/wiring/telling.ts";
import type { Application, Destination } from "../../lib/applications/application.ts";
import { type IosStoreCustomers, linkIosStoreCustomer } from "../../lib/customers/ios-store-customers.ts";
import { DAY, MINUTE } from "../../lib/duration.ts";
import { applicationId } from "../../lib/identifiers.ts";
import { createApplicationTable } from "../../lib/table/applications/applications.ts";
import { deliverMessages, type DeliveryRun } from "../../lib/delivery/deliver-messages.ts";
import { tellChanges } from "../../lib/telling/tell-changes.ts";
import type { SandboxCustomer, SandboxTransaction } from "../../sandbox/ios-store/shop/payloads.ts";
import { newDevice, renewableSubscription, signedRequest } from "../../testing/support/metered/purchases.ts";
import { createMeteredWorld, type MeteredWorld } from "../../testing/support/metered/world.ts";
import { directoryOf } from "../../testing/support/application.ts";

/** A subscriber whose account's changes are told. */
interface ToldSubscriber {
  readonly account: string;
  readonly device: SandboxCustomer;
  readonly bought: SandboxTransaction;
}

export type ToldSubscribers = Awaited<ReturnType<typeof createToldSubscribers>>;

/** Time that a destination takes to answer. */
export const ANSWER_MILLISECONDS = 20;

const webhook = (_: unknown, index: number): Destination => ({
  name: `backend-${index}`,
  url: `https://backend-${index}.example.com/told`,
  secretEpochs: [],
});

const answering: DeliveryRun["send"] = async (_, __, messages) => {
  await sleep(ANSWER_MILLISECONDS);
  return messages.map(() => ({ outcome: "delivered" }));
};

/**
 * An application in a metered table, with the functions that tell and deliver as they are deployed.
 *
 * @param keepsChanges whether the changes are kept where there is no destination
 * @param shared table of another application; unset: the application has a table of its own
 */
export const createToldSubscribers = async (
  destinations: number,
  keepsChanges: boolean,
  shared?: MeteredWorld,
) => {
  const world = shared ?? (await createMeteredWorld());
  const { table, chain } = world;
  const application: Application = {
    ...world.application,
    identifier: applicationId(uuid()),
    destinations: Array.from({ length: destinations }, webhook),
    keepsChanges,
  };
  await createApplicationTable(table).save(null, application);
  const customers: IosStoreCustomers = {
    ...world.customers,
    directory: directoryOf(application),
  };
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
  const linkWith = async (
    { account, device }: ToldSubscriber,
    transactions: readonly SandboxTransaction[],
  ): Promise<void> => {
    await linkIosStoreCustomer(customers, application.identifier, {
      ...signedRequest(device, [...transactions], chain),
      applicationAccountIdentifier: account,
    });
  };
  return {
    world,
    application: application.identifier,
    /** Links a new subscriber, whose period ended a minute ago. */
    link: async (): Promise<ToldSubscriber> => {
      const bought = { ...renewableSubscription(), expiresDate: Date.now() - MINUTE };
      const subscriber = { account: uuid(), device: newDevice(), bought };
      await linkWith(subscriber, [subscriber.bought]);
      return subscriber;
    },
    /** Stores the subscriber's next period, which began when the one before ended. */
    renew: async (subscriber: ToldSubscriber): Promise<void> => {
      const { bought } = subscriber;
      const end = bought.expiresDate ?? 0;
      const next = { ...bought, purchaseDate: end, expiresDate: end + 30 * DAY, signedDate: Date.now() };
      await linkWith(subscriber, [next]);
    },
    tell: async (until = Infinity) => tellChanges(telling, until),
    /** @param send unset: a destination takes all after {@link ANSWER_MILLISECONDS} */
    deliver: async (until = Infinity, send: DeliveryRun["send"] = answering) =>
      deliverMessages({ ...delivery, send }, until),
    remove: world.remove,
  };
};
