import { presentAccount } from "../../../operator/text/account.ts";
import {
  reportedHoldings,
  type ReportedCustomer,
} from "../../../lib/administration/reports/account-report.ts";
import { jsonText, linesText } from "../../../operator/text/answer.ts";
import { explain } from "../../../operator/text/explanation.ts";
import type { Purchase } from "../../../lib/entitlements/purchase.ts";
import { isoTime } from "../../../lib/entitlements/time.ts";
import type { Terms } from "../../../lib/entitlements/timeline.ts";
import { accountId, applicationId, customerId, purchaseKey } from "../../../lib/identifiers.ts";
import {
  aReportedCustomer,
  aCatalog,
  aLine,
  aProduct,
  aPurchase,
  aRenewal,
  DAY,
  entitlementsAt,
  NOW,
  period,
} from "../../../testing/support/stores/purchases.ts";

const aCustomer = (purchases: readonly Purchase[]): ReportedCustomer =>
  aReportedCustomer(purchases, {
    link: { account: accountId("user-1"), assertedBy: "client", linkedAt: NOW - DAY },
    createdAt: NOW - 2 * DAY,
    aliases: [customerId("0198c0de-0000-7000-8000-0000000000dd")],
  });

const CATALOG = aCatalog([
  aProduct(),
  aProduct({ store: "android-store", productIdentifier: "android" }),
  aProduct({ productIdentifier: "bundle", grants: ["gold", "premium"] }),
  aProduct({ productIdentifier: "lifetime" }),
  aProduct({ productIdentifier: "pass", accessDuration: period("P1D") }),
  aProduct({ productIdentifier: "credits" }),
]);

const TERMS: Terms = { catalog: CATALOG, renewalLeeway: 0 };

/** The explanation of each line, in order. */
const why = (...purchases: Purchase[]): string[] =>
  explain(NOW, [aCustomer(purchases)], TERMS).flatMap(({ purchases }) =>
    purchases.flatMap((purchase) => [...purchase.why, ...purchase.lines.flatMap((line) => line.why)]),
  );

const END = isoTime(NOW + 20 * DAY);

describe("an account's purchase is explained:", () => {
  const android = { store: "android-store" } as const;
  const of = (line: Parameters<typeof aLine>[0], purchase: Parameters<typeof aPurchase>[0] = {}) =>
    aPurchase({ lines: [aLine(line)], ...purchase });
  test.each<[string, Purchase]>([
    [`grants premium until ${END}`, aPurchase()],
    [`grants gold until ${END}; grants premium until ${END}`, of({ productIdentifier: "bundle" })],
    [
      "grants premium for ever",
      of({ productIdentifier: "lifetime", nature: "non_consumable", endsAt: null }),
    ],
    [
      "grants premium for ever (its product has no accessDuration)",
      of({ productIdentifier: "credits", nature: "consumable", endsAt: null }),
    ],
    [`grants no access: premium is expired since ${isoTime(NOW)}`, of({ endsAt: NOW })],
    [`grants no access: premium is revoked since ${isoTime(NOW - 1)}`, of({ revokedAt: NOW - 1 })],
    [
      "grants no access: premium is billing_retry",
      of({ productIdentifier: "android", standing: "billing_retry" }, android),
    ],
    ["grants nothing: the catalog has no ios-store product other", of({ productIdentifier: "other" })],
    [
      "grants nothing: the catalog has no android-store product monthly, nor its base plan yearly",
      of({ basePlanIdentifier: "yearly" }, android),
    ],
    ["grants nothing: replaced by purchase 2", aPurchase({ replacedBy: purchaseKey("2") })],
    [`grants nothing yet: starts at ${isoTime(NOW + 60_001)}`, of({ startsAt: NOW + 60_001 })],
    [
      "grants nothing: not among the products that were asked for (gold)",
      aPurchase({ selectedProducts: ["gold"] }),
    ],
    [
      "grants nothing: pending: the store says that nothing of it is owned yet",
      aPurchase({ lines: [], verifiedAt: NOW }),
    ],
    [
      "grants nothing: known only because another purchase names it; replaced by purchase 2",
      aPurchase({ lines: [], verifiedAt: 0, replacedBy: purchaseKey("2") }),
    ],
  ])("%s", (expected, purchase) => {
    expect(why(purchase).join("; ")).toBe(expected);
  });

  test.each([
    [1, NOW, ": the customer had turned the renewal off"],
    [2, NOW, ": the payment failed"],
    [3, NOW, ": the customer did not agree to a higher price"],
    [4, NOW, ": the product was no longer for sale"],
    [5, NOW, ""],
    // Of another period.
    [1, NOW - DAY, ""],
  ])("Apple's reason %s for an end", (expirationIntent, periodEndsAt, reason) => {
    const renewal = aRenewal({ periodEndsAt, willRenew: false, expirationIntent, signedAt: NOW + 1 });
    const expected = `grants no access: premium is expired since ${isoTime(NOW)}${reason}`;
    expect(why(of({ endsAt: NOW }, { renewal }))).toEqual([expected]);
  });

  const winner = aPurchase({ key: "1" });
  const another = (line: Parameters<typeof aLine>[0] = {}): Purchase =>
    aPurchase({ key: "2", lines: [aLine({ transactionIdentifier: "2", ...line })] });
  const until = (end: number) => `grants premium until ${isoTime(end)}`;
  test.each<[reason: string, loser: Purchase, own: string]>([
    ["is active", another({ endsAt: NOW }), `grants no access: premium is expired since ${isoTime(NOW)}`],
    ["is of production", { ...another(), environment: "sandbox" }, until(NOW + 20 * DAY)],
    ["ends later", another({ endsAt: NOW + DAY }), until(NOW + DAY)],
    ["started later", another({ startsAt: NOW - 11 * DAY }), until(NOW + 20 * DAY)],
    ["comes first by its key", another(), until(NOW + 20 * DAY)],
  ])("another one is shown, which %s", (reason, loser, own) => {
    const lost = `${own}; the answer shows ios-store purchase 1, which ${reason}`;
    expect(why(winner, loser)).toEqual([`grants premium until ${END}`, lost]);
    expect(why(loser, winner)).toEqual([lost, `grants premium until ${END}`]);
  });

  test("another one is shown, which never ends", () => {
    const lifetime = another({ productIdentifier: "lifetime", nature: "non_consumable", endsAt: null });
    expect(why(winner, lifetime)[0]).toContain("; the answer shows ios-store purchase 2, which never ends");
  });

  test("another of its lines is shown, which renewed it", () => {
    const older = aLine({ startsAt: NOW - 40 * DAY, endsAt: NOW + DAY });
    expect(why(aPurchase({ lines: [older, aLine({ transactionIdentifier: "2" })] }))).toEqual([
      `grants no access: premium is expired since ${isoTime(NOW - 10 * DAY)}; the answer shows another line of this purchase, which is active`,
      `grants premium until ${END}`,
    ]);
  });

  const retried = { transactionIdentifier: null, willRenew: true, verifiedAt: NOW + 20 * DAY };
  test.each([
    [
      "the store's silence while the leeway lasts",
      aPurchase({ renewal: aRenewal() }),
      "the store said that it renews, and nothing since",
    ],
    [
      "Google's retries",
      of({ ...retried, productIdentifier: "android" }, android),
      "the store still retries the payment",
    ],
  ])("it grants past its end by %s", (_, purchase, reason) => {
    const terms = { catalog: CATALOG, renewalLeeway: 60_000 };
    const [explained] = explain(NOW + 20 * DAY, [aCustomer([purchase])], terms);
    expect(explained?.purchases[0]?.lines[0]?.why).toEqual([
      `grants premium past its end at ${END}: ${reason}`,
    ]);
  });
});

describe("an account is shown", () => {
  const report = (customers: readonly ReportedCustomer[]) => ({
    application: { identifier: applicationId("0198c0de-0000-7000-8000-000000000001"), name: "Trail Maps" },
    account: accountId("user-1"),
    customers,
    told: null,
    entitlements: entitlementsAt(NOW, reportedHoldings(customers), CATALOG),
  });

  test("with its customers, purchases and entitlements", () => {
    const renewal = aRenewal({ signedAt: NOW, graceEndsAt: NOW + 26 * DAY, isInBillingRetry: true });
    const { text, json } = presentAccount(report([aCustomer([aPurchase({ renewal })])]), TERMS, NOW);
    expect(linesText(text).split("\n")).toEqual([
      `Account user-1 of Trail Maps (0198c0de-0000-7000-8000-000000000001) at ${isoTime(NOW)}`,
      "Entitlements",
      `  premium  active  until ${isoTime(NOW + 26 * DAY)}  ios-store monthly`,
      "Customer 0198c0de-0000-7000-8000-0000000000cc",
      `  created ${isoTime(NOW - 2 * DAY)}, linked ${isoTime(NOW - DAY)} by a client`,
      "  merged from 0198c0de-0000-7000-8000-0000000000dd",
      `  ios-store production purchase 1, verified ${isoTime(NOW)} by a renewal info`,
      `    renews into monthly in a grace period until ${isoTime(NOW + 26 * DAY)} in billing retry (signed ${isoTime(NOW)})`,
      expect.stringContaining("    monthly  "),
      expect.stringContaining("      grants premium until "),
    ]);
    expect(JSON.parse(jsonText(json))).toMatchObject({
      applicationAccountIdentifier: "user-1",
      moment: isoTime(NOW),
      customers: [{ assertedBy: "client", purchases: [{ key: "1", verifiedBy: "a renewal info" }] }],
      entitlements: [{ identifier: "premium", active: true }],
    });
  });

  test("in pages, with the purchases that grant first", () => {
    const over = Array.from({ length: 9 }, (_, index) => {
      const line = aLine({ startsAt: NOW - (300 - index) * DAY, endsAt: NOW - (270 - index) * DAY });
      return aPurchase({ key: `over-${index}`, lines: [line] });
    });
    const account = report([aCustomer([...over, aPurchase({ key: "granting" })])]);
    const json = { number: 1, size: Infinity };
    const page = (number: number) => presentAccount(account, TERMS, NOW, { text: { number, size: 4 }, json });
    expect(linesText(page(1).text)).toContain("Purchases 1 to 4 of 10; the next ones: --page 2\n");
    const keys = [1, 2, 3].flatMap((number) =>
      [...linesText(page(number).text).matchAll(/ purchase (\S+?), verified/g)].map(([, key = ""]) => key),
    );
    expect(keys.slice(0, 3)).toEqual(["granting", "over-8", "over-7"]);
    expect(new Set(keys).size).toBe(10);
    expect(() => page(4)).toThrow("There is no page 4: it has 3 pages.");
    expect(page(1).json).toMatchObject({ purchases: 10, pages: 1 });
  });
});
