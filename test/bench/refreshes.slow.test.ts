import { drain } from "../../bench/sections/refreshes.ts";

/** Requests and units of refreshes, which are the same on every machine. */

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
