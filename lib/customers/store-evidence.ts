import type { Application } from "../applications/application.ts";
import { ServiceError } from "../contract/errors.ts";
import type { Purchase } from "../entitlements/purchase.ts";
import type { Instant } from "../entitlements/time.ts";
import type { CustomerId } from "../identifiers.ts";
import { ABSORBED_PER_TRANSACTION, type CustomerChange } from "../table/customer-change.ts";
import type { CustomerTable } from "../table/customers.ts";
import type { Evidence } from "./evidence.ts";
import { planChange } from "./plan.ts";
import { resolve, type Claim } from "./rules.ts";

/** What storing evidence needs from outside. */
export interface EvidenceStore {
  readonly table: CustomerTable;
  readonly write: (change: CustomerChange) => Promise<"written" | "conflict">;
  readonly newCustomerIdentifier: () => CustomerId;
  /** Waits before an attempt, longer and more at random the later it is. */
  readonly pause: (attempt: number) => Promise<void>;
  readonly now: () => Instant;
}

/** The customer that the evidence names, after it is stored. */
export interface ResolvedCustomer {
  readonly identifier: CustomerId;
  readonly holdings: readonly Purchase[];
  /** Since when the evidence's acknowledgement is due; null where none is. */
  readonly acknowledgementDueSince: Instant | null;
}

/** So many times may others be faster before a request gives up. */
const ATTEMPTS = 20;

/**
 * Resolves whose evidence it is, and stores it: two reads, and one transaction, or none where all is known. Under
 * contention it reads again and decides anew, so that every answer is true of the state it was written to.
 *
 * Null: the evidence names nobody, or only names somebody unknown where nothing may be created. A client's claim needs
 * a verified purchase, in the request or before it, to make a link; to be refused it needs none.
 *
 * @throws ServiceError `CUSTOMER_ALREADY_LINKED`, `IDENTITY_CONFLICT`, `CUSTOMER_NOT_FOUND`, or `TOO_MANY_REQUESTS`
 *   where others were faster every time
 */
export const storeEvidence = async (
  { table, write, newCustomerIdentifier, pause, now }: EvidenceStore,
  application: Application,
  evidence: Evidence,
  claim: Claim | null,
): Promise<ResolvedCustomer | null> => {
  if (evidence.identities.length === 0 && evidence.purchases.length === 0) return null;

  for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
    if (attempt > 1) await pause(attempt);
    const moment = now();
    const known = await table.findFacts(
      application.identifier,
      evidence.identities,
      evidence.purchases,
      moment,
    );
    if (known.erased) throw new ServiceError("CUSTOMER_NOT_FOUND");
    const named = [
      ...known.identities.filter((customer) => customer !== null),
      ...[...known.purchases.values()].map(({ customer }) => customer),
    ];
    const byCredential = claim?.assertedBy === "credential";
    if (named.length === 0 && evidence.purchases.length === 0 && !byCredential) return null;
    const owners = await table.findCustomers(application.identifier, named);
    if (owners === null) throw new ServiceError("CUSTOMER_NOT_FOUND");

    const resolution = resolve(owners, claim, moment);
    if (resolution.outcome === "refused") throw new ServiceError(resolution.code);
    const { survivor, absorbed } = resolution;
    const hasPurchase = evidence.purchases.length > 0 || owners.some((customer) => customer.hasPurchased);
    const link = byCredential || hasPurchase ? resolution.link : (survivor?.link ?? null);

    // Very many customers of one person are merged in rounds, and nothing else until they are one.
    const inRounds = absorbed.length > ABSORBED_PER_TRANSACTION;
    const plan = planChange({
      application: application.identifier,
      catalog: application.catalog,
      evidence: inRounds ? { identities: [], purchases: [], acknowledgementDue: null } : evidence,
      known,
      survivor,
      absorbed: absorbed.slice(0, ABSORBED_PER_TRANSACTION),
      link,
      identifier: survivor?.identifier ?? newCustomerIdentifier(),
      moment,
    });
    const resolved = { ...plan.customer, acknowledgementDueSince: plan.acknowledgementDueSince };
    if (plan.change === null) return resolved;
    const outcome = await write(plan.change);
    if (outcome === "written" && !inRounds) return resolved;
    if (outcome === "written") attempt = 0;
  }
  throw new ServiceError("TOO_MANY_REQUESTS");
};
