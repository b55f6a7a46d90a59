import { pausesOf } from "../../../lib/customers/asking/ask-due-purchases.ts";
import { DAY, HOUR, MINUTE } from "../../../lib/duration.ts";
import { createMemoryTable } from "../../../testing/support/table/memory-table.ts";
import { NOW } from "../../../testing/support/stores/purchases.ts";
import { createRefreshing } from "../refreshing.ts";

test("a store that is down is tried every five minutes at least", () => {
  expect(pausesOf("unavailable")).toEqual([0.5, 1, 2, 4, 5].map((minutes) => minutes * MINUTE));
});

test("a store that refuses the credential is tried every hour at least", () => {
  expect(pausesOf("credential-rejected")).toEqual([5, 15, 60].map((minutes) => minutes * MINUTE));
});

test.each<[what: string, named: number, pause: number]>([
  ["for the time that it names", 20 * MINUTE, 20 * MINUTE],
  ["for an hour", HOUR, HOUR],
  ["for an hour where it names a later time", DAY, HOUR],
  ["no shorter than its pause where it names an earlier one", MINUTE / 60, MINUTE / 2],
])("a store is left alone %s", async (_, named, pause) => {
  const refreshing = createRefreshing(createMemoryTable());
  await refreshing.hold("1", NOW - MINUTE);
  refreshing.answering(() => ({ outcome: "unavailable", retryAt: NOW + named }));
  const { paused } = await refreshing.run();
  expect(paused).toMatchObject([{ because: "unavailable", failingSince: NOW, until: NOW + pause }]);
});
