import type { AccountEntitlements, CustomerEntitlement } from "./contract.ts";

const hasEnded = ({ expiresAt }: CustomerEntitlement, moment: number): boolean =>
  expiresAt !== null && Date.parse(expiresAt) <= moment;

/**
 * An entitlement of an earlier answer, projected to a later moment. What was to end has ended; only a subscription that
 * will renew stays active, because the service itself grants a leeway while a store is silent.
 */
const laterOn = (entitlement: CustomerEntitlement, moment: number): CustomerEntitlement => {
  if (!entitlement.active || !hasEnded(entitlement, moment)) return entitlement;
  if (entitlement.status === "grace_period")
    return { ...entitlement, active: false, status: "billing_retry" };
  return entitlement.willRenew === true ? entitlement : { ...entitlement, active: false, status: "expired" };
};

/**
 * Whether an entitlement of an answer has ended, as {@link answerLater} shows it, since the answer was read. What had ended
 * by then counts as told: this clock may be ahead of the service's.
 */
export const hasEndedSince = (
  { entitlements }: AccountEntitlements,
  readAt: number,
  moment: number,
): boolean =>
  entitlements.some(
    (entitlement) => !hasEnded(entitlement, readAt) && laterOn(entitlement, moment) !== entitlement,
  );

/** An earlier answer, projected to a later moment. */
export const answerLater = (answer: AccountEntitlements, moment: number): AccountEntitlements => ({
  ...answer,
  entitlements: answer.entitlements.map((entitlement) => laterOn(entitlement, moment)),
});
