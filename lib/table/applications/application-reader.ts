import type {
  ApplicationStore,
  StoredApplication,
  StoreRegistration,
} from "../../administration/acts/apply.ts";
import type { Application, StoreReference, ApplicationLoader } from "../../applications/application.ts";
import { APPLICATION_FIELDS, withDefaults } from "../../applications/fields.ts";
import type { ApplicationId } from "../../identifiers.ts";
import { once } from "../../once.ts";
import {
  androidStoreItem,
  applicationItem,
  applicationOfTableItem,
  applicationPartitionItem,
  catalogItem,
  destinationItem,
  iosStoreItem,
  storeRegistrationItem,
} from "./application-items.ts";
import { requireFormatOf } from "../dynamodb/format.ts";
import { keys, partitions } from "../keys.ts";
import { queryItems, readItem } from "../dynamodb/reads.ts";
import { knownItems, parseItem, parseItems, type Table } from "../dynamodb/table.ts";

/** Applications in the table. All reads are strongly consistent. */
export interface ApplicationReader
  extends Pick<ApplicationStore, "read" | "registrationsOf">, ApplicationLoader {
  /** All applications of the table, ordered by identifier. */
  list(): Promise<readonly Pick<Application, "identifier" | "name">[]>;
}

export const createApplicationReader = (table: Table): ApplicationReader => {
  const read = async (identifier: ApplicationId): Promise<StoredApplication | null> => {
    const items = await queryItems(table, { pk: partitions.application(identifier) });
    const byKind = Map.groupBy(items, (item) => parseItem(applicationPartitionItem, item).kind);
    const [written] = byKind.get("application") ?? [];
    if (written !== undefined) requireFormatOf(table, written);
    const [application] = parseItems(applicationItem, byKind.get("application"));
    if (application === undefined) return null;
    const [catalog] = parseItems(catalogItem, byKind.get("catalog"));
    if (catalog === undefined) throw new Error(`The application ${identifier} has no catalog.`);
    // Parsed on first use: no function needs both. A repaired item is noticed as late as other changes.
    const iosStore = once(() => parseItems(iosStoreItem, byKind.get("ios-store")));
    const androidStore = once(() => parseItems(androidStoreItem, byKind.get("android-store")));
    const destinations = parseItems(destinationItem, byKind.get("destination"));
    return {
      version: application.version,
      application: {
        identifier,
        ...withDefaults(APPLICATION_FIELDS, application),
        get iosStore() {
          return iosStore();
        },
        get androidStore() {
          return androidStore();
        },
        catalog,
        destinations: destinations.filter((destination) => destination !== null),
      },
    };
  };

  const registrationOf = async (reference: StoreReference): Promise<StoreRegistration | null> => {
    const key = keys.storeRegistration(reference.store, reference.bundleOrPackage);
    const item = await readItem(table, key, storeRegistrationItem);
    return item === null ? null : { ...reference, application: item.application };
  };

  return {
    read,
    list: async () =>
      knownItems(applicationOfTableItem, await queryItems(table, { pk: partitions.applications })),
    load: async (identifier) => (await read(identifier))?.application ?? null,
    registrationsOf: async (stores) =>
      (await Promise.all(stores.map(registrationOf))).filter((registration) => registration !== null),
    applicationOf: async (reference) => (await registrationOf(reference))?.application ?? null,
  };
};
