import { tellsChanges, type Application } from "../../applications/application.ts";
import type { StoredCustomer } from "../../customers/storing/records.ts";
import { holdingsOf, sameHoldings } from "../../entitlements/holdings.ts";
import { referenceText } from "../../entitlements/purchase.ts";
import type { CustomerId } from "../../identifiers.ts";
import { withCustomer, type Operations } from "./operations.ts";
import { operatorChange, scannedPart, type Scan, type ScanPosition } from "./operation-table.ts";
import { AT_ONCE, sideBySide } from "../side-by-side.ts";

export interface Reprojection extends Scan<ScanPosition> {
  readonly customers: number;
  readonly changed: number;
}

const reprojectCustomer = async (
  operations: Operations,
  described: Application,
  customer: CustomerId,
): Promise<"changed" | "unchanged" | null> => {
  const { findOwnership, write, now } = operations;
  const { identifier: application, catalog } = described;
  const project = async (stored: StoredCustomer) => {
    const { purchases } = await findOwnership(application, stored.identifier);
    const holdings = holdingsOf(
      new Map([
        // The index may not list the newest purchases yet; the holdings have them.
        ...stored.holdings.map((purchase) => [referenceText(purchase), purchase] as const),
        ...purchases.map(({ purchase }) => [referenceText(purchase), purchase] as const),
      ]).values(),
      catalog,
    );
    if (sameHoldings(stored.holdings, holdings)) return "unchanged";
    const change = operatorChange(application, stored, { holdings }, now(), tellsChanges(described));
    const written = await write(change);
    return written === "conflict" ? written : "changed";
  };
  return withCustomer(operations, application, customer, project, () => null);
};

/**
 * Recomputes the holdings of all customers of an application from their purchases: needed when a changed catalog maps
 * purchases that were not held. Safe to repeat and to run concurrently.
 */
export const reprojectApplication = async (
  operations: Operations,
  application: Application,
  after: ScanPosition | null,
  progress: (done: Reprojection) => void,
): Promise<Reprojection> => {
  const { table } = operations;
  const size = await table.size();
  let done: Reprojection = { customers: 0, changed: 0, position: after, part: null };
  for await (const { customers, scanned } of table.customerPages(application.identifier, after)) {
    let changed = 0;
    await sideBySide(customers, AT_ONCE, async (customer) => {
      if ((await reprojectCustomer(operations, application, customer)) === "changed") changed += 1;
    });
    const last = customers.at(-1);
    done = {
      customers: done.customers + customers.length,
      changed: done.changed + changed,
      position: last === undefined ? done.position : { customer: last, scanned },
      part: scannedPart(scanned, size),
    };
    progress(done);
  }
  return done;
};
