import type { PurchaseReference } from "../../../lib/entitlements/purchase.ts";
import { pendingAcknowledgement, type Question } from "../../../lib/stores/android-store/reading.ts";
import { DAY, NOW, PACKAGE_NAME } from "../../../testing/support/stores/android-store.ts";
import { aPurchase } from "../../../testing/support/stores/purchases.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

const BOUGHT = {
  productKind: "subscription",
  productIdentifier: "premium",
  madeAt: NOW,
  prepaidUntil: null,
} as const;
const QUESTION = {
  packageName: PACKAGE_NAME,
  purchaseToken: "token",
  productIdentifier: null,
  answeredAt: NOW,
};
type Asked = Partial<Parameters<typeof pendingAcknowledgement>[2] & PurchaseReference & Question>;

test.each<[rule: string, asked: Asked, within: number]>([
  ["within three days", {}, 3 * DAY],
  ["of a prepaid plan of a week, within three days", { prepaidUntil: NOW + 7 * DAY }, 3 * DAY],
  ["of a prepaid plan below six days, within half of it", { prepaidUntil: NOW + 6 * DAY - 2 }, 3 * DAY - 1],
  ["of a prepaid plan of three days, within half of it", { prepaidUntil: NOW + 3 * DAY }, 1.5 * DAY],
  ["of a prepaid plan that ends before it begins, at once", { prepaidUntil: NOW - DAY }, 0],
  ["of a top-up, as of a plan of a day", { prepaidUntil: NOW + 30 * DAY, isTopUp: true }, DAY / 2],
  ["of a prepaid plan below a week, within three days", { prepaidUntil: NOW + 6.5 * DAY }, 3 * DAY],
  ["by a licence tester within three minutes", { environment: "sandbox" }, 3 * MINUTE],
  [
    "of a prepaid plan by a licence tester within three minutes",
    { environment: "sandbox", prepaidUntil: NOW + DAY },
    3 * MINUTE,
  ],
  ["counted from the answer without a start", { madeAt: null, answeredAt: NOW + HOUR }, HOUR + 3 * DAY],
  ["within a day of an answer after two of three days", { answeredAt: NOW + 2 * DAY }, 3 * DAY],
  ["within a day of an answer long past the deadline", { answeredAt: NOW + 9 * DAY }, 10 * DAY],
])("a purchase has to be acknowledged %s", (_, asked, within) => {
  const reference = { ...aPurchase({ store: "android-store" }), ...asked };
  const { deadline } = pendingAcknowledgement(
    reference,
    { ...QUESTION, ...asked, productIdentifier: null },
    { ...BOUGHT, ...asked, productIdentifier: "premium" },
  );
  expect(deadline - NOW).toBe(within);
});
