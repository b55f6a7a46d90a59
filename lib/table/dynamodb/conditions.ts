import type { Instant } from "../../entitlements/time.ts";
import type { AccountId, ApplicationId, CustomerId } from "../../identifiers.ts";
import { partitions, TABLE } from "../keys.ts";

/** A write's condition, with the names and values it compares. */
export interface Condition {
  readonly ConditionExpression: string;
  readonly ExpressionAttributeNames?: Record<string, string>;
  readonly ExpressionAttributeValues?: Record<string, unknown>;
}

/** A condition from its expression: `#name` is the attribute of that name, `:name` one of the values. */
// @__NO_SIDE_EFFECTS__
const condition = (
  ConditionExpression: string,
  values: Readonly<Record<string, unknown>> = {},
): Condition => {
  const names = [...ConditionExpression.matchAll(/#(\w+)/g)].map(([given, name = ""]) => [given, name]);
  const given = Object.entries(values).map(([name, value]) => [`:${name}`, value]);
  return {
    ConditionExpression,
    ...(names.length > 0 && { ExpressionAttributeNames: Object.fromEntries(names) }),
    ...(given.length > 0 && { ExpressionAttributeValues: Object.fromEntries(given) }),
  };
};

const ABSENT = "attribute_not_exists(pk)";

export const absent = condition(ABSENT);
export const present = condition("attribute_exists(pk)");

export const versionUnchanged = (version: number) => condition("version = :version", { version });

export const revisionUnchanged = (revision: number) => condition("revision = :revision", { revision });

/** The next question is still at this time; its reason may have changed. */
export const askUnchanged = (at: Instant) => condition("ask.#at = :at", { at });

/** The queue is not paused, and no other worker holds its lease. */
export const leaseIsFree = (own: string, moment: Instant) =>
  condition(
    "(attribute_not_exists(pausedUntil) OR pausedUntil <= :moment) AND (attribute_not_exists(leaseUntil) OR leaseUntil <= :moment OR worker = :own)",
    { moment, own },
  );

/** The queue was paused, and neither a success nor an operator ended that. */
export const queueIsPaused = condition("pausedUntil > :never", { never: 0 });

export const leaseIsOf = (own: string) => condition("worker = :own", { own });

/** No other worker has published since, or holds the lease. */
export const sequenceUnchanged = (own: string, sequence: number) =>
  sequence === 0
    ? condition("worker = :own AND attribute_not_exists(#sequence)", { own })
    : condition("worker = :own AND #sequence = :sequence", { own, sequence });

/** The destination is still this webhook, with the secrets that were read. */
export const secretsUnchanged = (url: string, epochs: readonly Instant[]) =>
  epochs.length === 0
    ? condition("#url = :url AND attribute_not_exists(secretEpochs)", { url })
    : condition("#url = :url AND secretEpochs = :epochs", { url, epochs });

/** No owner: absent, or an expired tombstone. */
export const unowned = (moment: Instant) => condition(`${ABSENT} OR erasedUntil <= :moment`, { moment });

/** No owner: absent, or any tombstone, expired or not. */
export const unownedOrErased = condition(`${ABSENT} OR attribute_exists(erasedUntil)`);

const OWNED = `#${TABLE.ownerAttribute} = :owner`;

export const ownedBy = (application: ApplicationId, owner: CustomerId) =>
  condition(OWNED, { owner: partitions.customer(application, owner) });

/** The purchase still has this owner, and the revision that was read. */
export const ownedUnchanged = (application: ApplicationId, owner: CustomerId, revision: number) =>
  condition(`${OWNED} AND revision = :revision`, {
    owner: partitions.customer(application, owner),
    revision,
  });

export const absentOrOf = (application: ApplicationId) =>
  condition(`${ABSENT} OR application = :application`, { application });

export const absentOrOfAccount = (account: AccountId) =>
  condition(`${ABSENT} OR account = :account`, { account });

export const unrevoked = condition("attribute_exists(pk) AND revokedAt = :none", { none: null });

/** No marker yet, or this one. */
export const unmarkedOrOfFormat = (format: number) =>
  condition(`${ABSENT} OR tableFormat = :format`, { format });

export const absentOrAtMost = (attribute: string, limit: number) =>
  condition(`${ABSENT} OR #${attribute} <= :limit`, { limit });

export const hasRoom = (counter: string, limit: number) =>
  condition(`attribute_not_exists(#${counter}) OR #${counter} < :limit`, { limit });

/** Neither counter stays above zero once `taken` is subtracted from the first. */
export const countsEnd = (counter: string, other: string, taken: number) =>
  condition(
    `(attribute_not_exists(#${counter}) OR #${counter} <= :taken) AND (attribute_not_exists(#${other}) OR #${other} <= :zero)`,
    { taken, zero: 0 },
  );

/** At least one counter stays above zero once `taken` is subtracted from the first. */
export const countsRemain = (counter: string, other: string, taken: number) =>
  condition(`#${counter} > :taken OR #${other} > :zero`, { taken, zero: 0 });
