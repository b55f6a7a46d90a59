import { STATUSES } from "../../../lib/contract/schemas.ts";
import type { Line, Purchase } from "../../../lib/entitlements/purchase.ts";
import type { Renewal } from "../../../lib/entitlements/renewal.ts";
import { givesAccess, spansAt, timelineOf } from "../../../lib/entitlements/timeline.ts";
import { purchaseKey } from "../../../lib/identifiers.ts";
import { aPurchase, aRenewal } from "../../../testing/support/stores/purchases.ts";
import { A_MILLISECOND, aPeriod, at, givenBack, held, marked, MINUTE, refunded, signed } from "../history.ts";
import { CATALOG, expectPicture, inTime, pictureOf, timeline, type Picture } from "./pictures.ts";

const monthly = aPeriod("1", "basic", -30, 0);
const lineage = (lines: readonly Line[], renewal: Renewal | null = null, more: Partial<Purchase> = {}) =>
  aPurchase({ lines, renewal, ...more, key: "1" });
const renewing = (more: Partial<Renewal> = {}): Renewal =>
  aRenewal({ periodEndsAt: at(0), signedAt: at(-30), ...more });

describe("after the end of an App Store period", () => {
  const SINCE = { signedAt: at(0) };
  const FAILED = { ...SINCE, isInBillingRetry: true };

  test.each<[rule: string, renewal: Partial<Renewal> | null, after: Picture]>([
    ["it is over where nothing is known of its renewal", null, "expired"],
    ["the leeway runs where it was to be renewed", {}, "active? 1h expired"],
    [
      "it runs whatever reason the store gave before",
      { expirationIntent: 2, isInBillingRetry: true, signedAt: at(0) - 1 },
      "active? 1h billing_retry 60 expired",
    ],
    ["it runs where the store only says since that it will renew", SINCE, "active? 1h expired"],
    ["not where the store gives a reason to expire", { ...SINCE, expirationIntent: 2 }, "expired"],
    ["not where it was not to be renewed", { willRenew: false }, "expired"],
    [
      "it runs where a later end is named, without its transaction",
      { ...SINCE, periodEndsAt: at(30), willRenew: false },
      "active? 1h expired",
    ],
    ["not where that is the next attempt", { ...FAILED, periodEndsAt: at(1) }, "billing_retry 60 expired"],
    ["a failed payment is retried for 60 days", FAILED, "billing_retry 60 expired"],
    ["a grace period runs to its end", { ...SINCE, graceEndsAt: at(16) }, "grace_period 16 expired"],
    [
      "retries follow the grace period, 60 days from the end",
      { ...FAILED, graceEndsAt: at(16) },
      "grace_period 16 billing_retry 60 expired",
    ],
    ["the leeway follows a short one", { graceEndsAt: at(0) + MINUTE }, "grace_period 1m active? 1h expired"],
  ])("%s", (_, renewal, after) => {
    expectPicture(lineage([monthly], renewal && renewing(renewal)), `-30 active 0 ${after}`);
  });

  test("an application without a leeway has none", () => {
    const spans = timelineOf(held(lineage([monthly], renewing())), { catalog: CATALOG, renewalLeeway: 0 });
    expect(pictureOf(spans)).toEqual(inTime("-30 active 0 expired"));
  });
});

describe("an App Store period", () => {
  const SINCE = renewing({ signedAt: at(0), isInBillingRetry: true, graceEndsAt: at(16) });
  const ENDLESS = renewing({ periodEndsAt: null, isInBillingRetry: true });
  const replacedAt = (days: number) => ({ replacedBy: purchaseKey("9"), replacedAt: at(days) });

  test.each<[rule: string, line: Partial<Line>, Renewal | null, by: Partial<Purchase>, after: Picture]>([
    ["is cut by its mark", marked(-10), null, {}, "active -10 expired"],
    ["is cut by another lineage, without grace then", {}, SINCE, replacedAt(-1), "active -1 expired"],
    ["has its grace until another begins", {}, SINCE, replacedAt(5), "active 0 grace_period 5 expired"],
    ["is revoked by its refund", refunded(-10), SINCE, {}, "active -10 revoked"],
    ["is revoked in its grace period", refunded(5), SINCE, {}, "active 0 grace_period 5 revoked"],
    ["is revoked after its end", refunded(5), null, {}, "active 0 expired 5 revoked"],
    ["goes on once its refund was taken back", givenBack(-20, -10), null, {}, "active 0 expired"],
    ["without an end goes on", { endsAt: null }, ENDLESS, {}, "active"],
  ])("%s", (_, line, renewal, by, after) => {
    expectPicture(lineage([{ ...monthly, ...line }], renewal, by), `-30 ${after}`);
  });

  test("that was charged ahead is assumed to run until its start", () => {
    const charged = aPeriod("2", "basic", 0, 30, signed(-0.5));
    const spans = timeline(aPurchase({ key: "1", lines: [charged] }));
    expect(pictureOf(spans)).toEqual(inTime("-0.5 active? 0 active 30 expired"));
    expect(spans.map(({ startsAt }) => startsAt)).toEqual([null, at(0), at(0)]);
  });
  test.each<[what: string, line: Line, renewal: Renewal | null, expiresAt: number]>([
    ["its own end", monthly, null, 0],
    ["the end of its grace period", monthly, SINCE, 16],
    ["not the end of the leeway", monthly, renewing(), 0],
    ["where it was cut", { ...monthly, ...marked(-10) }, null, -10],
    ["Infinity where it has no end", { ...monthly, endsAt: null }, null, Infinity],
  ])("ends for a person at %s", (_, line, renewal, expiresAt) => {
    const ends = new Set(timeline(lineage([line], renewal)).map((span) => span.expiresAt));
    expect([...ends]).toEqual([at(expiresAt)]);
  });

  test("shows no start that is later than its end", () => {
    expectPicture(lineage([aPeriod("1", "basic", 5, 0)]), "0 active 0 expired");
    expect(timeline(lineage([aPeriod("1", "basic", A_MILLISECOND, 0)])).at(-1)?.startsAt).toBeNull();
    expect(timeline(lineage([aPeriod("1", "basic", 0, 0)])).at(-1)?.startsAt).toBe(at(0));
  });
  test("was verified when it was signed last, or its renewal info", () => {
    const verified = (renewal: Renewal | null) => timeline(lineage([monthly], renewal)).at(-1)?.verifiedAt;
    expect(verified(null)).toBe(at(-30));
    expect(verified(renewing({ signedAt: at(-1) }))).toBe(at(-1));
    expect(verified(renewing({ signedAt: at(-31) }))).toBe(at(-30));
  });

  test("renews as its renewal info says, or its known renewal", () => {
    const willRenew = (lines: readonly Line[], renewal: Renewal | null) =>
      timeline(lineage(lines, renewal))
        .filter(({ line }) => line.transactionIdentifier === "1")
        .map((span) => span.willRenew);
    expect(willRenew([monthly], null)).toEqual([null, null]);
    expect(willRenew([monthly], renewing({ willRenew: false }))).toEqual([false, false]);
    const renewed = [monthly, aPeriod("2", "basic", 0, 30, signed(-0.5))];
    expect(willRenew(renewed, renewing({ willRenew: false }))).toEqual([true, null]);
  });
});

describe("a line of Google's", () => {
  const google = (more: Partial<Line>): Purchase =>
    aPurchase({
      store: "android-store",
      lines: [
        { ...monthly, transactionIdentifier: null, event: null, willRenew: true, ...signed(-30), ...more },
      ],
    });
  const CANCELED = { willRenew: false };
  const GRACE = { standing: "grace_period" } as const;

  test.each<[rule: string, line: Partial<Line>, expected: Picture]>([
    ["runs to its end, and the leeway", {}, "active 0 active? 1h expired"],
    ["has no leeway where it is cancelled", CANCELED, "active 0 expired"],
    ["has none where its renewal is not known", { willRenew: null }, "active 0 expired"],
    ["read at its end is retried silently for 48 hours", signed(0), "active 0 active? 2 expired"],
    ["is not where it is cancelled", { ...CANCELED, ...signed(1) }, "active 0 expired"],
    ["in its grace period has the leeway", GRACE, "grace_period 0 grace_period? 1h expired"],
    ["in its grace period is retried", { ...GRACE, ...signed(0) }, "grace_period 0 grace_period? 2 expired"],
    ["is on hold since its end", { standing: "billing_retry", ...signed(1) }, "active 0 billing_retry"],
    ["is paused since its end", { standing: "paused", ...signed(1) }, "active 0 paused"],
    ["is paused since it was read", { standing: "paused", ...signed(-5) }, "active -5 paused"],
    ["is paused without an end", { standing: "paused", endsAt: null, ...signed(-5) }, "active -5 paused"],
    ["has expired since its end", { standing: "expired", ...signed(1) }, "active 0 expired"],
    ["that is revoked without a date gave nothing", { standing: "revoked" }, "revoked"],
    ["is revoked at its refund", { revokedAt: at(-10) }, "active -10 revoked"],
    ["is revoked after its end", { revokedAt: at(10) }, "active 0 expired 10 revoked"],
    ["without an end goes on", { endsAt: null }, "active"],
  ])("%s", (_, line, expected) => {
    expectPicture(google(line), `-30 ${expected}`);
  });

  test("shows its own dates, renewal and verification", () => {
    const shown = { startsAt: at(-30), expiresAt: at(0), willRenew: true, verifiedAt: at(-1) };
    for (const span of timeline(google(signed(-1)))) expect(span).toMatchObject(shown);
    const revoked = [-10, 10].map((days) => timeline(google({ revokedAt: at(days) })).at(-1)?.expiresAt);
    expect(revoked).toEqual([at(-10), at(0)]);
    const [unstarted] = timeline(google({ startsAt: null, ...CANCELED }));
    expect(unstarted).toMatchObject({ from: -Infinity, to: at(0), startsAt: null });
  });

  test("ends only at its own end, whatever else the purchase has", () => {
    const other = google({ ...CANCELED, productIdentifier: "forever", startsAt: at(-10), endsAt: at(20) });
    const both = { ...other, lines: [...google(CANCELED).lines, ...other.lines] };
    expect(timeline(both).flatMap((span) => (givesAccess(span) ? span.to : []))).toEqual([at(0), at(20)]);
  });
});

test("a span holds its first instant and not its end", () => {
  const spans = timeline(lineage([monthly]));
  const statusAt = (moment: number) => spansAt(moment, spans).map(({ status }) => status);
  expect(statusAt(at(-30) - MINUTE - 1)).toEqual([]);
  expect(statusAt(at(-30) - MINUTE)).toEqual(["active"]);
  expect(statusAt(at(0) - 1)).toEqual(["active"]);
  expect(statusAt(at(0))).toEqual(["expired"]);
});

test.each(STATUSES)("%s gives access only where it is active or in its grace period", (status) => {
  expect(givesAccess({ status })).toBe(status === "active" || status === "grace_period");
});
