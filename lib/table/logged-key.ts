import { accountDigest } from "../account-digest.ts";
import { accountId } from "../identifiers.ts";

/** Keys that end with an account, a purchase or an identity, split before that last part. */
const NAMING =
  /^(APPLICATION#[^#]*#(?:ACCOUNT#|PURCHASE#[^#]*#[^#]*#|IDENTITY#[^#]*#[^#]*#[^#]*#)|\d{4}-[^#]*#)(.+)$/s;

/** A partition or sort key for logs: a last part that identifies somebody is replaced by the start of its SHA-256. */
export const loggedKey = (part: string): string =>
  part.replace(
    NAMING,
    (_, kind: string, value: string) => `${kind}${accountDigest(accountId(value)).slice(0, 12)}…`,
  );
