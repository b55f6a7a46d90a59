import { DAY, HOUR, MINUTE } from "../../../lib/duration.ts";
import type { Instant } from "../../../lib/entitlements/time.ts";
import { NOW } from "../../../testing/support/stores/purchases.ts";
import type { Service } from "./service.ts";
import type { Stores } from "./stores.ts";

/** Google's list is swept hourly in the cloud; further apart, the same periods are read. */
const BETWEEN_SWEEPS = 10 * DAY;

/** The first whole minute from the moment on: the schedule's. */
const minuteFrom = (moment: Instant): Instant => Math.ceil(moment / MINUTE) * MINUTE;

/** The stores' events, the scheduled refreshes and the sweeps of both services, as time passes. */
export const createTime = (stores: Stores, services: readonly Service[], outageEndsAt: Instant | null) => {
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
