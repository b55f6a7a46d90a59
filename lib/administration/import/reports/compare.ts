import { accountHoldings, type CustomerTable } from "../../../customers/storing/customer-table.ts";
import type { Application } from "../../../applications/application.ts";
import { entitlementsAt } from "../../../entitlements/entitlements.ts";
import type { Instant } from "../../../entitlements/time.ts";
import type { AccountId } from "../../../identifiers.ts";
import { claimsAccessAt, claimsOf, type ImportSource } from "../claim.ts";
import { createJoin, isNewest, noteClaim } from "../join.ts";
import { sideBySide } from "../../side-by-side.ts";
import { createColumn, createSlots, sha256 } from "../slots.ts";

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

const SAID = 1;
const ACCESS = 2;
const COMPARED = 4;

/** Access of each account by the export: true if any of its purchases gives access. */
const readAccess = async (source: ImportSource, moment: Instant) => {
  const join = createJoin();
  for await (const { claim } of claimsOf(source)) noteClaim(join, claim);
  const slots = createSlots();
  const bits = createColumn(Uint8Array);
  for await (const { claim } of claimsOf(source)) {
    const access = claimsAccessAt(claim, moment);
    if (claim.account === null || access === null || !isNewest(join, claim)) continue;
    const slot = slots.slotOf(sha256(claim.account));
    bits.set(slot, bits.get(slot) | SAID | (access ? ACCESS : 0));
  }
  return { slots, bits };
};

/** Compares a newer export with what this service answers now. Asks no store: one read for each account. */
export const compareExport = async (
  source: ImportSource,
  { table, application, now, atOnce, onDifference }: Comparing,
) => {
  const moment = now();
  const { slots, bits } = await readAccess(source, moment);
  // Access at the other service alone, and here alone.
  const counts = { accounts: 0, agree: 0, onlyThere: 0, onlyHere: 0 };
  await sideBySide(claimsOf(source), atOnce, async ({ claim: { account } }) => {
    if (account === null) return;
    const slot = slots.find(sha256(account));
    if (slot < 0 || (bits.get(slot) & COMPARED) !== 0) return;
    bits.set(slot, bits.get(slot) | COMPARED);
    const claimed = (bits.get(slot) & ACCESS) !== 0;
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
