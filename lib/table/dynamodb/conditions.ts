import type { Instant } from "../../entitlements/time.ts";
import type { AccountId, ApplicationId, CustomerId } from "../../identifiers.ts";
import { TABLE } from "./key.ts";
import { partitions } from "../keys.ts";

/** A write's condition, with the names and values it compares. */
export interface Condition {
  readonly ConditionExpression: string;
  readonly ExpressionAttributeNames?: Record<string, string>;
  readonly ExpressionAttributeValues?: Record<string, unknown>;
}

export const absent: Condition = { ConditionExpression: "attribute_not_exists(pk)" };
export const present: Condition = { ConditionExpression: "attribute_exists(pk)" };

/** The item still has the version that was read. */
export const versionUnchanged = (version: number): Condition => ({
  ConditionExpression: "version = :version",
  ExpressionAttributeValues: { ":version": version },
});

export const revisionUnchanged = (revision: number): Condition => ({
  ConditionExpression: "revision = :revision",
  ExpressionAttributeValues: { ":revision": revision },
});

/** The purchase's next question is still that of this time. */
export const askUnchanged = (at: Instant): Condition => ({
  ConditionExpression: "askAt = :at",
  ExpressionAttributeValues: { ":at": at },
});

/** The queue is not paused, and no other worker holds its lease. */
export const leaseIsFree = (worker: string, moment: Instant): Condition => ({
  ConditionExpression:
    "(attribute_not_exists(pausedUntil) OR pausedUntil <= :moment) AND (attribute_not_exists(leaseUntil) OR leaseUntil <= :moment OR worker = :own)",
  ExpressionAttributeValues: { ":moment": moment, ":own": worker },
});

/** The queue was paused, and neither a success nor an operator ended that. */
export const queueIsPaused: Condition = {
  ConditionExpression: "pausedUntil > :never",
  ExpressionAttributeValues: { ":never": 0 },
};

export const leaseIsOf = (worker: string): Condition => ({
  ConditionExpression: "worker = :own",
  ExpressionAttributeValues: { ":own": worker },
});

/** No other worker has published since, or holds the lease. */
export const sequenceUnchanged = (worker: string, sequence: number): Condition => ({
  ConditionExpression:
    sequence === 0
      ? "worker = :own AND attribute_not_exists(#sequence)"
      : "worker = :own AND #sequence = :sequence",
  ExpressionAttributeNames: { "#sequence": "sequence" },
  ExpressionAttributeValues: { ":own": worker, ...(sequence > 0 && { ":sequence": sequence }) },
});

/** The destination is still this webhook, with the secrets that were read. */
export const secretsUnchanged = ({
  url,
  secretEpochs,
}: {
  readonly url: string;
  readonly secretEpochs: readonly number[];
}): Condition => ({
  ConditionExpression: `#url = :url AND ${
    secretEpochs.length === 0 ? "attribute_not_exists(secretEpochs)" : "secretEpochs = :epochs"
  }`,
  ExpressionAttributeNames: { "#url": "url" },
  ExpressionAttributeValues: { ":url": url, ...(secretEpochs.length > 0 && { ":epochs": secretEpochs }) },
});

/** No owner: absent, or an expired tombstone. */
export const unowned = (moment: Instant): Condition => ({
  ConditionExpression: `${absent.ConditionExpression} OR erasedUntil <= :moment`,
  ExpressionAttributeValues: { ":moment": moment },
});

/** No owner: absent, or any tombstone, expired or not. */
export const unownedOrErased: Condition = {
  ConditionExpression: `${absent.ConditionExpression} OR attribute_exists(erasedUntil)`,
};

export const ownedBy = (application: ApplicationId, owner: CustomerId): Condition => ({
  ConditionExpression: "#owner = :owner",
  ExpressionAttributeNames: { "#owner": TABLE.ownerAttribute },
  ExpressionAttributeValues: { ":owner": partitions.customer(application, owner) },
});

/** The purchase still has this owner, and the revision that was read. */
export const ownedUnchanged = (
  application: ApplicationId,
  owner: CustomerId,
  revision: number,
): Condition => {
  const owned = ownedBy(application, owner);
  const unchanged = revisionUnchanged(revision);
  return {
    ...owned,
    ConditionExpression: `${owned.ConditionExpression} AND ${unchanged.ConditionExpression}`,
    ExpressionAttributeValues: {
      ...owned.ExpressionAttributeValues,
      ...unchanged.ExpressionAttributeValues,
    },
  };
};

/** The registration is free, or already the application's. */
export const absentOrOf = (application: ApplicationId): Condition => ({
  ConditionExpression: `${absent.ConditionExpression} OR application = :application`,
  ExpressionAttributeValues: { ":application": application },
});

/** The item is gone, or names the account. */
export const absentOrOfAccount = (account: AccountId): Condition => ({
  ConditionExpression: `${absent.ConditionExpression} OR account = :account`,
  ExpressionAttributeValues: { ":account": account },
});

export const unrevoked: Condition = {
  ConditionExpression: `${present.ConditionExpression} AND revokedAt = :none`,
  ExpressionAttributeValues: { ":none": null },
};

/** The table has no format marker yet, or this one. */
export const unmarkedOrOfFormat = (format: number): Condition => ({
  ConditionExpression: `${absent.ConditionExpression} OR tableFormat = :format`,
  ExpressionAttributeValues: { ":format": format },
});

/** The item is new, or its attribute is at most the limit. */
export const absentOrAtMost = (attribute: string, limit: number): Condition => ({
  ConditionExpression: `${absent.ConditionExpression} OR #attribute <= :limit`,
  ExpressionAttributeNames: { "#attribute": attribute },
  ExpressionAttributeValues: { ":limit": limit },
});

export const hasRoom = (counter: string, limit: number): Condition => ({
  ConditionExpression: "attribute_not_exists(#counter) OR #counter < :limit",
  ExpressionAttributeNames: { "#counter": counter },
  ExpressionAttributeValues: { ":limit": limit },
});

/** Neither counter stays above zero once `taken` is subtracted from the first. */
export const countsEnd = (counter: string, other: string, taken: number): Condition => ({
  ConditionExpression:
    "(attribute_not_exists(#counter) OR #counter <= :taken) AND (attribute_not_exists(#other) OR #other <= :zero)",
  ExpressionAttributeNames: { "#counter": counter, "#other": other },
  ExpressionAttributeValues: { ":taken": taken, ":zero": 0 },
});

/** At least one counter stays above zero once `taken` is subtracted from the first. */
export const countsRemain = (counter: string, other: string, taken: number): Condition => ({
  ConditionExpression: "#counter > :taken OR #other > :zero",
  ExpressionAttributeNames: { "#counter": counter, "#other": other },
  ExpressionAttributeValues: { ":taken": taken, ":zero": 0 },
});
