import { DAY, HOUR, MINUTE } from "../../../lib/duration.ts";
import type { Application } from "../../../lib/applications/application.ts";
import type { Instant } from "../../../lib/entitlements/time.ts";
import { NOW } from "../../../testing/support/stores/purchases.ts";
import { modelApplication } from "../model/model-client.ts";
import { createCustomers } from "./customers.ts";
import type { History } from "./histories.ts";
import { failingFetch, type Outage } from "./outages.ts";
import { createService, type Service } from "./service.ts";
import { openStores, type Stores } from "./stores.ts";

/** Google's list is swept hourly in the cloud; further apart, the same periods are read. */
const BETWEEN_SWEEPS = 10 * DAY;

export const LEEWAY = 15 * MINUTE;

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

/** The first whole minute from the moment on: the schedule's. */
const minuteFrom = (moment: Instant): Instant => Math.ceil(moment / MINUTE) * MINUTE;

/** The stores' events, the scheduled refreshes and the sweeps of both services, as time passes. */
const createTime = (stores: Stores, services: readonly Service[], outageEndsAt: Instant | null) => {
  const { clock } = stores;
  let nextSweepAt = NOW + BETWEEN_SWEEPS;
  let lastSweepAt = NOW;
  const lastRefreshAt = new Map<Service, Instant>();
  const outage = { isOn: outageEndsAt !== null };

  const refreshAt = async (service: Service): Promise<Instant> => {
    const last = lastRefreshAt.get(service) ?? 0;
    // A queue that is paused in an outage is tried often; here, hourly.
    const apart = outage.isOn ? HOUR : MINUTE;
    return minuteFrom(Math.max(await service.nextRefreshAt(), last + apart));
  };
  const runSchedules = async (): Promise<void> => {
    for (const service of services)
      if ((await refreshAt(service)) <= clock.now) {
        lastRefreshAt.set(service, clock.now);
        await service.refresh();
      }
    if (clock.now < nextSweepAt) return;
    nextSweepAt = clock.now + BETWEEN_SWEEPS;
    lastSweepAt = clock.now;
    for (const service of services) await service.sweepRefunds();
  };
  const advanceTo = async (moment: Instant): Promise<void> => {
    for (;;) {
      const due = await Promise.all(services.map(refreshAt));
      const outageEnds = outage.isOn ? (outageEndsAt ?? Infinity) : Infinity;
      const next = Math.min(moment, stores.nextEventAt(), nextSweepAt, outageEnds, ...due);
      clock.now = Math.max(clock.now, next);
      if (clock.now >= outageEnds) {
        outage.isOn = false;
        nextSweepAt = clock.now;
      }
      await stores.run();
      await runSchedules();
      if (clock.now >= moment) return;
    }
  };
  return {
    outage,
    advanceTo,
    /** Lets time pass, with the stores' events, the scheduled refreshes and the sweeps. */
    advance: async (milliseconds: number): Promise<void> => advanceTo(clock.now + milliseconds),
    /** Sweeps an hour after the last sweep. */
    sweepSoon: (): void => {
      nextSweepAt = Math.max(clock.now + MINUTE, lastSweepAt + HOUR);
    },
  };
};

export type Time = ReturnType<typeof createTime>;
/** Whether an operator has everything asked about at the end, or the scheduled refreshes have to find it. */
export type Asked = "by hand" | "by schedule";
export type SideBySide = ReturnType<typeof standSideBySide>;

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
