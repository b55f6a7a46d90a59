import { countingEvents, type Lineage } from "../../lib/entitlements/lineages.ts";
import type { Line } from "../../lib/entitlements/purchase.ts";
import { purchaseKey } from "../../lib/identifiers.ts";
import { aLine, DAY, NOW } from "../../testing/support/purchases.ts";

/** A copy of one period of 30 days. */
const copy = (transactionIdentifier: string, line: Partial<Line> = {}): Line =>
  aLine({ transactionIdentifier, event: "w", endsAt: NOW + 20 * DAY, ...line });
const lineage = (key: string, ...lines: readonly Line[]): Lineage => ({ key: purchaseKey(key), lines });
const signed = (verifiedAt: number): Partial<Line> => ({ verifiedAt: NOW + verifiedAt });

/** The deciding transactions of each lineage; a star marks a moved one. */
const decidingOf = (...lineages: readonly Lineage[]) =>
  Object.fromEntries(
    [...countingEvents(lineages)].map(([key, events]) => [
      key,
      events.map(({ line, isMoved }) => `${line.transactionIdentifier}${isMoved ? "*" : ""}`),
    ]),
  );

/** Expects these deciding transactions in either order of the lineages. */
const expectDeciding = (lineages: readonly Lineage[], expected: Record<string, readonly string[]>): void => {
  expect(decidingOf(...lineages)).toEqual(expected);
  expect(decidingOf(...lineages.toReversed())).toEqual(expected);
};

test("a single lineage has its events, oldest first", () => {
  const later = copy("2", { event: "w2", startsAt: NOW + 20 * DAY, endsAt: NOW + 50 * DAY });
  expectDeciding([lineage("A", later, copy("1"))], { A: ["1", "2"] });
});
test("lineages that share nothing keep their own events", () => {
  expectDeciding([lineage("A", copy("1")), lineage("B", copy("2", { event: "w2" }))], { A: ["1"], B: ["2"] });
});

describe("one transaction id in two lineages", () => {
  test("counts where it was signed later", () => {
    expectDeciding([lineage("A", copy("1", signed(1))), lineage("B", copy("1", signed(2)))], {
      A: [],
      B: ["1*"],
    });
  });
  test("counts in the smaller lineage when both copies were signed at the same moment", () => {
    expectDeciding([lineage("A", copy("1")), lineage("B", copy("1"))], { A: ["1*"], B: [] });
  });
  test("moves the other copies of its event with it", () => {
    const until = { event: "until 9" };
    expectDeciding(
      [
        lineage("A", copy("1", { ...until, ...signed(1) }), copy("2", { ...until, ...signed(2) })),
        lineage("B", copy("1", { ...until, ...signed(3) })),
      ],
      { A: [], B: ["1*"] },
    );
  });
  test("moves copies under the event's older name with it", () => {
    const [older, newer] = [{ event: "until 1" }, { event: "until 2" }];
    expectDeciding(
      [
        lineage("A", copy("1", { ...newer, ...signed(1) }), copy("3", { ...newer, ...signed(0) })),
        lineage(
          "B",
          copy("1", { ...newer, ...signed(2) }),
          copy("4", { ...older, endsAt: NOW, ...signed(0) }),
        ),
      ],
      { A: [], B: ["4", "1*"] },
    );
  });
  test("leaves other events in their lineage", () => {
    const other = copy("2", { event: "w2", startsAt: NOW - 40 * DAY, endsAt: NOW - 10 * DAY });
    expectDeciding([lineage("A", other, copy("1", signed(1))), lineage("B", copy("1", signed(2)))], {
      A: ["2"],
      B: ["1*"],
    });
  });
  test("keeps its first revocation and the time of it", () => {
    const refunded = copy("1", { ...signed(1), revokedAt: NOW, revokedSince: NOW + 1 });
    const [, [event]] = [...countingEvents([lineage("A", refunded), lineage("B", copy("1", signed(2)))])].map(
      ([, events]) => events,
    ) as [unknown, { line: Line }[]];
    expect(event?.line).toMatchObject({ revokedAt: null, revokedSince: NOW + 1 });
  });
});

describe("one web order in two lineages", () => {
  test("is one event, which counts where it was signed last", () => {
    expectDeciding([lineage("A", copy("1", signed(1))), lineage("B", copy("2", signed(2)))], {
      A: [],
      B: ["2*"],
    });
  });
  test("counts in the smaller lineage when both copies were signed at the same moment", () => {
    expectDeciding([lineage("A", copy("1")), lineage("B", copy("2"))], { A: ["2*"], B: [] });
    expectDeciding([lineage("A", copy("2")), lineage("B", copy("1"))], { A: ["2*"], B: [] });
  });
  test("is refunded under either id, and counts where it was signed last", () => {
    const refunded = copy("1", { ...signed(1), revokedAt: NOW, revokedSince: NOW });
    expectDeciding([lineage("A", refunded), lineage("B", copy("2", signed(2)))], { A: [], B: ["1*"] });
  });
  test("begins with its first copy", () => {
    const restored = copy("2", { ...signed(2), startsAt: NOW });
    const events = countingEvents([lineage("A", copy("1", signed(1))), lineage("B", restored)]);
    expect([...events.values()].flat()).toMatchObject([{ line: { startsAt: NOW - 10 * DAY } }]);
  });
  test("is two events for two products, or for a period and its renewal", () => {
    expectDeciding([lineage("A", copy("1")), lineage("B", copy("2", { productIdentifier: "yearly" }))], {
      A: ["1"],
      B: ["2"],
    });
    const renewal = copy("2", { startsAt: NOW + 19 * DAY, endsAt: NOW + 50 * DAY });
    expectDeciding([lineage("A", copy("1")), lineage("B", renewal)], { A: ["1"], B: ["2"] });
  });
});

test.each<[what: string, line: Partial<Line>]>([
  ["a period named by its end", { event: "until 9" }],
  ["a non-consumable", { event: "", nature: "non_consumable", endsAt: null }],
])("%s is one event only within one lineage", (_, line) => {
  expectDeciding([lineage("A", copy("1", line)), lineage("B", copy("2", line))], { A: ["1"], B: ["2"] });
});
test("a non-consumable is one event in two lineages when both have one of its ids", () => {
  const once = { event: "", nature: "non_consumable", endsAt: null } as const;
  expectDeciding(
    [
      lineage("A", copy("1", { ...once, ...signed(1) })),
      lineage("B", copy("1", { ...once, ...signed(2) }), copy("2", { ...once, ...signed(3) })),
    ],
    { A: [], B: ["2*"] },
  );
});
test("a period that an upgrade ended is ended in the lineage where it counts", () => {
  const upgraded = copy("1", { ...signed(2), standing: "expired" });
  const events = countingEvents([lineage("A", copy("1", signed(1))), lineage("B", upgraded)]);
  expect([...events.values()].flat()).toMatchObject([{ line: { endsAt: NOW + 2 } }]);
});
