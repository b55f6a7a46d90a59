import { nextRefresh, refreshReasonAt } from "../../lib/freshness/refresh-times.ts";
import type { Purchase } from "../../lib/entitlements/purchase.ts";
import { aLine, aPurchase, DAY, NOW } from "../../testing/support/purchases.ts";

const END = NOW + 20 * DAY;

describe("the reason of a refresh", () => {
  const pending = aPurchase({ store: "android-store", lines: [], verifiedAt: NOW });
  const onHold = aPurchase({
    store: "android-store",
    lines: [aLine({ standing: "billing_retry", endsAt: END, transactionIdentifier: null })],
  });

  test.each<[what: string, purchase: Purchase, after: number, asked: number | null]>([
    ["of facts that came by themselves", aPurchase(), NOW, null],
    ["of a pending payment", pending, NOW + 5, null],
    ["of a purchase on hold", onHold, NOW + 5, null],
    [
      "after an answer",
      aPurchase({ lines: [aLine({ startsAt: NOW - 100 * DAY, endsAt: END, standing: "expired" })] }),
      NOW,
      NOW,
    ],
  ])("is found by its time: %s", (_, purchase, after, asked) => {
    const next = nextRefresh(purchase, after, asked);
    expect(next).not.toBeNull();
    expect(refreshReasonAt(purchase, next?.at ?? 0)).toBe(next?.because);
  });
  test("is that of the step at its time, also where earlier ones were not answered", () => {
    expect(refreshReasonAt(aPurchase(), END + 5000)).toBe("renewal");
  });
  test("is that of facts which a device had kept, and which are asked about when they come", () => {
    expect(refreshReasonAt(aPurchase(), END + 3 * DAY + 5)).toBe("renewal-ahead");
  });
  test("is none where somebody asked for it at another time", () => {
    expect(refreshReasonAt(aPurchase(), NOW + 5)).toBeNull();
    expect(refreshReasonAt(aPurchase({ environment: "xcode" }), END)).toBeNull();
  });
});
