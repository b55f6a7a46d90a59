import { accountHoldings } from "../../../customers/storing/records.ts";
import type { CustomerTable } from "../../../customers/storing/fact-store.ts";
import type { Application } from "../../../applications/application.ts";
import { entitlementsAt } from "../../../entitlements/entitlements.ts";
import type { Instant } from "../../../entitlements/time.ts";
import type { AccountId } from "../../../identifiers.ts";
import { sideBySide } from "../../side-by-side.ts";
import { claimsAccessAt, claimsOf, type ImportSource } from "../claim.ts";
import { isNewest, noteClaim, type Join } from "../join.ts";

/** An account to which the other service and this one give different access. */
interface AccessDifference {
  readonly account: AccountId;
  /** Whether the other service gives access; this one does the opposite. */
  readonly claimed: boolean;
  /** Best status of the account's entitlements here; null: it has none. */
  readonly status: string | null;
}

interface Comparing {
  readonly table: Pick<CustomerTable, "findAccount">;
  readonly application: Application;
  readonly now: () => Instant;
  readonly atOnce: number;
  readonly onDifference: (difference: AccessDifference) => void;
}

/** Access of each account by the export: true if any of its purchases gives access. */
const readAccess = async (
  source: ImportSource,
  moment: Instant,
): Promise<ReadonlyMap<AccountId, boolean>> => {
  const join: Join = new Map();
  for await (const { claim } of claimsOf(source)) noteClaim(join, claim);
  const access = new Map<AccountId, boolean>();
  for await (const { claim } of claimsOf(source)) {
    const given = claimsAccessAt(claim, moment);
    if (claim.account === null || given === null || !isNewest(join, claim)) continue;
    access.set(claim.account, given || access.get(claim.account) === true);
  }
  return access;
};

/** Compares a newer export with what this service answers now. Asks no store: one read for each account. */
export const compareExport = async (
  source: ImportSource,
  { table, application, now, atOnce, onDifference }: Comparing,
) => {
  const moment = now();
  // Access at the other service alone, and here alone.
  const counts = { accounts: 0, agree: 0, onlyThere: 0, onlyHere: 0 };
  await sideBySide(await readAccess(source, moment), atOnce, async ([account, claimed]) => {
    const holdings = accountHoldings(await table.findAccount(application.identifier, account));
    const entitlements = entitlementsAt(moment, holdings, application);
    const given = entitlements.some(({ active }) => active);
    counts.accounts += 1;
    if (given === claimed) counts.agree += 1;
    else {
      counts[claimed ? "onlyThere" : "onlyHere"] += 1;
      const best = entitlements.find(({ active }) => active) ?? entitlements[0];
      onDifference({ account, claimed, status: best?.status ?? null });
    }
  });
  return counts;
};
export type Comparison = Awaited<ReturnType<typeof compareExport>>;
