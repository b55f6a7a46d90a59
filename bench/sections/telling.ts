import pMap from "p-map";
import { median } from "../../testing/support/metered/measuring.ts";
import type { Consumption } from "../../testing/support/metered/meter.ts";
import { consumed } from "../measure.ts";
import { measureBesideSlow } from "../telling/slow-destination.ts";
import { createToldSubscribers } from "../telling/told-subscribers.ts";

const CHANGES = 20;
const TOGETHER = 100;
const BURST = 10_000;
const LINKS_AT_ONCE = { concurrency: 20 };
const INVOCATION_MILLISECONDS = 110_000;

const timed = async (act: () => Promise<unknown>): Promise<number> => {
  const start = performance.now();
  await act();
  return performance.now() - start;
};

const perChange = ({ requests, readUnits, writeUnits }: Consumption, changes: number): Consumption => ({
  requests: Object.fromEntries(Object.entries(requests).map(([name, count]) => [name, count / changes])),
  readUnits: readUnits / changes,
  writeUnits: writeUnits / changes,
});

/**
 * Costs of a renewal that is told, to so many destinations: of its write, of telling and delivering it, and of each of
 * {@link TOGETHER} changes of one run. The times include that of the destination's answer.
 */
export const rowOf = async (
  destinations: number,
  keepsChanges: boolean,
  changes = CHANGES,
  together = TOGETHER,
) => {
  const told = await createToldSubscribers(destinations, keepsChanges);
  const settle = async (): Promise<void> => {
    await told.tell();
    await told.deliver();
  };
  try {
    const samples = [];
    for (let change = 0; change < changes; change += 1) {
      const subscriber = await told.link();
      await settle();
      consumed(told.world);
      await told.renew(subscriber);
      const store = consumed(told.world);
      const tellTime = await timed(async () => told.tell());
      const tell = consumed(told.world);
      const deliverTime = await timed(async () => told.deliver());
      samples.push({ store, tell, deliver: consumed(told.world), tellTime, deliverTime });
    }
    const last = samples.at(-1);
    if (last === undefined) throw new Error("Nothing was measured.");
    const subscribers = [];
    for (let count = 0; count < together; count += 1) subscribers.push(await told.link());
    await settle();
    for (const subscriber of subscribers) await told.renew(subscriber);
    consumed(told.world);
    await told.tell();
    const tellTogether = consumed(told.world);
    await told.deliver();
    return {
      destinations,
      keepsChanges,
      store: last.store,
      tell: last.tell,
      deliver: last.deliver,
      together: {
        tell: perChange(tellTogether, together),
        deliver: perChange(consumed(told.world), together),
      },
      milliseconds: {
        tell: median(samples.map(({ tellTime }) => tellTime)),
        deliver: median(samples.map(({ deliverTime }) => deliverTime)),
      },
    };
  } finally {
    await told.remove();
  }
};

/** Runs that find nothing to do. */
export const idleOf = async () => {
  const told = await createToldSubscribers(1, false);
  try {
    await told.tell();
    await told.deliver();
    consumed(told.world);
    await told.tell();
    const tell = consumed(told.world);
    await told.deliver();
    return { tell, deliver: consumed(told.world) };
  } finally {
    await told.remove();
  }
};

/** Runs one invocation after another until nothing is left. */
const untilDone = async (run: (until: number) => Promise<{ readonly oldest: number }>): Promise<number> => {
  const start = performance.now();
  while ((await run(Date.now() + INVOCATION_MILLISECONDS)).oldest > 0);
  return (performance.now() - start) / 1000;
};

/** Accounts that change in one second. */
const measureBurst = async (accounts: number) => {
  const told = await createToldSubscribers(1, false);
  try {
    await pMap(Array.from({ length: accounts }), () => told.link(), LINKS_AT_ONCE);
    consumed(told.world);
    const tellSeconds = await untilDone(told.tell);
    const tell = consumed(told.world);
    const deliverSeconds = await untilDone(told.deliver);
    return { accounts, tellSeconds, deliverSeconds, tell, deliver: consumed(told.world) };
  } finally {
    await told.remove();
  }
};

/** Cost of telling a change, and a burst of changes. */
export const measureTelling = async () => ({
  rows: [await rowOf(0, false), await rowOf(0, true), await rowOf(1, false), await rowOf(3, false)],
  idle: await idleOf(),
  burst: await measureBurst(BURST),
  besideSlow: [
    await measureBesideSlow("of the same application", TOGETHER),
    await measureBesideSlow("of another application", TOGETHER),
  ],
});
