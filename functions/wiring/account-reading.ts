import type { AccountReading } from "../../lib/customers/read-account-entitlements.ts";
import { pause } from "../../lib/pause.ts";
import { createCustomerTable } from "../../lib/table/customers/customers.ts";
import { directoryOf, type ServiceConfiguration } from "./service.ts";

export const composeAccountReading = (configuration: ServiceConfiguration): AccountReading => ({
  directory: directoryOf(configuration),
  table: createCustomerTable(configuration.table, pause),
  now: configuration.now,
});
