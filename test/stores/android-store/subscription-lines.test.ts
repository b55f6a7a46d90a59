import { isoTime } from "../../../lib/entitlements/time.ts";
import {
  aSubscriptionAnswer,
  aSubscriptionLine,
  DAY,
  NOW,
} from "../../../testing/support/stores/android-store.ts";
import { read } from "./read-subscription.ts";

type SubscriptionLine = ReturnType<typeof aSubscriptionLine>;

/** A paid line whose end is so many days away. */
const line = (productId: string, days: number, more: object = {}): SubscriptionLine =>
  aSubscriptionLine({ productId, expiryTime: isoTime(NOW + days * DAY), ...more });
const { latestSuccessfulOrderId: _, expiryTime: __, ...undated } = line("pro", 2);

describe("a deferred change", () => {
  const replaced = { deferredItemReplacement: { productId: "pro" } };
  const byPlan = { deferredItemReplacement: { productId: "premium" } };
  const unpaid = { autoRenewingPlan: { autoRenewEnabled: false } };
  const addOn = line("maps", 20);

  test.each<
    [string, SubscriptionLine[], [product: string, days: number, willRenew: boolean, standing: string]]
  >([
    [
      "of a removal stays until its end",
      [line("premium", 7, { deferredItemRemoval: {} }), undated],
      ["premium", 7, false, "entitled"],
    ],
    [
      "of a replacement is paid as another",
      [line("premium", 7, replaced), undated],
      ["premium", 7, true, "entitled"],
    ],
    [
      "of a replacement needs no plan of its own",
      [line("premium", 7, { ...replaced, ...unpaid }), undated],
      ["premium", 7, true, "entitled"],
    ],
    [
      "of a replacement needs no order of its own",
      [line("premium", 7, { ...replaced, latestSuccessfulOrderId: null }), undated],
      ["premium", 7, true, "entitled"],
    ],
    [
      "in the past is over beside its replacement",
      [line("premium", -1, replaced), line("pro", 30)],
      ["premium", -1, false, "expired"],
    ],
    [
      "in the past waits for an unpaid replacement",
      [line("premium", -1, replaced), undated],
      ["premium", -1, true, "entitled"],
    ],
    [
      "in the past waits also beside an add-on",
      [line("premium", -1, replaced), undated, addOn],
      ["premium", -1, true, "entitled"],
    ],
    [
      "in the past waits where the replacement lapsed",
      [line("premium", -1, replaced), line("pro", 0), addOn],
      ["premium", -1, true, "entitled"],
    ],
    [
      "in the past is over without its replacement",
      [line("premium", -1, replaced), addOn],
      ["premium", -1, false, "expired"],
    ],
    [
      "by the same product's other plan is distinct",
      [line("premium", -1, byPlan), line("premium", 300)],
      ["premium", -1, false, "expired"],
    ],
  ])("%s", (_, lineItems, expected) => {
    const { lines } = read(aSubscriptionAnswer({ lineItems })).purchase;
    const found = lines.map(({ productIdentifier, endsAt, willRenew, standing }) => [
      productIdentifier,
      ((endsAt ?? 0) - NOW) / DAY,
      willRenew,
      standing,
    ]);
    expect(found).toContainEqual(expected);
  });
});

describe("a line that ends before another", () => {
  const ends = { autoRenewingPlan: { autoRenewEnabled: false } };
  const removed = { deferredItemRemoval: {} };
  test.each([
    ["and does not renew is over at its end", 0, 30, ends, "expired", false],
    ["and does not renew is over after its end", -1, 30, ends, "expired", false],
    ["and was to be removed is over", -1, 30, removed, "expired", false],
    ["and renews is charged by itself, like an add-on after its trial", -1, 30, {}, "entitled", true],
    ["is not over before its end", 1, 30, ends, "entitled", false],
    [
      "is not over when all lines have ended: the store is retrying the payment",
      -1,
      -1,
      {},
      "entitled",
      true,
    ],
    [
      "and does not renew is over when the other line, which renews, ends with the answer",
      -1,
      0,
      ends,
      "expired",
      false,
    ],
  ])("%s", (_, lagging, other, plan, standing, willRenew) => {
    const { purchase } = read(
      aSubscriptionAnswer({ lineItems: [line("maps", lagging, plan), line("premium", other)] }),
    );
    expect(purchase.lines.find(({ productIdentifier }) => productIdentifier === "maps")).toMatchObject({
      standing,
      willRenew,
    });
  });
  test.each([
    ["IN_GRACE_PERIOD", "grace_period"],
    ["ON_HOLD", "billing_retry"],
  ])("and renews has the standing of its purchase: %s", (state, standing) => {
    const { purchase } = read(
      aSubscriptionAnswer({
        subscriptionState: `SUBSCRIPTION_STATE_${state}`,
        lineItems: [line("maps", -1), line("premium", 30)],
      }),
    );
    expect(purchase.lines).toMatchObject([{ standing }, { standing }]);
  });

  const unpaid = (days: number) => ({ ...undated, expiryTime: isoTime(NOW + days * DAY) });
  const waiting = (days: number) =>
    line("premium", days, { ...ends, deferredItemReplacement: { productId: "pro" } });
  test.each<[string, SubscriptionLine[], Record<string, number>]>([
    [
      "keeps access to the next date ahead",
      [line("maps", -1), line("premium", 0.5)],
      { maps: 0.5, premium: 0.5 },
    ],
    [
      "ends at the first date ahead, not at a later one",
      [line("maps", -1), line("premium", 14), line("tiles", 0.25)],
      { maps: 0.25, premium: 14, tiles: 0.25 },
    ],
    ["keeps access for a day at most", [line("maps", 0), line("premium", 25)], { maps: 1, premium: 25 }],
    [
      "ends at the last date if all have passed",
      [line("maps", -3), line("premium", -1)],
      { maps: -1, premium: -1 },
    ],
    ["waits for an undated replacement day by day", [waiting(-6), undated], { premium: 1 }],
    ["waits for a replacement to its date", [waiting(-1), unpaid(0.25)], { premium: 0.25 }],
    [
      "does not end at the date of one that does not renew",
      [line("maps", -1), line("premium", 0.5), line("tiles", 0.25, ends)],
      { maps: 0.5, premium: 0.5, tiles: 0.25 },
    ],
  ])("in a grace period %s", (_, lineItems, expected) => {
    const subscriptionState = "SUBSCRIPTION_STATE_IN_GRACE_PERIOD";
    const { purchase } = read(aSubscriptionAnswer({ subscriptionState, lineItems }));
    const days = purchase.lines.map(({ productIdentifier, endsAt }) => [
      productIdentifier,
      ((endsAt ?? 0) - NOW) / DAY,
    ]);
    expect(Object.fromEntries(days)).toEqual(expected);
  });

  test("is not over when the other line is not owned yet", () => {
    const { latestSuccessfulOrderId: _, ...notOwned } = line("premium", 30);
    const { purchase } = read(aSubscriptionAnswer({ lineItems: [line("maps", -1), notOwned] }));
    expect(purchase.lines).toMatchObject([{ productIdentifier: "maps", standing: "entitled" }]);
  });
});
