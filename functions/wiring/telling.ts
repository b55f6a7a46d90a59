import { createApplicationReader } from "../../lib/table/applications/applications.ts";
import { createCustomerTable } from "../../lib/table/customers/customers.ts";
import { createChangeTable } from "../../lib/table/telling/changes.ts";
import type { TellingRun } from "../../lib/telling/tell-changes.ts";
import { keyedHash } from "../../lib/delivery/webhook-secret.ts";
import { applicationsOf, directoryOf, runOf, type Upkeep } from "./service.ts";

export interface MasterSecretAccess {
  /** The service's master secret, of 32 bytes or more. */
  readonly masterSecret: () => Promise<Uint8Array>;
}

export const composeTelling = (configuration: Upkeep & MasterSecretAccess): TellingRun => {
  const { table, masterSecret } = configuration;
  return {
    directory: directoryOf(configuration),
    currentApplication: createApplicationReader(table).load,
    changes: createChangeTable(table, async (application, account) =>
      keyedHash(await masterSecret(), application, account),
    ),
    accounts: createCustomerTable(table),
    applications: applicationsOf(configuration),
    ...runOf(configuration),
  };
};
