import type { ItemKind } from "../contract/table-access.ts";
import { applicationId } from "../identifiers.ts";
import { LOOKS_SUFFIX, partitions } from "./keys.ts";

/** Any application's identifier, a UUID: a wildcard of another length would match what follows it, too. */
const anyApplication = (): string => partitions.application(applicationId("?".repeat(36)));

/**
 * Partition keys of each kind of items, as IAM's `StringLike` matches them: `?` is one character, `*` any number. They separate
 * kinds, not tenants: each function works for all applications.
 *
 * @see https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_elements_condition_operators.html
 */
export const partitionPatterns = (application = anyApplication()): Readonly<Record<ItemKind, string>> => ({
  application,
  "application-list": partitions.applications,
  "store-registration": "STORE#*",
  credential: "CREDENTIAL#*",
  account: `${application}#ACCOUNT#*`,
  customer: `${application}#CUSTOMER#*`,
  identity: `${application}#IDENTITY#*`,
  purchase: `${application}#PURCHASE#*`,
  transfer: `${application}#TRANSFERS`,
  ask: `${application}#ASK#*`,
  look: `${application}${LOOKS_SUFFIX}`,
  told: `${application}#TOLD#*`,
  change: `${application}#CHANGES*`,
  delivery: `${application}#DESTINATION#*`,
  forward: `${application}#FORWARD#*`,
  notification: partitions.notifications,
});
