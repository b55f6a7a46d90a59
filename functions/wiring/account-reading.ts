import type { AccountReading } from "../../lib/customers/read-account-entitlements.ts";
import { createCustomerTable } from "../../lib/table/customers/customers.ts";
import { directoryOf, type ServiceConfiguration } from "./service.ts";

export const composeAccountReading = (configuration: ServiceConfiguration): AccountReading => ({
  directory: directoryOf(configuration),
  table: createCustomerTable(configuration.table),
  now: configuration.now,
});
