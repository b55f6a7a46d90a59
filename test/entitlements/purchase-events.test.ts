import { decided, eventsOf, keptCopies, latestCopies } from "../../lib/entitlements/join.ts";
import type { Line } from "../../lib/entitlements/purchase.ts";
import { aLine, NOW } from "../../testing/support/stores/purchases.ts";

/** A copy of one event under an id of its own; times are milliseconds. */
const copy = (transactionIdentifier: string, line: Partial<Line> = {}): Line =>
  aLine({ transactionIdentifier, event: "w", startsAt: 1, purchasedAt: 1, endsAt: 100, ...line });
const owned = (transactionIdentifier: string, purchasedAt: number, line: Partial<Line> = {}): Line =>
  copy(transactionIdentifier, { nature: "non_consumable", purchasedAt, endsAt: null, ...line });

/** Copies by id, signed at a time. */
const signedAs =
  (id: string) =>
  (verifiedAt: number, line: Partial<Line> = {}): Line =>
    copy(id, { verifiedAt, ...line });
const [one, two, three] = [signedAs("1"), signedAs("2"), signedAs("3")];

const decidedOf = ([first, ...others]: readonly Line[]): Line => {
  if (first === undefined) throw new Error("An event has a copy.");
  return decided([first, ...others]);
};
const keptOf = ([first, ...others]: readonly Line[]): readonly Line[] =>
  first === undefined ? [] : keptCopies([first, ...others]);

describe("the copies of one transaction id", () => {
  const revoked = (verifiedAt: number, since: number) =>
    one(verifiedAt, { revokedAt: since, revokedSince: since });
  const back = { verifiedAt: 9, revokedAt: null, revokedSince: 3 };
  test.each<[rule: string, copies: readonly Line[], expected: Partial<Line>]>([
    ["are the later signed one", [one(5, { willRenew: false }), one(6)], { willRenew: null }],
    ["have the earliest revocation, also once taken back", [revoked(7, 4), revoked(5, 3), one(9)], back],
    ["of one moment are the greater text", [one(5, { standing: "paused" }), one(5)], { standing: "paused" }],
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

/** Expects which id decides of an event, in any order of its copies. */
const expectDecided = (copies: readonly Line[], id: string, expected: Partial<Line>): void => {
  for (const order of [copies, copies.toReversed()])
    expect(decidedOf(order)).toMatchObject({ ...expected, transactionIdentifier: id });
};

describe("a period of several copies", () => {
  const refund = { revokedAt: 20, revokedSince: 20 };
  const back = { revokedAt: null, revokedSince: 20 };
  const mark = { standing: "expired" } as const;
  test.each<[rule: string, copies: readonly Line[], id: string, expected: Partial<Line>]>([
    ["is the last signed one, whichever was bought last", [one(9), two(8, { purchasedAt: 5 })], "1", {}],
    [
      "begins with the earliest copy that has a start",
      [three(2, { startsAt: 2 }), two(3, { startsAt: null }), one(9, { startsAt: 3 })],
      "1",
      { startsAt: 2 },
    ],
    ["is refunded under any id, whatever was signed since", [one(21, refund), two(30)], "1", refund],
    [
      "is refunded by the last signed of its refunds",
      [one(25, { revokedAt: 20 }), two(24, { revokedAt: 21 })],
      "1",
      { revokedAt: 20 },
    ],
    [
      "was refunded, once that id is signed without the refund",
      [one(30, { revokedSince: 20 }), two(40)],
      "2",
      back,
    ],
    [
      "is marked under any id, as of the mark's last signing",
      [one(20, mark), two(25, mark), three(30)],
      "3",
      { ...mark, verifiedAt: 25 },
    ],
  ])("%s", (_, copies, id, expected) => expectDecided(copies, id, expected));
});

describe("a one-time purchase of several copies", () => {
  const first = owned("1", 1, { revokedAt: 10, verifiedAt: 20 });
  const anew = (purchasedAt: number, more: Partial<Line> = {}) => owned("2", purchasedAt, more);
  const passes = { nature: "consumable", quantity: 3 } as const;
  const partly = { ...passes, refundedQuantity: 1, revokedSince: 10 };
  const [intact, back] = [{ revokedAt: null }, { revokedSince: 10, verifiedAt: 30 }];
  test.each<[rule: string, copies: readonly Line[], id: string, expected: Partial<Line>]>([
    ["is the last purchased, not the last signed", [owned("1", 1, { verifiedAt: 90 }), anew(5)], "2", intact],
    ["is none without a purchase date", [owned("1", 1), { ...anew(1), purchasedAt: null }], "1", intact],
    ["of one date is the one with the greatest id", [owned("1", 5), anew(5)], "2", intact],
    [
      "is refunded with a copy bought at the refund",
      [first, anew(10, { verifiedAt: 90 })],
      "1",
      { revokedAt: 10 },
    ],
    ["is bought anew a millisecond after its refund", [first, anew(11, { verifiedAt: 15 })], "2", intact],
    [
      "is refunded, where what was bought anew is",
      [first, anew(30, { revokedAt: 40 })],
      "2",
      { revokedAt: 40 },
    ],
    ["is not once the refund was taken back", [owned("1", 1, back), anew(5)], "2", intact],
    ["has the refund of a part of its quantity", [owned("1", 1, partly), anew(5, passes)], "1", intact],
  ])("%s", (_, copies, id, expected) => expectDecided(copies, id, expected));

  test("that may be bought often is not bought anew after a refund", () => {
    const passes = [first, owned("2", 11)].map((one) => ({ ...one, nature: "non_renewing" as const }));
    expect(decidedOf(passes)).toMatchObject({ transactionIdentifier: "1", revokedAt: 10 });
  });

  test("keeps its own start", () => {
    expect(decidedOf([owned("1", 1, { startsAt: 1 }), anew(5, { startsAt: 5 })]).startsAt).toBe(5);
  });
});

const idsOf = (copies: readonly Line[]) =>
  copies.map(({ transactionIdentifier }) => transactionIdentifier).sort();

const eight = ["1", "2", "3", "4", "5", "6", "7", "8"];

test("the copies that are kept of an event are the earliest and the six newest, whatever they say", () => {
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
