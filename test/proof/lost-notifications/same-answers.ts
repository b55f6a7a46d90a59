import type { Instant } from "../../../lib/entitlements/time.ts";
import { DAY } from "../../../testing/support/stores/purchases.ts";
import type { Service } from "./service.ts";
import { ACCOUNTS } from "./customers.ts";
import { LEEWAY, type SideBySide } from "./side-by-side.ts";

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
