import { bestSpans, entitlementsAt, lastAccess } from "../../lib/entitlements/entitlements.ts";
import { type Holding, timelineOf } from "../../lib/entitlements/timeline.ts";
import type { Line } from "../../lib/entitlements/purchase.ts";
import { customerId } from "../../lib/identifiers.ts";
import { aCatalog, aLine, aProduct, aPurchase, NOW } from "../../testing/support/stores/purchases.ts";
import { at, CUSTOMER, held, termsOf } from "./history.ts";

const OTHER = customerId("00000000-0000-4000-8000-000000000002");
describe("of several purchases that grant an entitlement the best is shown:", () => {
  type By = Holding["assertedBy"];
  const of = (
    key: string,
    line: Partial<Line>,
    { by = null, ...purchase }: { by?: By } & Parameters<typeof aPurchase>[0] = {},
  ): Holding => ({
    customerIdentifier: CUSTOMER,
    assertedBy: by,
    purchase: aPurchase({
      key,
      lines: [aLine({ transactionIdentifier: purchase.store === "android-store" ? null : key, ...line })],
      ...purchase,
    }),
  });
  const google = { store: "android-store" } as const;
  const sandbox = { environment: "sandbox" } as const;
  const xcode = { environment: "xcode" } as const;
  const app = { by: "client" } as const;
  const key = { by: "credential" } as const;
  const lifetime = { nature: "non_consumable", endsAt: null } as const;
  const over = (days: number) => ({ startsAt: at(-90), endsAt: at(-days) });
  const until = (milliseconds: number) => ({ endsAt: NOW + milliseconds });
  const paused = { standing: "paused" } as const;
  const retry = { standing: "billing_retry" } as const;
  const undated = { ...lifetime, nature: "consumable", standing: "revoked" } as const;
  const refundedLong = { ...lifetime, startsAt: at(-400), revokedAt: at(-300) };

  test.each<[rule: string, better: Holding, worse: Holding]>([
    [
      "active before inactive",
      of("9", until(1), { ...xcode, ...app }),
      of("1", paused, { ...google, ...key }),
    ],
    ["production before sandbox", of("9", until(1)), of("1", lifetime, sandbox)],
    ["sandbox before Xcode", of("9", until(1), sandbox), of("1", lifetime, xcode)],
    ["production, where both are over", of("9", over(9), google), of("1", paused, { ...google, ...sandbox })],
    ["a lifetime before any end", of("9", lifetime), of("1", { endsAt: at(9999) })],
    ["the later end", of("9", until(2)), of("1", until(1))],
    ["whoever linked it, where it is active", of("9", until(2), app), of("1", until(1), key)],
    ["a pause before an end", of("9", { ...paused, ...over(20) }, google), of("1", over(1), google)],
    [
      "a client's retry before an end",
      of("9", { ...retry, ...over(20) }, { ...google, ...app }),
      of("1", over(1), key),
    ],
    ["a credential's end before a client's", of("9", over(20), key), of("1", over(1), app)],
    ["the later end, where a refund ended a lifetime", of("9", over(299)), of("1", refundedLong)],
    ["the earlier of end and refund", of("9", over(19)), of("1", { ...over(20), revokedAt: at(-1) })],
    ["an undated refund at its start", of("9", over(80)), of("1", { ...undated, startsAt: at(-81) }, google)],
    ["the later start", of("9", { startsAt: NOW - 1 }), of("1", { startsAt: NOW - 2 })],
    ["a start before none", of("9", { startsAt: 0 }, google), of("1", { startsAt: null }, google)],
    [
      "the smaller key, whatever its transaction",
      of("1", { transactionIdentifier: "9" }),
      { ...of("2", { transactionIdentifier: "8" }), customerIdentifier: OTHER },
    ],
  ])("%s", (_, better, worse) => {
    const terms = termsOf(aCatalog([aProduct(), aProduct({ store: "android-store" })]), 0);
    const both = entitlementsAt(NOW, [better, worse], terms);
    expect(both).toHaveLength(1);
    expect(both).toEqual(entitlementsAt(NOW, [better], terms));
    expect(JSON.stringify(entitlementsAt(NOW, [worse, better], terms))).toBe(JSON.stringify(both));
  });

  test("of one purchase the smaller product, then the earlier line", () => {
    const line = (productIdentifier: string, event: string) =>
      aLine({ transactionIdentifier: null, productIdentifier, event });
    const [b, a, other] = [line("monthly", "b"), line("monthly", "a"), line("basic", "c")];
    const products = ["monthly", "basic"].map((productIdentifier) =>
      aProduct({ store: "android-store", productIdentifier }),
    );
    const best = (...lines: readonly Line[]) => {
      const timeline = timelineOf(
        held(aPurchase({ store: "android-store", lines })),
        termsOf(aCatalog(products)),
      );
      return bestSpans(timeline).get("premium")?.line.event;
    };
    expect([best(b, a, other), best(other, a, b), best(b, a), best(a, b)]).toEqual(["c", "c", "a", "a"]);
  });
});

test("a refund without date and start sorts before any other end", () => {
  const line = aLine({ standing: "revoked", startsAt: null, transactionIdentifier: null });
  const spans = timelineOf(held(aPurchase({ store: "android-store", lines: [line] })), termsOf());
  expect(spans.map(lastAccess)).toEqual([0]);
});
