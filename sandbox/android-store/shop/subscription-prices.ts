import { ImpossibleChange } from "../../impossible-change.ts";
import type { SoldSubscription, SubscriptionLine } from "./purchases.ts";
import {
  endsWithPeriod,
  linesOf,
  requireState,
  tell,
  termsOfRenewing,
  withLines,
  type SubscriptionStep,
} from "./subscription-states.ts";

/** Prices that need the user's consent before the next renewal. */

const NEW_PRICE = { currencyCode: "USD", units: "9", nanos: 990_000_000 };

const awaitsPriceConsent = ({ autoRenewingPlan: plan }: SubscriptionLine): boolean =>
  plan?.priceChangeDetails?.priceChangeState === "OUTSTANDING";

const awaitsStepUpConsent = ({ autoRenewingPlan: plan }: SubscriptionLine): boolean =>
  plan?.priceStepUpConsentDetails?.state === "PENDING";

type Plan = NonNullable<SubscriptionLine["autoRenewingPlan"]>;

const withPlans = (sold: SoldSubscription, change: (plan: Plan, line: SubscriptionLine) => Plan) =>
  withLines(sold, (line) =>
    line.autoRenewingPlan === undefined || endsWithPeriod(line)
      ? line
      : { ...line, autoRenewingPlan: change(line.autoRenewingPlan, line) },
  );

export const changePrice: SubscriptionStep = (sold) => {
  termsOfRenewing(sold);
  requireState(sold, "ACTIVE");
  const raised = withPlans(sold, (plan, { expiryTime }) => ({
    ...plan,
    priceChangeDetails: {
      newPrice: NEW_PRICE,
      priceChangeMode: "PRICE_INCREASE",
      priceChangeState: "OUTSTANDING",
      ...(expiryTime != null && { expectedNewPriceChargeTime: expiryTime }),
    },
  }));
  return tell(raised, "PRICE_CHANGE_UPDATED");
};

export const consentToPriceChange: SubscriptionStep = (sold) => {
  if (!linesOf(sold).some(awaitsPriceConsent)) throw new ImpossibleChange("No price change is outstanding.");
  const agreed = withPlans(sold, (plan) =>
    plan.priceChangeDetails?.priceChangeState === "OUTSTANDING"
      ? { ...plan, priceChangeDetails: { ...plan.priceChangeDetails, priceChangeState: "CONFIRMED" } }
      : plan,
  );
  const alone = linesOf(sold).length === 1;
  return alone
    ? tell(agreed, "PRICE_CHANGE_UPDATED", "PRICE_CHANGE_CONFIRMED")
    : tell(agreed, "PRICE_CHANGE_UPDATED");
};

export const stepUpPrice: SubscriptionStep = (sold) => {
  termsOfRenewing(sold);
  requireState(sold, "ACTIVE");
  const asked = withPlans(sold, (plan, { expiryTime }) => ({
    ...plan,
    priceStepUpConsentDetails: {
      newPrice: NEW_PRICE,
      state: "PENDING",
      ...(expiryTime != null && { consentDeadlineTime: expiryTime }),
    },
  }));
  return tell(asked, "PRICE_STEP_UP_CONSENT_UPDATED");
};

export const consentToStepUp: SubscriptionStep = (sold) => {
  if (!linesOf(sold).some(awaitsStepUpConsent)) throw new ImpossibleChange("No consent is pending.");
  const agreed = withPlans(sold, (plan) =>
    plan.priceStepUpConsentDetails?.state === "PENDING"
      ? { ...plan, priceStepUpConsentDetails: { ...plan.priceStepUpConsentDetails, state: "CONFIRMED" } }
      : plan,
  );
  return tell(agreed, "PRICE_STEP_UP_CONSENT_UPDATED");
};

/** Whether the user has yet to agree to a price before the subscription can be renewed. */
export const awaitsConsent = (sold: SoldSubscription): boolean =>
  linesOf(sold).some((line) => awaitsPriceConsent(line) || awaitsStepUpConsent(line));
