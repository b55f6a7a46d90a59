import type { Consumption } from "../../testing/support/metered/meter.ts";
import { consumed } from "../measure.ts";
import { measureBesideSlow } from "../telling/slow-destination.ts";
import { createToldSubscribers } from "../telling/told-subscribers.ts";

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
export const rowOf = async (destinations: number, keepsChanges: boolean, together = TOGETHER) => {
  const told = await createToldSubscribers(destinations, keepsChanges);
  const costOf = async (act: () => Promise<unknown>): Promise<Consumption> => {
    consumed(told.world);
    await act();
    return consumed(told.world);
  };
  /** Subscribers whose links are told. */
  const linked = async (count: number) => {
    const subscribers = [];
    for (let made = 0; made < count; made += 1) subscribers.push(await told.link());
    await told.tell();
    await told.deliver();
    return subscribers;
  };
  try {
    const [one] = await linked(1);
    if (one === undefined) throw new RangeError("Nobody was linked.");
    const store = await costOf(() => told.renew(one));
    const tell = await costOf(told.tell);
    const deliver = await costOf(told.deliver);
    for (const subscriber of await linked(together)) await told.renew(subscriber);
    const all = { tell: await costOf(told.tell), deliver: await costOf(told.deliver) };
    return {
      destinations,
      keepsChanges,
      store,
      tell,
      deliver,
      together: { tell: perChange(all.tell, together), deliver: perChange(all.deliver, together) },
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

/** Units of telling a change, and its delay beside a slow destination. */
export const measureTelling = async () => ({
  rows: [await rowOf(0, false), await rowOf(0, true), await rowOf(1, false), await rowOf(3, false)],
  idle: await idleOf(),
  besideSlow: [
    await measureBesideSlow("of the same application", TOGETHER),
    await measureBesideSlow("of another application", TOGETHER),
  ],
});
