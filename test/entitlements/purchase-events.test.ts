import { decided, eventsOf, keptCopies, latestCopies } from "../../lib/entitlements/purchase-events.ts";
import type { Line } from "../../lib/entitlements/purchase.ts";
import { aLine, NOW } from "../../testing/support/stores/purchases.ts";

/** A copy of one event under an id of its own; times are milliseconds. */
const copy = (transactionIdentifier: string, line: Partial<Line> = {}): Line =>
  aLine({ transactionIdentifier, event: "w", startsAt: 1, purchasedAt: 1, endsAt: 100, ...line });
const owned = (transactionIdentifier: string, purchasedAt: number, line: Partial<Line> = {}): Line =>
  copy(transactionIdentifier, { nature: "non_consumable", purchasedAt, endsAt: null, ...line });

const decidedOf = ([first, ...others]: readonly Line[]): Line => {
  if (first === undefined) throw new Error("An event has a copy.");
  return decided([first, ...others]);
};
const keptOf = ([first, ...others]: readonly Line[]): readonly Line[] =>
  first === undefined ? [] : keptCopies([first, ...others]);

describe("the copies of one transaction id", () => {
  const revoked = (verifiedAt: number, since: number) =>
    copy("1", { verifiedAt, revokedAt: since, revokedSince: since });
  test.each<[rule: string, copies: readonly Line[], expected: Partial<Line>]>([
    [
      "are the later signed one",
      [copy("1", { verifiedAt: 5, willRenew: false }), copy("1", { verifiedAt: 6 })],
      { willRenew: null },
    ],
    [
      "have the earliest revocation, also once it was taken back",
      [revoked(7, 4), revoked(5, 3), copy("1", { verifiedAt: 9 })],
      { verifiedAt: 9, revokedAt: null, revokedSince: 3 },
    ],
    [
      "of one moment are the greater text",
      [copy("1", { standing: "paused" }), copy("1")],
      { standing: "paused" },
    ],
  ])("%s", (_, copies, expected) => {
    expect(latestCopies(copies, "production")).toMatchObject([expected]);
    expect(latestCopies(copies.toReversed(), "production")).toMatchObject([expected]);
  });

  test.each([
    ["production", 1],
    ["xcode", 2],
  ] as const)("of two events in %s are %d lines", (environment, count) => {
    const both = [copy("0", { event: "w1" }), copy("0", { event: "w2" })];
    expect(latestCopies(both, environment)).toHaveLength(count);
  });
});

test("an event is what has one product and one event name", () => {
  const copies = [
    copy("1"),
    copy("2", { event: "w2" }),
    copy("3", { productIdentifier: "other" }),
    copy("4"),
  ];
  const ids = eventsOf(copies).map((event) => event.map((one) => one.transactionIdentifier));
  expect(ids).toEqual([["1", "4"], ["2"], ["3"]]);
});

describe("a period of several copies", () => {
  const refund = { revokedAt: 20, revokedSince: 20 };
  test.each<[rule: string, copies: readonly Line[], expected: Partial<Line>]>([
    [
      "is the last signed one, whichever was bought last",
      [copy("1", { verifiedAt: 9 }), copy("2", { purchasedAt: 5, verifiedAt: 8 })],
      { transactionIdentifier: "1" },
    ],
    [
      "begins with the earliest copy that has a start",
      [copy("1", { startsAt: 3, verifiedAt: 9 }), copy("2", { startsAt: null }), copy("3", { startsAt: 2 })],
      { startsAt: 2 },
    ],
    [
      "is refunded under any id, whatever was signed since",
      [copy("1", { ...refund, verifiedAt: 21 }), copy("2", { verifiedAt: 30 })],
      { transactionIdentifier: "1", ...refund },
    ],
    [
      "is refunded by the last signed of its refunds",
      [copy("1", { revokedAt: 20, verifiedAt: 25 }), copy("2", { revokedAt: 21, verifiedAt: 24 })],
      { transactionIdentifier: "1", revokedAt: 20 },
    ],
    [
      "was refunded, once that id is signed without the refund",
      [copy("1", { revokedSince: 20, verifiedAt: 30 }), copy("2", { verifiedAt: 40 })],
      { transactionIdentifier: "2", revokedAt: null, revokedSince: 20 },
    ],
    [
      "is marked under any id, as of the mark's last signing",
      [
        copy("1", { standing: "expired", verifiedAt: 20 }),
        copy("2", { standing: "expired", verifiedAt: 25 }),
        copy("3", { verifiedAt: 30 }),
      ],
      { transactionIdentifier: "3", standing: "expired", verifiedAt: 25 },
    ],
  ])("%s", (_, copies, expected) => {
    expect(decidedOf(copies)).toMatchObject(expected);
    expect(decidedOf(copies.toReversed())).toMatchObject(expected);
  });
});

describe("a one-time purchase of several copies", () => {
  const first = owned("1", 1, { revokedAt: 10, verifiedAt: 20 });
  const anew = (purchasedAt: number, more: Partial<Line> = {}) => owned("2", purchasedAt, more);
  const passes = { nature: "consumable", quantity: 3 } as const;
  test.each<[rule: string, copies: readonly Line[], decides: string, isRefunded: boolean]>([
    ["is the last purchased, not the last signed", [owned("1", 1, { verifiedAt: 90 }), anew(5)], "2", false],
    ["is none without a purchase date", [owned("1", 1), { ...anew(1), purchasedAt: null }], "1", false],
    ["of one date is the one with the greatest id", [owned("1", 5), anew(5)], "2", false],
    ["is refunded with a copy bought at the refund", [first, anew(10, { verifiedAt: 90 })], "1", true],
    ["is bought anew a millisecond after its refund", [first, anew(11, { verifiedAt: 15 })], "2", false],
    [
      "is refunded, where what was bought anew is",
      [first, anew(30, { revokedAt: 40, verifiedAt: 45 })],
      "2",
      true,
    ],
    [
      "is not once the refund was taken back",
      [owned("1", 1, { revokedSince: 10, verifiedAt: 30 }), anew(5)],
      "2",
      false,
    ],
    [
      "has the refund of a part of its quantity",
      [owned("1", 1, { ...passes, refundedQuantity: 1, revokedSince: 10 }), anew(5, passes)],
      "1",
      false,
    ],
  ])("%s", (_, copies, decides, isRefunded) => {
    for (const order of [copies, copies.toReversed()]) {
      const line = decidedOf(order);
      expect([line.transactionIdentifier, line.revokedAt !== null]).toEqual([decides, isRefunded]);
    }
  });

  test("that may be bought often is not bought anew after a refund", () => {
    const passes = [first, owned("2", 11)].map((one) => ({ ...one, nature: "non_renewing" as const }));
    expect(decidedOf(passes)).toMatchObject({ transactionIdentifier: "1", revokedAt: 10 });
  });

  test("keeps its own start", () => {
    expect(decidedOf([owned("1", 1, { startsAt: 1 }), anew(5, { startsAt: 5 })]).startsAt).toBe(5);
  });
});

describe("the copies that are kept of an event", () => {
  const idsOf = (copies: readonly Line[]) => copies.map((one) => one.transactionIdentifier).sort();

  const eight = ["1", "2", "3", "4", "5", "6", "7", "8"];

  test("are the earliest and the six newest, whatever they say", () => {
    for (const make of [copy, (id: string, line: Partial<Line>) => owned(id, Number(id), line)]) {
      const copies = eight.map((id) =>
        make(id, {
          purchasedAt: Number(id),
          verifiedAt: NOW - Number(id),
          ...(id === "2" && { revokedAt: 9 }),
        }),
      );
      for (const given of [copies, copies.toReversed()])
        expect(idsOf(keptOf(given))).toEqual(["1", "3", "4", "5", "6", "7", "8"]);
      expect(idsOf(keptOf(copies.slice(1)))).toEqual(eight.slice(1));
    }
  });
});
