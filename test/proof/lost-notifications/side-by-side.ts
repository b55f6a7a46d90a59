import { HOUR, MINUTE } from "../../../lib/duration.ts";
import type { Application } from "../../../lib/applications/application.ts";
import { NOW, DAY } from "../../../testing/support/stores/purchases.ts";
import { modelApplication } from "../model/model-client.ts";
import { createCustomers, type Asked, ACCOUNTS } from "./customers.ts";
import type { History } from "./histories.ts";
import { failingFetch, type Outage, openStores, type Stores } from "./stores.ts";
import { createService, type Service } from "./service.ts";
import { createTime } from "./time.ts";
import type { Instant } from "../../../lib/entitlements/time.ts";

const LEEWAY = 15 * MINUTE;

const applicationWith = (stores: Stores): Application => {
  const application = modelApplication("0198c0de-0000-7000-8000-000000000001", { leeway: LEEWAY });
  const serverApi = { issuerIdentifier: "", keyIdentifier: "", secret: "" };
  const environments = ["production"] as const;
  return stores.withCredentials({
    ...application,
    iosStore: application.iosStore.map((bundle) => ({ ...bundle, environments, serverApi })),
    androidStore: application.androidStore.map((one) => ({ ...one, environments })),
  });
};

type SideBySide = ReturnType<typeof standSideBySide>;

const standSideBySide = (stores: Stores, asked: Asked, outage: Outage | null) => {
  const application = applicationWith(stores);
  const told = createService(stores, application, stores.fetch);
  const untold = createService(
    stores,
    application,
    outage === null ? stores.fetch : failingFetch(outage, () => time.outage.isOn, stores.fetch),
  );
  const services = [told, untold];
  stores.receive = told.receive;
  const time = createTime(stores, services, outage === null ? null : NOW + outage.lasts);
  const { perform, linkToken } = createCustomers(stores, services, time, asked);
  return {
    stores,
    told,
    untold,
    linkToken,
    advance: time.advance,
    play: async (history: History): Promise<void> => {
      for (const { after, act } of history) {
        await time.advance(after);
        await perform(act);
      }
    },
    /** Works off both queues, at a moment at which nothing happens in the stores. */
    settle: async (): Promise<void> => {
      while (stores.nextEventAt() - stores.clock.now < 3 * HOUR)
        await time.advanceTo(stores.nextEventAt() + MINUTE);
      await time.advance(2 * HOUR);
      for (const service of services) {
        await service.sweepRefunds();
        // Apple counts all notifications as delivered, so its list brings nothing to either.
        await service.sweepNotifications();
      }
    },
  };
};

/**
 * Two services before the same stores: one gets every notification, the other none.
 *
 * @param outage of the second service's questions; null: the stores always answer
 */
export const sideBySide = async (
  asked: Asked,
  act: (both: SideBySide) => Promise<void>,
  outage: Outage | null = null,
): Promise<void> => {
  const stores = await openStores(NOW);
  try {
    await act(standSideBySide(stores, asked, outage));
  } finally {
    await stores.close();
  }
};

const timesIn = (answers: Awaited<ReturnType<Service["read"]>>): Instant[] =>
  answers.flatMap(({ startsAt, expiresAt }) =>
    [startsAt, expiresAt].flatMap((time) => (time === null ? [] : [Date.parse(time)])),
  );

/** Moments at which an account's answers are compared: now and later, around each time that an answer names. */
const momentsOf = async (service: Service, account: string, now: Instant): Promise<Set<Instant>> => {
  const looks = [0, 1, 8, 31, 70, 100, 400].map((days) => now + days * DAY);
  const moments = new Set(looks);
  for (const moment of looks)
    for (const time of timesIn(await service.read(account, moment)))
      for (const shift of [0, LEEWAY, 2 * DAY, 60 * DAY])
        for (const apart of [-1, 0, 1]) if (time + shift + apart >= now) moments.add(time + shift + apart);
  return moments;
};

/**
 * Without the end of what has expired: once the periods after an upgraded one are no longer kept, it is the time at which
 * its mark was signed.
 */
const comparable = (entitlements: Awaited<ReturnType<Service["read"]>>) =>
  entitlements.map((one) => (one.status === "expired" ? { ...one, expiresAt: "" } : one));

/** Expects both services to answer alike, now and at every later moment at which something is known to change. */
export const expectSameAnswers = async ({ stores, told, untold }: SideBySide): Promise<void> => {
  const { now } = stores.clock;
  for (const account of ACCOUNTS) {
    const moments = new Set([
      ...(await momentsOf(told, account, now)),
      ...(await momentsOf(untold, account, now)),
    ]);
    for (const moment of [...moments].sort((a, b) => a - b)) {
      const at = new Date(moment).toISOString();
      expect({ at, entitlements: comparable(await untold.read(account, moment)) }).toEqual({
        at,
        entitlements: comparable(await told.read(account, moment)),
      });
    }
  }
  expect(await told.violations()).toEqual([]);
  expect(await untold.violations()).toEqual([]);
};

/** Expects a refresh in the one queue wherever one is in the other: an outage takes none out of it. */
export const expectEveryPurchaseQueued = async ({ told, untold }: SideBySide): Promise<void> => {
  const queuedIn = async (service: Service): Promise<string[]> => [...(await service.queued())].sort();
  expect(await queuedIn(untold)).toEqual(await queuedIn(told));
};
