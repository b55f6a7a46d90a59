import { drain } from "../../bench/sections/refreshes.ts";
import { idleOf, rowOf } from "../../bench/sections/telling.ts";

/** Requests and units of refreshes and telling, which are the same on every machine. */

const FEW = 10;
const ENDS = 20;

test("refreshes cost so many requests and units, and a run without work two", async () => {
  const { drain: drained, idle } = await drain(ENDS);
  // Each reads the purchase, its identity, itself again, and the customer. It writes customer, account, purchase, and the
  // refresh before and after, each twice. The run lists applications, reads the queue, and takes and releases its lease.
  expect(drained).toMatchObject({
    requests: { BatchGetItem: ENDS * 3, TransactWriteItems: ENDS, Query: 4, UpdateItem: 2 },
    readUnits: ENDS * 4 + 5,
    writeUnits: ENDS * 10 + 2,
  });
  expect(idle).toEqual({ requests: { Query: 2 }, readUnits: 2, writeUnits: 0 });
});

test("an application that is not told of changes pays for none", async () => {
  const { store, tell, deliver } = await rowOf(0, false, FEW);
  expect(store).toEqual({
    requests: { BatchGetItem: 2, TransactWriteItems: 1 },
    readUnits: 3,
    // The customer, its account item and its purchase, twice for the transaction.
    writeUnits: 6,
  });
  // Each run lists the applications.
  for (const run of [tell, deliver])
    expect(run).toEqual({ requests: { Query: 1 }, readUnits: 1, writeUnits: 0 });
});

test.each([
  // The look; then the account's last version and the sequence, the change, and each delivery, twice for the transaction.
  [0, true, { told: 12, toldOfMany: 8.4, delivered: 0, deliveredOfMany: 0 }],
  [1, false, { told: 14, toldOfMany: 10.4, delivered: 3, deliveredOfMany: 1.2 }],
  [3, false, { told: 18, toldOfMany: 14.4, delivered: 9, deliveredOfMany: 3.6 }],
])(
  "a change with %d destinations (keepsChanges: %p) costs so many units",
  async (destinations, keeps, units) => {
    const { store, tell, deliver, together } = await rowOf(destinations, keeps, FEW);
    // One write more than without: the look.
    expect(store).toMatchObject({ readUnits: 3, writeUnits: 8 });
    expect(tell.readUnits).toBe(9);
    expect(together.tell.readUnits).toBeCloseTo(4.5);
    expect({
      told: tell.writeUnits,
      toldOfMany: together.tell.writeUnits,
      delivered: deliver.writeUnits,
      deliveredOfMany: together.deliver.writeUnits,
    }).toEqual(units);
  },
);

test("a run that finds nothing asks twice, and writes nothing", async () => {
  const run = { requests: { Query: 2 }, readUnits: 2, writeUnits: 0 };
  expect(await idleOf()).toEqual({ tell: run, deliver: run });
});
