import type { Status } from "../../lib/contract/schemas.ts";
import type { Line, Purchase } from "../../lib/entitlements/purchase.ts";
import { timelineOf, spansAt, type Span, type Terms } from "../../lib/entitlements/timeline.ts";
import { purchaseKey } from "../../lib/identifiers.ts";
import { aCatalog, aLine, aProduct, aPurchase, aRenewal, DAY, NOW, period } from "../support/purchases.ts";
import { aPeriod, at, AN_HOUR, A_MILLISECOND, held, HOUR, inDays, marked, refunded } from "./history.ts";

const TERMS: Terms = {
  catalog: aCatalog([
    aProduct(),
    aProduct({ productIdentifier: "yearly" }),
    aProduct({ store: "android-store" }),
    aProduct({ productIdentifier: "pass", accessDuration: period("P1D") }),
    aProduct({ store: "android-store", productIdentifier: "pass", accessDuration: period("P1D") }),
    aProduct({ productIdentifier: "forever" }),
  ]),
  renewalLeeway: HOUR,
};

const timeline = (...purchases: readonly Purchase[]) => timelineOf(held(...purchases), TERMS);

/** Spans as `status from to`, in days from now; null: no end. */
const spansOf = (...purchases: readonly Purchase[]) =>
  timeline(...purchases).map(({ status, from, to, isAssumed }) =>
    [status, inDays(from), inDays(to), ...(isAssumed ? ["assumed"] : [])].join(" "),
  );

const A_MINUTE = 1 / 24 / 60;
const statusesAt = (days: number, ...purchases: readonly Purchase[]): readonly Status[] =>
  spansAt(at(days), timeline(...purchases)).map(({ status }) => status);

const month = aPeriod("2", "monthly", -10, 20);
const said = (renewal: Parameters<typeof aRenewal>[0], ...lines: readonly Line[]): Purchase =>
  aPurchase({
    lines: lines.length === 0 ? [month] : lines,
    renewal: aRenewal({ periodEndsAt: at(20), ...renewal }),
  });

test("a line that the catalog maps has one span at each moment from a minute before its start", () => {
  const purchase = aPurchase({ lines: [month] });
  expect(statusesAt(-10 - A_MINUTE - A_MILLISECOND, purchase)).toEqual([]);
  expect(statusesAt(-10 - A_MINUTE, purchase)).toEqual(["active"]);
  expect(statusesAt(20 - A_MILLISECOND, purchase)).toEqual(["active"]);
  expect(statusesAt(20, purchase)).toEqual(["expired"]);
  expect(statusesAt(20_000, purchase)).toEqual(["expired"]);
  expect(timeline(aPurchase({ lines: [aLine({ productIdentifier: "unmapped" })] }))).toEqual([]);
});

describe("after the end of an App Store period", () => {
  const ended = 20;
  test.each<[rule: string, renewal: Parameters<typeof aRenewal>[0], ...expected: string[]]>([
    ["silence of a subscription that renews is leeway", { signedAt: at(0) }, "active 20 L assumed"],
    ["silence of one that does not is none", { willRenew: false, signedAt: at(0) }],
    ["a word that it will renew is leeway", { signedAt: at(20) }, "active 20 L assumed"],
    ["a reason to expire is none", { signedAt: at(20), expirationIntent: 1 }],
    [
      "a grace period runs to its end, then the retries for 60 days",
      { signedAt: at(20), graceEndsAt: at(26), isInBillingRetry: true },
      "grace_period 20 26",
      "billing_retry 26 80",
    ],
    [
      "a grace date not after the end is none",
      { signedAt: at(20), graceEndsAt: at(20), isInBillingRetry: true },
      "billing_retry 20 80",
    ],
    [
      "a status alone gives 28 days of grace",
      { signedAt: at(20), status: { isInGrace: true, periodEndsAt: at(20), signedAt: at(20) } },
      "grace_period 20 48",
    ],
    [
      "a status of another period gives none",
      { signedAt: at(20), status: { isInGrace: true, periodEndsAt: at(-10), signedAt: at(-10) } },
      "active 20 L assumed",
    ],
    [
      "a later renewal date is a renewal whose transaction has not come",
      { periodEndsAt: at(50), willRenew: false, signedAt: at(20) },
      "active 20 L assumed",
    ],
    [
      "a later date while the payment fails is the next attempt",
      { periodEndsAt: at(23), isInBillingRetry: true, signedAt: at(20) },
      "billing_retry 20 80",
    ],
  ])("%s", (_, renewal, ...expected) => {
    const [running, ...after] = spansOf(said(renewal));
    const leeway = ended + AN_HOUR;
    const last = after.pop();
    expect(after).toEqual(expected.map((text) => text.replace(" L", ` ${leeway}`)));
    const end = [...expected, `- ${ended} ${ended}`].map((text) => text.replace(" L", ` ${leeway}`));
    expect(last).toBe(`expired ${end.at(expected.length === 0 ? 0 : -2)?.split(" ")[2]} `);
    expect(running).toBe(`active ${-10 - A_MINUTE} 20`);
  });

  test("the shown end is the grace period's, from the start on", () => {
    const [first] = timeline(said({ graceEndsAt: at(26), isInBillingRetry: true, signedAt: at(20) }));
    expect(first).toMatchObject({ status: "active", expiresAt: at(26), willRenew: true });
  });

  test("the next period ends grace, retry and leeway", () => {
    const next = aPeriod("3", "monthly", 22, 52);
    const renewal = { signedAt: at(20), graceEndsAt: at(26), isInBillingRetry: true };
    expect(statusesAt(21, said(renewal, month, next))).toEqual(["expired"]);
    expect(statusesAt(22, said(renewal, month, next))).toEqual(["expired", "active"]);
  });
});

describe("a period that something ends early", () => {
  test("by the next one is expired from there", () => {
    const year = aPeriod("3", "yearly", -5, 360);
    const [cut] = timeline(aPurchase({ lines: [month, year] }));
    expect(cut).toMatchObject({ status: "active", to: at(-5), expiresAt: at(-5), willRenew: null });
  });
  test("by the mark of an upgrade is expired from its signing", () => {
    expect(statusesAt(-3, aPurchase({ lines: [{ ...month, ...marked(-2) }] }))).toEqual(["active"]);
    expect(statusesAt(-2, aPurchase({ lines: [{ ...month, ...marked(-2) }] }))).toEqual(["expired"]);
  });
  test("by another lineage is expired, if it began strictly before", () => {
    const replaced = { replacedBy: purchaseKey("9"), replacedAt: at(-5) };
    expect(statusesAt(0, aPurchase({ lines: [month], ...replaced }))).toEqual(["expired"]);
    const same = aPeriod("2", "monthly", -5, 20);
    expect(statusesAt(0, aPurchase({ lines: [same], ...replaced }))).toEqual(["active"]);
  });
  test("by a refund is revoked from its date, whatever else is said", () => {
    const purchase = said(
      { graceEndsAt: at(26), isInBillingRetry: true, signedAt: at(20) },
      { ...month, ...refunded(-1) },
    );
    expect(statusesAt(-1 - A_MILLISECOND, purchase)).toEqual(["active"]);
    expect(statusesAt(-1, purchase)).toEqual(["revoked"]);
    expect(statusesAt(21, purchase)).toEqual(["revoked"]);
    expect(timeline(purchase).at(-1)).toMatchObject({ expiresAt: at(-1) });
  });
});

describe("a renewal that is charged ahead", () => {
  const next = aPeriod("3", "monthly", 20, 50, { verifiedAt: at(19.5) });
  test("tells that the running period renews, until its end", () => {
    const [running] = timeline(aPurchase({ lines: [month, next] }));
    expect(running).toMatchObject({ to: at(20), willRenew: true });
  });
  test("counts from its signing where nothing before is known, without a start until then", () => {
    const spans = timeline(aPurchase({ lines: [next] }));
    expect(spans.map(({ from, startsAt, isAssumed }) => [from, startsAt, isAssumed])).toEqual([
      [at(19.5) - 60_000, null, true],
      [at(20), at(20), false],
      [at(50), at(20), false],
    ]);
  });
});

test("a period known only from a copy restored after its end has no start", () => {
  const restored = aPeriod("3", "monthly", 25, 20);
  expect(spansAt(at(30), timeline(aPurchase({ lines: [restored] })))).toMatchObject([
    { status: "expired", startsAt: null, expiresAt: at(20) },
  ]);
});

describe("Google's line", () => {
  const google = (line: Partial<Line>, purchase: Partial<Purchase> = {}): Purchase => ({
    ...aPurchase({
      lines: [
        aLine({ transactionIdentifier: null, startsAt: at(-10), endsAt: at(20), verifiedAt: at(0), ...line }),
      ],
    }),
    store: "android-store",
    ...purchase,
  });
  const begins = -10 - A_MINUTE;
  test.each<[rule: string, line: Partial<Line>, expected: string[]]>([
    [
      "that renews has the leeway while Google is silent",
      { willRenew: true },
      [`active ${begins} 20`, `active 20 ${20 + AN_HOUR} assumed`, `expired ${20 + AN_HOUR} `],
    ],
    [
      "called active after its end stays so for 48 hours",
      { willRenew: true, verifiedAt: at(20) },
      [`active ${begins} 20`, "active 20 22 assumed", "expired 22 "],
    ],
    ["that was cancelled ends at its end", { willRenew: false }, [`active ${begins} 20`, "expired 20 "]],
    [
      "in its grace period is so until the end that Google names",
      { standing: "grace_period", willRenew: true },
      [`grace_period ${begins} 20`, `grace_period 20 ${20 + AN_HOUR} assumed`, `expired ${20 + AN_HOUR} `],
    ],
    ["on hold has no access", { standing: "billing_retry" }, [`active ${begins} 0`, "billing_retry 0 "]],
    ["that is paused has no access", { standing: "paused" }, [`active ${begins} 0`, "paused 0 "]],
    [
      "that is over is so from its end",
      { standing: "expired", endsAt: at(-1) },
      [`active ${begins} -1`, "expired -1 "],
    ],
    ["without a start has always been", { startsAt: null, willRenew: false }, ["active  20", "expired 20 "]],
  ])("%s", (_, line, expected) => {
    expect(spansOf(google(line))).toEqual(expected);
  });
  test("of a replaced purchase has no span", () => {
    expect(timeline(google({}, { replacedBy: purchaseKey("9") }))).toEqual([]);
  });
});

describe("a one-time purchase", () => {
  const once = (key: string, line: Partial<Line>): Purchase =>
    aPurchase({
      key,
      lines: [
        aLine({
          transactionIdentifier: key,
          productIdentifier: "pass",
          nature: "non_renewing",
          startsAt: at(0),
          endsAt: null,
          ...line,
        }),
      ],
    });
  const givenBy = (...purchases: readonly Purchase[]) =>
    timeline(...purchases)
      .filter(({ status }) => status === "active")
      .map(({ line, to }: Span) => `${line.transactionIdentifier} ${inDays(to)}`);

  test("lasts for ever, or until its refund", () => {
    const forever = { productIdentifier: "forever", nature: "non_consumable" } as const;
    expect(givenBy(once("1", forever))).toEqual(["1 null"]);
    expect(givenBy(once("1", { ...forever, ...refunded(3) }))).toEqual(["1 3"]);
  });
  test.each<[rule: string, passes: readonly Partial<Line>[], expected: readonly string[]]>([
    ["lasts for each of its units", [{ quantity: 3 }], ["1 3"]],
    ["lasts for its units that are not refunded", [{ quantity: 3, refundedQuantity: 1 }], ["1 2"]],
    ["follows the pass before it", [{}, { startsAt: at(0.5) }], ["1 1", "2 2"]],
    ["begins at its purchase after a gap", [{}, { startsAt: at(3) }], ["1 1", "2 4"]],
    [
      "follows a refunded one from its refund on",
      [refunded(0.5), { startsAt: at(0.25) }],
      ["1 0.5", "2 1.5"],
    ],
    [
      "keeps the time that refunded units had used",
      [{ quantity: 3, refundedQuantity: 2, revokedSince: at(2) }, { startsAt: at(0.5) }],
      ["1 1", "2 3"],
    ],
    [
      "keeps its time where the one before was refunded after it was used up",
      [{ ...refunded(5) }, { startsAt: at(0.5) }],
      ["1 1", "2 2"],
    ],
  ])("with a duration %s", (_, passes, expected) => {
    const bought = passes.map((line, index) => once(String(index + 1), line));
    expect(givenBy(...bought.toReversed())).toEqual(expected);
  });
  test("of Google without a refund's date takes up time until it was seen", () => {
    const refundedAt = (seen: number): Partial<Line> => ({ standing: "revoked", revokedSince: at(seen) });
    const google = (key: string, line: Partial<Line>): Purchase => ({
      ...once(key, { nature: "consumable", ...line }),
      store: "android-store",
    });
    const second = google("2", { startsAt: at(0.25) });
    expect(givenBy(google("1", refundedAt(0.5)), second)).toEqual(["2 1.5"]);
  });
  test("of a rental runs by itself, and not without a duration", () => {
    const rental = { nature: "consumable", rented: true } as const;
    expect(givenBy(once("1", {}), once("2", { ...rental, startsAt: at(0.5) }))).toEqual(["1 1", "2 1.5"]);
    expect(givenBy(once("2", { ...rental, productIdentifier: "forever" }))).toEqual([]);
  });
});

test("times are whole numbers of milliseconds, or infinite", () => {
  const spans = timeline(said({ signedAt: NOW + DAY }));
  expect(
    spans
      .flatMap(({ from, to }) => [from, to])
      .filter(Number.isFinite)
      .every(Number.isInteger),
  ).toBe(true);
});
