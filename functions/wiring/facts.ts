import { v7 as uuid } from "uuid";
import type { Bury } from "../../lib/customers/storing/bury-remains.ts";
import type { CustomerChange } from "../../lib/customers/storing/customer-change.ts";
import type { FactStore } from "../../lib/customers/storing/fact-store.ts";
import { customerId } from "../../lib/identifiers.ts";
import { pause } from "../../lib/pause.ts";
import { bury, writeCustomerChange } from "../../lib/table/customers/write-customer-change.ts";
import { createCustomerTable } from "../../lib/table/customers/customers.ts";
import { observedCustomerTable, observedWrite } from "../observability/observation.ts";
import type { ServiceConfiguration } from "./service.ts";

export const factStoreOf = ({ table, now, observer }: ServiceConfiguration): FactStore => ({
  table: observedCustomerTable(createCustomerTable(table), observer),
  write: observedWrite((change: CustomerChange) => writeCustomerChange(table, change), observer),
  bury: observedWrite((...remains: Parameters<Bury>) => bury(table, ...remains), observer),
  newCustomerIdentifier: () => customerId(uuid()),
  pause,
  now,
  onUngranted: (products) => observer?.productsUngranted(products),
});
