import {
  decidingCopies,
  eventLines,
  eventsOf,
  eventsUnderOneName,
  lastEnd,
} from "../../lib/entitlements/events.ts";
import type { Line } from "../../lib/entitlements/purchase.ts";
import { aLine, DAY, NOW } from "../../testing/support/purchases.ts";

/** A copy of one purchase, under an id of its own. */
const copy = (transactionIdentifier: string, line: Partial<Line> = {}): Line =>
  aLine({ transactionIdentifier, event: "w", ...line });
const idsOf = (lines: readonly Line[]): (string | null)[] =>
  lines.map(({ transactionIdentifier }) => transactionIdentifier).sort();

describe("copies under one web order are of one period", () => {
  const lasting = (transactionIdentifier: string, [from, to]: readonly [number, number]) =>
    copy(transactionIdentifier, { startsAt: NOW + from * DAY, endsAt: NOW + to * DAY });
  const MILLISECOND = 1 / DAY;
  test.each<[rule: string, periods: (readonly [from: number, to: number])[], events: number]>([
    [
      "where they end together, though one was restored after the end",
      [
        [0, 30],
        [40, 30],
      ],
      1,
    ],
    [
      "where they end together, though one was restored after the end and during the next",
      [
        [0, 30],
        [40, 30],
        [30, 60],
      ],
      2,
    ],
    [
      "not where one was restored at its end, which another includes",
      [
        [30, 30],
        [0, 60],
      ],
      2,
    ],
    [
      "where they start together, however short one is",
      [
        [0, 1],
        [0, 30],
      ],
      1,
    ],
    [
      "where one is within the other, however short",
      [
        [0, 30],
        [10, 11],
      ],
      1,
    ],
    [
      "not where they overlap by 48 h",
      [
        [0, 30],
        [28, 60],
      ],
      2,
    ],
    [
      "where they overlap by a millisecond more",
      [
        [0, 30],
        [28 - MILLISECOND, 60],
      ],
      1,
    ],
    [
      "where a third overlaps both",
      [
        [0, 10],
        [5, 15],
        [11, 20],
      ],
      1,
    ],
  ])("%s", (_, periods, events) => {
    const copies = periods.map((dates, index) => lasting(String(index), dates));
    expect(eventsOf(copies)).toHaveLength(events);
    expect(eventsOf(copies.toReversed())).toHaveLength(events);
  });
});

test("copies of a product that does not renew are one event, whatever their ends", () => {
  const owned = (id: string, startsAt: number, endsAt: number) =>
    copy(id, { nature: "non_consumable", event: "", startsAt, endsAt });
  expect(eventsUnderOneName([owned("1", 1, 2), owned("2", 5, 9)])).toHaveLength(1);
});

test("no copies are no event, and none of them decides", () => {
  expect(eventsUnderOneName([])).toEqual([]);
  expect(decidingCopies([])).toEqual([]);
});

describe("an upgraded period", () => {
  const END = NOW + 300 * DAY;
  const marked = (verifiedAt: number) => copy("1", { endsAt: END, standing: "expired", verifiedAt });
  const restored = (verifiedAt: number, id = "2") => copy(id, { endsAt: END, verifiedAt });
  test("ends where its mark was signed last, whatever lacks the mark, and is signed with it or since", () => {
    for (const verifiedAt of [NOW - 1, NOW, NOW + DAY])
      for (const id of ["0", "2"])
        for (const copies of [
          [marked(NOW), restored(verifiedAt, id)],
          [restored(verifiedAt, id), marked(NOW)],
        ])
          expect(eventLines(copies)).toMatchObject([{ standing: "expired", endsAt: NOW, verifiedAt: NOW }]);
    expect(eventLines([marked(NOW), { ...marked(NOW + 1), transactionIdentifier: "3" }])).toMatchObject([
      { endsAt: NOW + 1 },
    ]);
  });
  test("is none where the same transaction is signed without the mark", () => {
    expect(eventLines([{ ...marked(NOW), standing: "entitled" }, restored(NOW - 1)])).toMatchObject([
      { standing: "entitled", endsAt: END },
    ]);
  });
  test("carries a refund of another copy", () => {
    const refunded = { ...restored(NOW - 1), revokedAt: NOW - 2, refundedBy: NOW - 2, revokedSince: NOW - 1 };
    expect(eventLines([marked(NOW), refunded])).toMatchObject([{ standing: "expired", revokedAt: NOW - 2 }]);
  });
});

test("an event ends with the last end of its copies", () => {
  const event = (...ends: readonly (number | null)[]) => {
    const copies = ends.map((endsAt, index) => copy(String(index), { endsAt }));
    return { copies, line: copies[0] ?? copy("1") };
  };
  expect(lastEnd(event(NOW + 1, NOW + 2, NOW))).toBe(NOW + 2);
  expect(lastEnd(event(NOW, null))).toBe(Infinity);
});

describe("the copy that decides a lifetime", () => {
  const lifetime = (transactionIdentifier: string, line: Partial<Line>) =>
    copy(transactionIdentifier, { event: "", nature: "non_consumable", startsAt: 1, endsAt: null, ...line });
  const decidingOf = (...copies: readonly Line[]) => {
    expect(eventLines(copies.toReversed())).toEqual(eventLines(copies));
    return eventLines(copies).map(({ transactionIdentifier }) => transactionIdentifier);
  };

  test("is the last signed one of all where the last word on a refund is its reversal", () => {
    const reversed = lifetime("100", { revokedSince: 5, verifiedAt: 8 });
    expect(decidingOf(reversed, lifetime("101", { verifiedAt: 9 }))).toEqual(["101"]);
    expect(decidingOf(reversed, lifetime("101", { verifiedAt: 7 }))).toEqual(["100"]);
  });
  test.each([
    ["at the moment of the refund is not one that was bought anew", 10, "100"],
    ["a millisecond after the refund was bought anew", 11, "101"],
  ])("where another was purchased %s", (_, purchasedAt, decides) => {
    const refunded = lifetime("100", { revokedAt: 10, verifiedAt: 20, purchasedAt: 1 });
    expect(decidingOf(refunded, lifetime("101", { purchasedAt, verifiedAt: 30 }))).toEqual([decides]);
  });
  test.each([
    ["in the same answer as the refund was bought anew", 20, "101"],
    ["before the refund was told is not known to be one bought anew", 19, "100"],
  ])("where another that was purchased after the refund was signed %s", (_, verifiedAt, decides) => {
    const refunded = lifetime("100", { revokedAt: 10, revokedSince: 20, verifiedAt: 20, purchasedAt: 1 });
    expect(decidingOf(refunded, lifetime("101", { purchasedAt: 15, verifiedAt }))).toEqual([decides]);
  });
  test("is the one bought anew where that was refunded too and given back, however late the first is signed", () => {
    const anew = { purchasedAt: 30, revokedSince: 41 };
    const first = (verifiedAt: number) =>
      lifetime("100", { purchasedAt: 1, revokedAt: 10, revokedSince: 11, verifiedAt });
    expect(decidingOf(first(11), lifetime("101", { ...anew, revokedAt: 40, verifiedAt: 41 }))).toEqual([
      "101",
    ]);
    for (const verifiedAt of [11, 49, 51, 90])
      expect(decidingOf(first(verifiedAt), lifetime("101", { ...anew, verifiedAt: 50 }))).toEqual(["101"]);
  });
  test("is the last purchase's where each of two was refunded, whichever was signed last", () => {
    const second = lifetime("101", { revokedAt: 40, revokedSince: 45, verifiedAt: 45, purchasedAt: 30 });
    for (const verifiedAt of [20, 50]) {
      const first = lifetime("100", { revokedAt: 10, revokedSince: 20, verifiedAt, purchasedAt: 1 });
      expect(decidingOf(first, second)).toEqual(["101"]);
    }
  });
  test("is the one given back where the one bought anew in between was refunded, whichever was signed last", () => {
    const second = { purchasedAt: 30, revokedAt: 40, refundedBy: 40, revokedSince: 40 };
    for (const revokedAt of [40, 60])
      for (const verifiedAt of [60, 80, 90]) {
        const first = lifetime("100", { purchasedAt: 1, refundedBy: 10, revokedSince: 10, verifiedAt: 80 });
        const anew = lifetime("101", { ...second, revokedAt, refundedBy: revokedAt, verifiedAt });
        expect(decidingOf(first, anew)).toEqual(["100"]);
        expect(eventLines(decidingCopies([first, anew]))).toEqual(eventLines([first, anew]));
      }
  });
  test("is the one bought anew, although its refund is dated differently under another id", () => {
    const copies = [
      lifetime("100", { purchasedAt: 1, revokedAt: 10, revokedSince: 10, verifiedAt: 10 }),
      lifetime("101", { purchasedAt: 1, revokedAt: 11, revokedSince: 40, verifiedAt: 40 }),
      lifetime("102", { purchasedAt: 30, verifiedAt: 30 }),
    ];
    expect(decidingOf(...copies)).toEqual(["102"]);
  });
  test("is not one purchased between two refunds, whichever of them was signed last", () => {
    const first = (verifiedAt: number) =>
      lifetime("100", { revokedAt: 10, revokedSince: 20, verifiedAt, purchasedAt: 1 });
    const second = lifetime("101", { revokedAt: 40, revokedSince: 45, verifiedAt: 45, purchasedAt: 30 });
    const between = lifetime("102", { purchasedAt: 35, verifiedAt: 90 });
    const after = lifetime("103", { purchasedAt: 41, verifiedAt: 45 });
    expect(decidingOf(first(20), second, between)).toEqual(["101"]);
    expect(decidingOf(first(50), second, between)).toEqual(["101"]);
    for (const verifiedAt of [20, 50])
      expect(decidingOf(first(verifiedAt), second, between, after)).toEqual(["103"]);
  });
  test("is one bought anew when one refund was signed under two ids, whichever of them was signed last", () => {
    const refunded = { revokedAt: 10, purchasedAt: 1 };
    const anew = lifetime("102", { purchasedAt: 15, verifiedAt: 30 });
    for (const verifiedAt of [39, 40, 41]) {
      const copies = [
        lifetime("100", { ...refunded, revokedSince: 20, verifiedAt }),
        lifetime("101", { ...refunded, revokedSince: 40, verifiedAt: 40 }),
        anew,
      ];
      expect(decidingOf(...copies)).toEqual(["102"]);
      expect(eventLines(decidingCopies(copies))).toEqual(eventLines(copies));
    }
  });
  test("gives the start; a period begins with the first of its copies", () => {
    const copies = [copy("1", { startsAt: 1, verifiedAt: 5 }), copy("2", { startsAt: 3, verifiedAt: 9 })];
    const startOf = (line: Partial<Line>) =>
      eventLines(copies.map((one) => ({ ...one, ...line }))).map(({ startsAt }) => startsAt);
    expect(startOf({ nature: "non_consumable", endsAt: null })).toEqual([3]);
    expect(startOf({})).toEqual([1]);
  });

  test("is kept with what was said last of each purchase's refund", () => {
    const copies = [
      lifetime("1", { purchasedAt: 1, revokedAt: 10, revokedSince: 10, verifiedAt: 20 }),
      lifetime("2", { purchasedAt: 2, refundedBy: 10, revokedSince: 12, verifiedAt: 50 }),
      lifetime("3", { purchasedAt: 3, verifiedAt: 60 }),
      lifetime("4", { purchasedAt: 30, revokedAt: 40, revokedSince: 40, verifiedAt: 90 }),
    ];
    expect(decidingOf(...copies)).toEqual(["3"]);
    expect(idsOf(decidingCopies(copies))).toEqual(["1", "2", "3", "4"]);
    expect(eventLines(decidingCopies(copies))).toEqual(eventLines(copies));
  });
  test("is kept with one copy of a refund that was signed under several ids, besides the last", () => {
    const copies = [10, 11, 12].map((revokedSince) =>
      lifetime(String(revokedSince), {
        purchasedAt: 1,
        revokedAt: 9,
        revokedSince,
        verifiedAt: revokedSince,
      }),
    );
    for (const order of [copies, copies.toReversed()])
      expect(idsOf(decidingCopies(order))).toEqual(["10", "12"]);
  });

  describe("is kept, with those that decide once more is known:", () => {
    const kept = lifetime("1", { purchasedAt: 1, verifiedAt: 90 });
    const lastPurchased = lifetime("2", { purchasedAt: 60, verifiedAt: 70 });
    const earlier = lifetime("3", { purchasedAt: 55, verifiedAt: 60 });
    const refunded = lifetime("4", { purchasedAt: 2, revokedAt: 95, revokedSince: 80, verifiedAt: 80 });
    const refundedFirst = lifetime("5", { purchasedAt: 70, revokedAt: 96, revokedSince: 75, verifiedAt: 75 });
    const refundedBefore = lifetime("6", { purchasedAt: 3, revokedAt: 50, revokedSince: 51, verifiedAt: 52 });

    test.each<[rule: string, copies: Line[], expected: string[]]>([
      ["without a refund the last signed one alone", [kept, lastPurchased, earlier], ["1"]],
      ["of refunds alone the last signed one and the last one", [refunded, refundedFirst], ["4", "5"]],
      ["of refunds alone the first signed one of each", [refunded, refundedBefore], ["4", "6"]],
      [
        "with a refund also the last signed one of all and the last purchased one without a refund",
        [earlier, kept, lastPurchased, refunded],
        ["1", "2", "4"],
      ],
      [
        "bought anew since, also the last signed refund",
        [refundedBefore, earlier, lastPurchased],
        ["2", "6"],
      ],
      ["of one copy that one", [kept], ["1"]],
    ])("%s", (_, copies, expected) => {
      expect(idsOf(decidingCopies(copies))).toStrictEqual(expected);
      expect(idsOf(decidingCopies(copies.toReversed()))).toStrictEqual(expected);
    });
  });
});
