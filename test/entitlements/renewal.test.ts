import {
  graceEndOf,
  isUndecided,
  laterRenewal,
  reportsFailure,
  sameRenewal,
  type Renewal,
} from "../../lib/entitlements/renewal.ts";
import { aRenewal, DAY, NOW } from "../../testing/support/stores/purchases.ts";

const END = NOW + 20 * DAY;
const IN_GRACE = { isInGrace: true, periodEndsAt: END, signedAt: END };

describe("renewal infos are joined", () => {
  const earlier = aRenewal({ signedAt: NOW });
  const later = aRenewal({ signedAt: NOW + 1, willRenew: false });

  test("so that the later signed one counts, in any order", () => {
    for (const joined of [laterRenewal(earlier, later), laterRenewal(later, earlier)])
      expect(joined).toEqual(later);
    expect(laterRenewal(null, earlier)).toBe(earlier);
    expect(laterRenewal(earlier, null)).toBe(earlier);
    expect(laterRenewal(null, null)).toBeNull();
  });

  test.each<Partial<Renewal>>([
    { periodEndsAt: null },
    { willRenew: false },
    { renewsInto: "yearly" },
    { graceEndsAt: END },
    { isInBillingRetry: true },
    { expirationIntent: 1 },
  ])("deterministically where two of one moment differ: %j", (changes) => {
    const [a, b] = [aRenewal(), aRenewal(changes)];
    expect(laterRenewal(a, b)).toEqual(laterRenewal(b, a));
    expect(sameRenewal(a, b)).toBe(false);
  });

  test("so that an app's info takes back no grace period", () => {
    const status = { isInGrace: true, periodEndsAt: END, signedAt: NOW };
    const told = aRenewal({ status, signedAt: NOW });
    const byApp = aRenewal({ signedAt: NOW + 1, isInBillingRetry: true });
    const over = aRenewal({ status: { ...status, isInGrace: false, signedAt: NOW + 2 }, signedAt: NOW + 2 });
    const orders = [
      [told, byApp, over],
      [byApp, told, over],
      [over, byApp, told],
    ] as const;
    for (const [a, b, c] of orders) expect(laterRenewal(laterRenewal(a, b), c)).toEqual(over);
    const both = { ...byApp, status };
    expect([laterRenewal(told, byApp), laterRenewal(byApp, told)]).toEqual([both, both]);
    expect([sameRenewal(both, byApp), sameRenewal(byApp, both)]).toEqual([false, false]);
    const other = { ...told, status: { ...status, isInGrace: false } };
    expect(laterRenewal(told, other)).toEqual(laterRenewal(other, told));
  });

  test("and equal ones are the same", () => {
    const inGrace = (isInGrace: boolean) =>
      aRenewal({ status: { isInGrace, periodEndsAt: END, signedAt: NOW } });
    for (const make of [aRenewal, () => inGrace(true), () => null])
      expect(sameRenewal(make(), make())).toBe(true);
    expect(sameRenewal(inGrace(true), inGrace(false))).toBe(false);
    expect([sameRenewal(aRenewal(), null), sameRenewal(null, aRenewal())]).toEqual([false, false]);
  });
});

test.each<[rule: string, renewal: Partial<Renewal>, end: number | null]>([
  ["is the date that it names", { graceEndsAt: END + 1 }, END + 1],
  ["is none at the end itself", { graceEndsAt: END }, null],
  ["is at most 28 days after the end, by the status alone", { status: IN_GRACE }, END + 28 * DAY],
  ["is none by the status of another period", { status: { ...IN_GRACE, periodEndsAt: NOW } }, null],
  ["is none by another status", { status: { ...IN_GRACE, isInGrace: false } }, null],
  ["is none without either", {}, null],
])("a grace period's end %s", (_, renewal, end) => {
  const info = aRenewal({ periodEndsAt: END, ...renewal });
  expect(graceEndOf(END, info)).toBe(end);
  expect(reportsFailure(info, END)).toBe(end !== null);
});

test("a renewal info that only says so leaves the renewal open", () => {
  expect(isUndecided(aRenewal(), END)).toBe(true);
  for (const changes of [
    { willRenew: false },
    { isInBillingRetry: true },
    { graceEndsAt: END + 1 },
    { expirationIntent: 1 },
  ])
    expect(isUndecided(aRenewal(changes), END)).toBe(false);
  expect(reportsFailure(aRenewal({ isInBillingRetry: true }), END)).toBe(true);
});
