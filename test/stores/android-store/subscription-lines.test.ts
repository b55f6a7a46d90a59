import { line, linesOf, read, unpaid, type SubscriptionLine } from "./read-subscription.ts";

const ENDS = { autoRenewingPlan: { autoRenewEnabled: false } };
const REMOVED = { deferredItemRemoval: {} };
const REPLACED = { deferredItemReplacement: { productId: "pro" } };
const BY_PLAN = { deferredItemReplacement: { productId: "premium" } };

const waiting = (days: number, more: object = {}) => line("premium", days, { ...REPLACED, ...more });
const addOn = line("maps", 20);
const undated = unpaid("pro");

test.each<[rule: string, lines: SubscriptionLine[], expected: string]>([
  ["of a removal stays until its end", [line("premium", 7, REMOVED), undated], "premium 7 entitled"],
  ["of a replacement is paid as another", [waiting(7), undated], "premium 7 entitled, renews"],
  ["of a replacement needs no plan of its own", [waiting(7, ENDS), undated], "premium 7 entitled, renews"],
  [
    "of a replacement needs no order of its own",
    [waiting(7, { latestSuccessfulOrderId: null }), undated],
    "premium 7 entitled, renews",
  ],
  ["in the past is over beside its replacement", [waiting(-1), line("pro", 30)], "premium -1 expired"],
  ["in the past waits for an unpaid replacement", [waiting(-1), undated], "premium -1 entitled, renews"],
  ["in the past waits beside an add-on", [waiting(-1), undated, addOn], "premium -1 entitled, renews"],
  [
    "in the past waits where the replacement lapsed",
    [waiting(-1), line("pro", 0), addOn],
    "premium -1 entitled, renews",
  ],
  ["in the past is over without its replacement", [waiting(-1), addOn], "premium -1 expired"],
  [
    "by the same product's other plan is distinct",
    [line("premium", -1, BY_PLAN), line("premium", 300)],
    "premium -1 expired",
  ],
])("a deferred change %s", (_, lineItems, expected) => {
  expect(linesOf({ lineItems })).toContain(expected);
});

test.each<[rule: string, lagging: number, plan: object, other: SubscriptionLine, expected: string]>([
  ["does not renew is over at its end", 0, ENDS, line("premium", 30), "maps 0 expired"],
  ["does not renew is over after its end", -1, ENDS, line("premium", 30), "maps -1 expired"],
  ["was to be removed is over", -1, REMOVED, line("premium", 30), "maps -1 expired"],
  // Like an add-on after its trial.
  ["renews is charged by itself", -1, {}, line("premium", 30), "maps -1 entitled, renews"],
  ["has not ended is not over", 1, ENDS, line("premium", 30), "maps 1 entitled"],
  // The store is retrying the payment.
  ["is not over when all have ended", -1, {}, line("premium", -1), "maps -1 entitled, renews"],
  ["does not renew is over when the other ends now", -1, ENDS, line("premium", 0), "maps -1 expired"],
  ["is not over when the other is not owned yet", -1, {}, unpaid("premium", 30), "maps -1 entitled, renews"],
])("a line that ends before another and %s", (_, lagging, plan, other, expected) => {
  expect(linesOf({ lineItems: [line("maps", lagging, plan), other] })).toContain(expected);
});

test.each([
  ["IN_GRACE_PERIOD", "grace_period"],
  ["ON_HOLD", "billing_retry"],
])("a line that has ended and renews has the standing of its purchase: %s", (state, standing) => {
  const lineItems = [line("maps", -1), line("premium", 30)];
  const { lines } = read({ subscriptionState: `SUBSCRIPTION_STATE_${state}`, lineItems }).purchase;
  expect(lines).toMatchObject([{ standing }, { standing }]);
});

test.each<[rule: string, lines: SubscriptionLine[], ends: string]>([
  ["keeps access to the next date ahead", [line("maps", -1), line("premium", 0.5)], "maps 0.5, premium 0.5"],
  [
    "ends at the first date ahead, not at a later one",
    [line("maps", -1), line("premium", 14), line("tiles", 0.25)],
    "maps 0.25, premium 14, tiles 0.25",
  ],
  ["keeps access for a day at most", [line("maps", 0), line("premium", 25)], "maps 1, premium 25"],
  [
    "ends at the last date if all have passed",
    [line("maps", -3), line("premium", -1)],
    "maps -1, premium -1",
  ],
  ["waits for an undated replacement day by day", [waiting(-6, ENDS), undated], "premium 1"],
  ["waits for a replacement to its date", [waiting(-1, ENDS), unpaid("pro", 0.25)], "premium 0.25"],
  [
    "does not end at the date of one that does not renew",
    [line("maps", -1), line("premium", 0.5), line("tiles", 0.25, ENDS)],
    "maps 0.5, premium 0.5, tiles 0.25",
  ],
])("a line in a grace period %s", (_, lineItems, ends) => {
  const lines = linesOf({ subscriptionState: "SUBSCRIPTION_STATE_IN_GRACE_PERIOD", lineItems });
  const found = lines.map((one) => one.split(" ", 2).join(" "));
  expect(found.sort().join(", ")).toBe(ends);
});
