import type { Instant } from "../entitlements/time.ts";
import type { CustomerId, ApplicationId } from "../identifiers.ts";
import { customerPartition, TABLE } from "./keys.ts";

/** A condition of a write, and the names and values that it compares. */
export interface Condition {
  readonly ConditionExpression: string;
  readonly ExpressionAttributeNames?: Record<string, string>;
  readonly ExpressionAttributeValues?: Record<string, unknown>;
}

export const absent: Condition = { ConditionExpression: "attribute_not_exists(pk)" };
export const present: Condition = { ConditionExpression: "attribute_exists(pk)" };

/** The version that was read is the version that is replaced. */
export const versionUnchanged = (version: number): Condition => ({
  ConditionExpression: "version = :version",
  ExpressionAttributeValues: { ":version": version },
});

export const revisionUnchanged = (revision: number): Condition => ({
  ConditionExpression: "revision = :revision",
  ExpressionAttributeValues: { ":revision": revision },
});

/** Nobody's: absent, or the tombstone of an erasure that is over. */
export const unowned = (moment: Instant): Condition => ({
  ConditionExpression: `${absent.ConditionExpression} OR erasedUntil <= :moment`,
  ExpressionAttributeValues: { ":moment": moment },
});

/** Nobody's: absent, or the tombstone of an erasure, which gives way. */
export const unownedOrErased: Condition = {
  ConditionExpression: `${absent.ConditionExpression} OR attribute_exists(erasedUntil)`,
};

export const ownedBy = (application: ApplicationId, owner: CustomerId): Condition => ({
  ConditionExpression: "#owner = :owner",
  ExpressionAttributeNames: { "#owner": TABLE.ownerAttribute },
  ExpressionAttributeValues: { ":owner": customerPartition(application, owner) },
});

/** A registration that nobody has, or the application has already. */
export const absentOrOf = (application: ApplicationId): Condition => ({
  ConditionExpression: `${absent.ConditionExpression} OR application = :application`,
  ExpressionAttributeValues: { ":application": application },
});

export const unrevoked: Condition = {
  ConditionExpression: `${present.ConditionExpression} AND revokedAt = :none`,
  ExpressionAttributeValues: { ":none": null },
};

/** A table without a format yet, or of the given one. */
export const unmarkedOrOfFormat = (format: number): Condition => ({
  ConditionExpression: `${absent.ConditionExpression} OR tableFormat = :format`,
  ExpressionAttributeValues: { ":format": format },
});

/** A counter is below its limit. */
export const hasRoom = (counter: string, limit: number): Condition => ({
  ConditionExpression: "attribute_not_exists(#counter) OR #counter < :limit",
  ExpressionAttributeNames: { "#counter": counter },
  ExpressionAttributeValues: { ":limit": limit },
});

/** Nothing remains of two counters once so many are taken from the first. */
export const countsEnd = (counter: string, other: string, taken: number): Condition => ({
  ConditionExpression:
    "(attribute_not_exists(#counter) OR #counter <= :taken) AND (attribute_not_exists(#other) OR #other <= :zero)",
  ExpressionAttributeNames: { "#counter": counter, "#other": other },
  ExpressionAttributeValues: { ":taken": taken, ":zero": 0 },
});

/** Something remains of two counters once so many are taken from the first. */
export const countsRemain = (counter: string, other: string, taken: number): Condition => ({
  ConditionExpression: "#counter > :taken OR #other > :zero",
  ExpressionAttributeNames: { "#counter": counter, "#other": other },
  ExpressionAttributeValues: { ":taken": taken, ":zero": 0 },
});
