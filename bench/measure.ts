import { setTimeout as sleep } from "node:timers/promises";
import { makeChain, fingerprintOf } from "../sandbox/ios-store/signing.ts";
import { type Consumption, Stopwatch, sum, meter } from "../testing/support/table/meter.ts";
import type { IosStoreCustomers } from "../lib/customers/ios-store-customers.ts";
import { createNotificationVerifier } from "../lib/stores/ios-store/notification.ts";
import { createIosStoreVerifier } from "../lib/stores/ios-store/verifier.ts";
import { DEMO } from "../local/demo.ts";
import { watchChecks, aBundle } from "../testing/support/stores/ios-store.ts";
import { openTable } from "../functions/environment/open-table.ts";
import { createTestTable } from "../testing/support/table/table.ts";
import { anApplication } from "../testing/support/application.ts";
import { aCatalog, aProduct } from "../testing/support/stores/purchases.ts";
import { createWorld } from "../testing/support/world.ts";

/** Product that the catalog does not map. */
export const COINS = "coins";

type Verify = (...given: never[]) => Promise<unknown>;

/** The same verifier, whose functions are timed. */
const timed = <Verifier extends Readonly<Record<keyof Verifier, Verify>>>(
  verifier: Verifier,
  stopwatch: Stopwatch,
): Verifier =>
  Object.fromEntries(
    Object.entries<Verify>(verifier).map(([name, verify]) => [
      name,
      (...given: never[]) => stopwatch.during(() => verify(...given)),
    ]),
  ) as Verifier;

/**
 * The iOS store's use cases on their own metered table, with the system clock. The application is in memory, as in a function
 * that has read it.
 */
export const createMeteredWorld = async () => {
  const created = await createTestTable();
  const table = { ...created, ...openTable(created.name) };
  const chain = makeChain();
  const { application, directory, factStore } = createWorld(table, {
    application: anApplication({
      name: DEMO.name,
      iosStore: [
        aBundle({ bundleIdentifier: DEMO.bundleIdentifier, appAppleIdentifier: DEMO.appAppleIdentifier }),
      ],
      catalog: aCatalog([
        aProduct({ productIdentifier: DEMO.iosSubscription }),
        aProduct({ productIdentifier: DEMO.iosNonConsumable }),
      ]),
    }),
    now: Date.now,
    pause: (attempt) => sleep(10 * attempt),
  });
  const verifying = new Stopwatch();
  const { checks, done } = watchChecks();
  return {
    application,
    chain,
    table,
    /** Time spent verifying. */
    verifying,
    meter: meter(table.client),
    customers: {
      ...factStore,
      directory,
      verifier: timed(createIosStoreVerifier(checks), verifying),
      trustedRoots: new Set([fingerprintOf(chain.root)]),
    } satisfies IosStoreCustomers,
    notificationVerifier: timed(createNotificationVerifier(checks), verifying),
    /** Signature checks of payloads so far; those of certificates are not counted. */
    signatureChecks: () => sum(Object.values(done)),
    remove: table.remove,
  };
};
export type MeteredWorld = Awaited<ReturnType<typeof createMeteredWorld>>;

/** Acts on a metered table, which is then removed. */
export const withWorld = async <Result>(act: (world: MeteredWorld) => Promise<Result>): Promise<Result> => {
  const world = await createMeteredWorld();
  try {
    return await act(world);
  } finally {
    await world.remove();
  }
};

/** Requests and units of an act. */
export const consumedBy = async (
  { meter }: Pick<MeteredWorld, "meter">,
  act: () => Promise<unknown>,
): Promise<Consumption> => {
  meter.take();
  await act();
  const { milliseconds: _, ...consumption } = meter.take();
  return consumption;
};

/**
 * Costs of an act. In milliseconds, verification, DynamoDB's client and the rest add up to the total; `waiting` is for
 * DynamoDB's responses.
 */
export const costOf = async ({ meter, verifying }: MeteredWorld, act: () => Promise<unknown>) => {
  meter.take();
  verifying.take();
  const start = performance.now();
  await act();
  const total = performance.now() - start;
  const { milliseconds, ...consumption } = meter.take();
  const { client: dynamoDb, waiting } = milliseconds;
  const verification = verifying.take();
  const rest = total - verification - dynamoDb;
  return { ...consumption, milliseconds: { total, verification, dynamoDb, waiting, rest } };
};

/** Counts of the first sample, and medians of all milliseconds. */
export const summaryOf = <Sample extends { readonly milliseconds: Readonly<Record<string, number>> }>(
  samples: readonly Sample[],
) => {
  const [first] = samples;
  if (first === undefined) throw new Error("Nothing was measured.");
  const medians: Sample["milliseconds"] = Object.fromEntries(
    Object.keys(first.milliseconds).map((key) => [
      key,
      median(samples.map(({ milliseconds }) => milliseconds[key] ?? Number.NaN)),
    ]),
  );
  return { ...first, times: samples.length, milliseconds: medians };
};

export const median = (values: readonly number[]): number => {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.slice((sorted.length - 1) >> 1, (sorted.length >> 1) + 1);
  return sum(middle) / middle.length;
};

/** Quantile: the smallest value that at least `part` of the values do not exceed. */
export const quantile = (values: readonly number[], part: number): number =>
  [...values].sort((a, b) => a - b)[Math.ceil(part * values.length) - 1] ?? Number.NaN;

/** One side of a comparison. */
export interface Side {
  readonly name: string;
  /** Does the same amount of work each time, and returns the number of operations. */
  readonly run: () => Promise<number> | number;
}

interface Round {
  readonly rate: number;
  readonly cpuMicroseconds: number;
}

const measureRound = async ({ run }: Side, milliseconds: number): Promise<Round> => {
  const cpu = process.cpuUsage();
  const start = performance.now();
  let done = 0;
  let elapsed = 0;
  while (elapsed < milliseconds) {
    done += await run();
    elapsed = performance.now() - start;
  }
  const { user, system } = process.cpuUsage(cpu);
  return { rate: (done * 1000) / elapsed, cpuMicroseconds: (user + system) / done };
};

/**
 * Alternates between all sides, each round starting with another one, so that changes in the machine's speed affect all
 * of them. A warm-up round is not counted. Resolves with operations per second, and CPU time per operation (all threads),
 * as medians and by round.
 */
export const inTurn = async (
  sides: readonly Side[],
  { rounds, milliseconds }: { readonly rounds: number; readonly milliseconds: number },
) => {
  const measured = new Map<Side, Round[]>(sides.map((side) => [side, []]));
  for (const side of sides) await measureRound(side, milliseconds);
  for (let round = 0; round < rounds; round += 1)
    for (let index = 0; index < sides.length; index += 1) {
      const side = sides[(round + index) % sides.length];
      if (side !== undefined) measured.get(side)?.push(await measureRound(side, milliseconds));
    }
  return sides.map((side) => {
    const found = measured.get(side) ?? [];
    const rounds = found.map(({ rate }) => rate);
    const cpuRounds = found.map(({ cpuMicroseconds }) => cpuMicroseconds);
    return {
      name: side.name,
      median: median(rounds),
      rounds,
      cpuMicroseconds: median(cpuRounds),
      cpuRounds,
    };
  });
};

/** Median of the rounds' ratios. */
export const ratio = (of: readonly number[], to: readonly number[]): number =>
  median(of.map((value, round) => value / (to[round] ?? Number.NaN)));
