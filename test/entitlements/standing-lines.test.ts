import { momentAt } from "../../lib/entitlements/moment.ts";
import type { Line, Purchase } from "../../lib/entitlements/purchase.ts";
import { standingAt, type StandingLine } from "../../lib/entitlements/standing-lines.ts";
import { customerId, purchaseKey } from "../../lib/identifiers.ts";
import { aLine, aPurchase, aRenewal, DAY, NOW } from "../../testing/support/purchases.ts";

const HOUR = 3_600_000;
const MINUTE = 60_000;
const CHARGED_AHEAD = 48 * HOUR;
const SOMEBODY = customerId("00000000-0000-7000-8000-000000000001");

const period = (id: string, productIdentifier: string, startsAt: number, endsAt: number, more = {}): Line =>
  aLine({
    transactionIdentifier: id,
    event: `w${id}`,
    productIdentifier,
    startsAt,
    purchasedAt: startsAt,
    endsAt,
    verifiedAt: startsAt,
    ...more,
  });

const standing = (purchase: Purchase, moment = NOW): readonly StandingLine[] => {
  const granting = {
    holding: { customerIdentifier: SOMEBODY, assertedBy: null, purchase },
    lines: purchase.lines,
  };
  return standingAt(momentAt(moment), [granting])(granting);
};
const lineOf = (lines: readonly StandingLine[], id: string): StandingLine | undefined =>
  lines.find(({ line }) => line.transactionIdentifier === id);

describe("a period that another product follows", () => {
  const END = NOW + 20 * DAY;
  const first = (more = {}) => period("1", "basic", NOW - 10 * DAY, END, more);
  const next = (more = {}) =>
    period("2", "plus", NOW - 5 * DAY, NOW + 360 * DAY, { verifiedAt: NOW - 5 * DAY, ...more });
  const endOfFirst = (...lines: readonly Line[]) => lineOf(standing(aPurchase({ lines })), "1")?.line.endsAt;

  test("is ended while its refund stands, and not once that was reversed", () => {
    const refund = NOW - 6 * DAY;
    const refunded = {
      revokedAt: refund,
      revokedSince: refund,
      refundedBy: refund,
      verifiedAt: NOW - 4 * DAY,
    };
    expect(endOfFirst(first(refunded), next())).toBe(NOW - 5 * DAY);
    expect(endOfFirst(first({ ...refunded, revokedAt: null }), next())).toBe(END);
  });

  describe("and that the renewal info names as the most recent purchase", () => {
    const START = END - 12 * HOUR;
    const named = aRenewal({ periodEndsAt: END, signedAt: START - HOUR });
    const end = (line: Line, other: Line, renewal = named) =>
      lineOf(standing(aPurchase({ lines: [line, other], renewal })), "1")?.line.endsAt;
    // An upgrade that starts more than 48 hours before the end takes the place of what nothing names.
    const early = END - 72 * HOUR;
    const taken = (more = {}) => period("2", "plus", early, NOW + 360 * DAY, more);

    test("goes on, if that was signed at the other's charge or later", () => {
      expect(end(first(), taken(), { ...named, signedAt: early })).toBe(END);
      expect(end(first(), taken(), { ...named, signedAt: early - 1 })).toBe(early);
      expect(end(first(), taken({ verifiedAt: early - HOUR }), { ...named, signedAt: early - HOUR })).toBe(
        END,
      );
    });
    test("is ended where the store marks it as upgraded", () => {
      expect(end(first({ standing: "expired", verifiedAt: END }), taken())).toBe(early);
    });
    test("is over where the other begins at its end: a payment recovered late, into another product, as was to be renewed", () => {
      const failing = aRenewal({
        periodEndsAt: END,
        willRenew: true,
        renewsInto: "plus",
        isInBillingRetry: true,
        graceEndsAt: END + 16 * DAY,
        signedAt: END + MINUTE,
      });
      const recovered = (startsAt: number) =>
        period("2", "plus", startsAt, END + 30 * DAY, { verifiedAt: END + 3 * DAY });
      const speaks = (other: Line) =>
        lineOf(standing(aPurchase({ lines: [first(), other], renewal: failing }), END + 10 * DAY), "1")
          ?.renewal;
      expect(speaks(recovered(END))).toBeNull();
      expect(speaks(recovered(END + 3 * DAY))).toBeNull();
      // It was overtaken before it began, by one that the store names since.
      expect(speaks(recovered(END - 1))).toBe(failing);
    });
    test("is ended where the other is of its own product", () => {
      expect(end(first(), taken({ productIdentifier: "basic" }))).toBe(early);
    });
  });
});

describe("access from the charge on, of a renewal that was charged ahead of time,", () => {
  const START = NOW + HOUR;
  const CHARGED = START - 20 * HOUR;
  const renewal = (more = {}) =>
    period("12", "basic", START, START + 30 * DAY, { verifiedAt: CHARGED, ...more });
  const before = (more = {}) => period("11", "basic", START - 30 * DAY, START, more);
  const begins = (lines: readonly Line[], more = {}) =>
    lineOf(standing(aPurchase({ key: "1", lines, ...more })), "12")?.begins;

  test("is given where the running period is not known", () => {
    expect(begins([renewal()])).toBe(CHARGED);
  });
  test.each<[what: string, more: Partial<Line>]>([
    ["is a pass", { nature: "non_renewing" }],
    ["is marked as upgraded", { standing: "expired" }],
    ["is refunded", { revokedAt: START, revokedSince: START, refundedBy: START }],
    ["was signed at its start", { verifiedAt: START }],
    ["was charged more than 48 hours ahead", { verifiedAt: START - CHARGED_AHEAD - 1 }],
  ])("is not given where it %s", (_, more) => {
    expect(begins([renewal(more)])).toBeUndefined();
  });
  test("is given up to 48 hours ahead", () => {
    expect(begins([renewal({ verifiedAt: START - CHARGED_AHEAD })])).toBe(START - CHARGED_AHEAD);
  });
  test("is not given where a known period ends within a minute of its start", () => {
    expect(begins([before({ endsAt: START - MINUTE }), renewal()])).toBeUndefined();
    expect(begins([before({ endsAt: START - MINUTE - 1 }), renewal()])).toBe(CHARGED);
  });
  const refundedAt = (time: number, more = {}) =>
    before({ revokedAt: time, revokedSince: time, refundedBy: time, verifiedAt: time, ...more });
  test("is given where a longer plan was refunded more than 48 hours before the charge", () => {
    const longer = { productIdentifier: "plus", endsAt: START + 300 * DAY };
    expect(begins([refundedAt(CHARGED - CHARGED_AHEAD - 1, longer), renewal()])).toBe(CHARGED);
    expect(begins([refundedAt(CHARGED - CHARGED_AHEAD, longer), renewal()])).toBeUndefined();
  });
  test("is not given where the period that ends at its start, by a minute at most, was refunded, however long before", () => {
    const refunded = (endsAt: number, more = {}) =>
      begins([refundedAt(CHARGED - 5 * DAY, { endsAt, ...more }), renewal()]);
    for (const endsAt of [START - MINUTE, START, START + MINUTE]) expect(refunded(endsAt)).toBeUndefined();
    for (const endsAt of [START - MINUTE - 1, START + MINUTE + 1]) expect(refunded(endsAt)).toBe(CHARGED);
    expect(refunded(START, { nature: "non_renewing" })).toBe(CHARGED);
  });
  test("is given where that period was upgraded before it was refunded", () => {
    const upgraded = refundedAt(CHARGED - 5 * DAY, { standing: "expired" });
    const plus = period("10", "plus", START - 20 * DAY, START - 9 * DAY);
    expect(begins([upgraded, plus, renewal()])).toBe(CHARGED);
  });
  test("is given where no other lineage replaced this one, or one did more than 48 hours before the charge", () => {
    const replaced = (replacedAt: number) => ({ replacedBy: purchaseKey("9"), replacedAt });
    expect(begins([renewal()], replaced(CHARGED - CHARGED_AHEAD - 1))).toBe(CHARGED);
    expect(begins([renewal()], replaced(CHARGED - CHARGED_AHEAD))).toBeUndefined();
  });
});

describe("a running period whose renewal is known", () => {
  const END = NOW + HOUR;
  const running = (more = {}) => period("1", "basic", END - 30 * DAY, END, more);
  const renewal = (more = {}) =>
    period("2", "basic", END, END + 30 * DAY, { verifiedAt: END - 20 * HOUR, ...more });
  const first = (lines: readonly Line[], moment = NOW) =>
    lineOf(standing(aPurchase({ lines }), moment), "1")?.line;

  test("will renew, as of the renewal's charge, until its end", () => {
    expect(first([running(), renewal()])).toEqual({
      ...running(),
      willRenew: true,
      verifiedAt: END - 20 * HOUR,
    });
    expect(first([running(), renewal()], END - 1)?.willRenew).toBe(true);
    expect(first([running(), renewal()], END)).toEqual(running());
  });
  test.each<[what: string, line: Line, next: Line]>([
    ["a pass, whatever starts at its end", running({ nature: "non_renewing" }), renewal()],
    [
      "where the next one is marked as upgraded",
      running(),
      renewal({ standing: "expired", verifiedAt: END + DAY }),
    ],
    ["where the next one was refunded", running(), renewal({ revokedAt: END + 1, revokedSince: NOW })],
    ["where the next one starts later", running(), renewal({ startsAt: END + 1 })],
    ["where the next one has no length", running(), renewal({ endsAt: END })],
  ])("is not said to renew: %s", (_, line, next) => {
    expect(first([line, next])?.willRenew).toBeNull();
  });
});
