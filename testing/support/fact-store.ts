import { v7 as uuid } from "uuid";
import type { FactStore } from "../../lib/customers/storing/fact-store.ts";
import type { Instant } from "../../lib/entitlements/time.ts";
import { customerId } from "../../lib/identifiers.ts";
import { bury } from "../../lib/table/customers/burial.ts";
import { createCustomerTable } from "../../lib/table/customers/customers.ts";
import type { Table } from "../../lib/table/dynamodb/table.ts";
import { writeCustomerChange } from "../../lib/table/customers/write-customer-change.ts";

/** Stores facts in a real table, as the functions do; without pauses between tries. */
export const factStoreOn = (table: Table, now: () => Instant): FactStore => {
  const pause = () => Promise.resolve();
  return {
    table: createCustomerTable(table),
    write: (change) => writeCustomerChange(table, change),
    bury: (...remains) => bury(table, ...remains),
    newCustomerIdentifier: () => customerId(uuid()),
    pause,
    now,
  };
};
