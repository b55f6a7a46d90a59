import type { ErrorCode } from "../../contract/errors.ts";
import type { AssertedBy } from "../../contract/schemas.ts";
import type { Instant } from "../../entitlements/time.ts";
import type { AccountId, CustomerId } from "../../identifiers.ts";
import { compare } from "../../order.ts";
import type { Link } from "./records.ts";

export interface Claim {
  readonly account: AccountId;
  readonly assertedBy: AssertedBy;
  /** An import's: it moves no customer that any other account has, and lifts no erasure. */
  readonly isImported?: true;
}

export interface Owner {
  readonly identifier: CustomerId;
  readonly createdAt: Instant;
  readonly link: Link | null;
}

interface Resolved<Customer extends Owner> {
  readonly outcome: "resolved";
  /** Null: no customer owns these identities yet. */
  readonly survivor: Customer | null;
  /** The same person's other customers; they become aliases of the survivor. */
  readonly absorbed: readonly Customer[];
  readonly link: Link | null;
}

export interface Refused {
  readonly outcome: "refused";
  readonly code: Extract<ErrorCode, "CUSTOMER_ALREADY_LINKED" | "IDENTITY_CONFLICT">;
}

/** Only a client's link to another account yields, and only to a credential. */
export const yields = (link: Link, claim: Claim | null): boolean =>
  claim?.assertedBy === "credential" &&
  claim.isImported !== true &&
  link.assertedBy === "client" &&
  link.account !== claim.account;

/**
 * Decides which customer a request is about, and its account. A customer of another account is refused, unless its link
 * yields or a credential may move it. Customers whose links agree merge: linked survives unlinked, then older younger.
 *
 * @param owners the distinct customers that own the request's identities
 * @param mayTransfer whether a credential may move these customers from the account they all have
 */
export const resolveCustomer = <Customer extends Owner>(
  owners: readonly Customer[],
  claim: Claim | null,
  moment: Instant,
  mayTransfer: () => boolean = () => false,
): Resolved<Customer> | Refused => {
  const firm = owners.flatMap(({ link }) => (link !== null && !yields(link, claim) ? [link] : []));
  const [account, ...others] = new Set(firm.map((link) => link.account));
  if (others.length > 0) return { outcome: "refused", code: "IDENTITY_CONFLICT" };
  const isElsewhere = account !== undefined && claim !== null && claim.account !== account;
  const mayMove = claim?.assertedBy === "credential" && claim.isImported !== true;
  if (isElsewhere && !(mayMove && mayTransfer()))
    return { outcome: "refused", code: "CUSTOMER_ALREADY_LINKED" };

  const rank = ({ link }: Owner): number => (link === null ? 2 : yields(link, claim) ? 1 : 0);
  const [survivor = null, ...absorbed] = [...owners].sort(
    (a, b) => rank(a) - rank(b) || compare(a.createdAt, b.createdAt) || compare(a.identifier, b.identifier),
  );

  const agreeing = isElsewhere ? [] : firm;
  const linkedTo = isElsewhere ? claim.account : (account ?? claim?.account);
  if (linkedTo === undefined) return { outcome: "resolved", survivor, absorbed, link: null };
  const byCredential =
    claim?.assertedBy === "credential" || agreeing.some((link) => link.assertedBy === "credential");
  return {
    outcome: "resolved",
    survivor,
    absorbed,
    link: {
      account: linkedTo,
      assertedBy: byCredential ? "credential" : "client",
      linkedAt: Math.min(...(agreeing.length > 0 ? agreeing.map((link) => link.linkedAt) : [moment])),
    },
  };
};
