import { REFRESHES_PER_SECOND } from "../../lib/customers/refresh-queue-turn.ts";

/**
 * The hottest key of the table: an application's queue of refreshes, one partition key for each store and environment. Each
 * renewal takes an item out of it and puts one in.
 */
export interface HottestKey {
  /** Most renewals in one second. */
  readonly renewals: number;
  /** Write units of the partition key in that second. */
  readonly units: number;
  /** Longest time in seconds that a write waits for the partition; 0: none is refused. */
  readonly writeWaits: number;
  /** Longest time in seconds until a renewal is asked about, if the store does not notify. */
  readonly askWaits: number;
}

const DAY = 86_400;
const MONTH = 30 * DAY;
const DAYS = 3;

/** Share of the subscribers who were won by one campaign, within two hours of one day of the month, at its busiest time. */
const CAMPAIGN = { share: 0.1, seconds: 7_200, from: DAY + 64_800 - 3_600 } as const;

/** Two items of up to 1 KB in a transaction, two units each. */
const UNITS_PER_RENEWAL = 4;

/**
 * DynamoDB's limits of one partition: units per second, and the unused units of five minutes. It may split a hot
 * partition, which is not counted.
 */
const PARTITION_UNITS = 1_000;
const BURST_UNITS = 300 * PARTITION_UNITS;

/** Questions for each renewal where no store notifies, counted on the lives of `bench/refreshes`. */
export const ASKS_PER_RENEWAL = 1.61;

/** Numbers from 0 to 1, the same ones each time (mulberry32). */
const randomNumbers = (seed: number) => (): number => {
  seed = (seed + 0x6d2b79f5) | 0;
  let mixed = Math.imul(seed ^ (seed >>> 15), 1 | seed);
  mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
  return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
};

/** A Poisson number: counted where the mean is small, else by its normal approximation. */
const poisson = (mean: number, random: () => number): number => {
  if (mean > 30) {
    const normal = Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
    return Math.max(0, Math.round(mean + Math.sqrt(mean) * normal));
  }
  const limit = Math.exp(-mean);
  let count = 0;
  for (let product = random(); product > limit; product *= random()) count += 1;
  return count;
};

/** Renewals a second of monthly subscriptions: more in the evening than at night, and a campaign's in two hours. */
const rateAt = (second: number, subscribers: number): number => {
  const ofDay = 1 + 0.6 * Math.sin((2 * Math.PI * (second - 43_200)) / DAY);
  const inCampaign = second >= CAMPAIGN.from && second < CAMPAIGN.from + CAMPAIGN.seconds;
  return (
    (subscribers * (1 - CAMPAIGN.share) * ofDay) / MONTH +
    (inCampaign ? (subscribers * CAMPAIGN.share) / CAMPAIGN.seconds : 0)
  );
};

/** Three days around a campaign's monthly return, second by second, with all subscribers in one application and one store. */
export const simulateHottestKey = (subscribers: number): HottestKey => {
  const random = randomNumbers(14);
  let [units, burst, asks] = [0, BURST_UNITS, 0];
  let result: HottestKey = { renewals: 0, units: 0, writeWaits: 0, askWaits: 0 };
  for (let second = 0; second < DAYS * DAY; second += 1) {
    const renewals = poisson(rateAt(second, subscribers), random);
    units += renewals * UNITS_PER_RENEWAL;
    const served = Math.min(units, PARTITION_UNITS + burst);
    burst = Math.min(BURST_UNITS, burst + PARTITION_UNITS - served);
    units -= served;
    asks = Math.max(0, asks + renewals * ASKS_PER_RENEWAL - REFRESHES_PER_SECOND);
    result = {
      renewals: Math.max(result.renewals, renewals),
      units: Math.max(result.units, renewals * UNITS_PER_RENEWAL),
      writeWaits: Math.max(result.writeWaits, units / PARTITION_UNITS),
      askWaits: Math.max(result.askWaits, asks / REFRESHES_PER_SECOND),
    };
  }
  return result;
};
