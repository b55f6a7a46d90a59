import { GetCommand } from "@aws-sdk/lib-dynamodb";
import type {
  ApplicationStore,
  SaveOutcome,
  StoredApplication,
  StoreRegistration,
} from "../administration/apply.ts";
import {
  DEFAULT_RENEWAL_LEEWAY_MILLISECONDS,
  type Application,
  type StoreReference,
} from "../applications/application.ts";
import type { Destination } from "../applications/destination.ts";
import type { ApplicationLoader } from "../applications/directory.ts";
import type { ApplicationId } from "../identifiers.ts";
import { once } from "../once.ts";
import {
  androidStoreItem,
  applicationItem,
  applicationOfTableItem,
  applicationPartitionItem,
  catalogItem,
  destinationItem,
  fromAndroidStoreItem,
  fromCatalogItem,
  fromDestinationItem,
  fromIosStoreItem,
  iosStoreItem,
  storeRegistrationItem,
  toAndroidStoreItem,
  toApplicationItem,
  toCatalogItem,
  toDestinationItem,
  toIosStoreItem,
  toStoreRegistrationItem,
} from "./application-items.ts";
import { absent, absentOrOf, unmarkedOrOfFormat, versionUnchanged } from "./conditions.ts";
import { TABLE_FORMAT, TableFormatError } from "./format.ts";
import { APPLICATIONS_PARTITION, keys, keyText, partitionOfApplication } from "./keys.ts";
import { queryItems } from "./query.ts";
import { knownItems, parseItem, parseItems, type Table } from "./table.ts";
import { ITEMS_PER_TRANSACTION, transact } from "./transactions.ts";
import { deletion, put, setAttributes, type TransactItem } from "./writes.ts";

/** Applications in the table. All reads are strongly consistent. */
export interface ApplicationTable extends ApplicationStore, ApplicationLoader {
  /** All applications of the table, ordered by identifier. */
  list(): Promise<readonly Pick<Application, "identifier" | "name">[]>;
}

/** DynamoDB's item size limit; JSON is never shorter than what DynamoDB counts. */
const ITEM_BYTES = 400 * 1024;

interface StoreItem extends StoreReference {
  readonly attributes: object;
}

const storeItems = (application: Application | null): ReadonlyMap<string, StoreItem> => {
  const items: StoreItem[] = [
    ...(application?.iosStore ?? []).map((configuration) => ({
      store: "ios-store" as const,
      bundleOrPackage: configuration.bundleIdentifier,
      attributes: toIosStoreItem(configuration),
    })),
    ...(application?.androidStore ?? []).map((configuration) => ({
      store: "android-store" as const,
      bundleOrPackage: configuration.packageName,
      attributes: toAndroidStoreItem(configuration),
    })),
  ];
  return new Map(
    items.map((item) => [keyText(keys.storeRegistration(item.store, item.bundleOrPackage)), item]),
  );
};

const sameText = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);

export const createApplicationTable = (table: Table): ApplicationTable => {
  const { client, name: TableName } = table;

  const read = async (identifier: ApplicationId): Promise<StoredApplication | null> => {
    const items = await queryItems(table, { pk: partitionOfApplication(identifier) });
    const byKind = Map.groupBy(items, (item) => parseItem(applicationPartitionItem, item).kind);
    const [written] = byKind.get("application") ?? [];
    if (written !== undefined && written["tableFormat"] !== TABLE_FORMAT)
      throw new TableFormatError(TableName, written["tableFormat"]);
    const [application] = parseItems(applicationItem, byKind.get("application"));
    if (application === undefined) return null;
    const [catalog] = parseItems(catalogItem, byKind.get("catalog"));
    if (catalog === undefined) throw new Error(`The application ${identifier} has no catalog.`);
    const [ofIosStore, ofAndroidStore] = [byKind.get("ios-store"), byKind.get("android-store")];
    // Parsed on first use: no function needs both. A repaired item is seen as late as every other change.
    const iosStore = once(() => parseItems(iosStoreItem, ofIosStore).map(fromIosStoreItem));
    const androidStore = once(() => parseItems(androidStoreItem, ofAndroidStore).map(fromAndroidStoreItem));
    return {
      version: application.version,
      application: {
        identifier,
        name: application.name,
        transfers: application.transfers,
        renewalLeeway: application.renewalLeeway ?? DEFAULT_RENEWAL_LEEWAY_MILLISECONDS,
        get iosStore() {
          return iosStore();
        },
        get androidStore() {
          return androidStore();
        },
        catalog: fromCatalogItem(catalog),
        destinations: parseItems(destinationItem, byKind.get("destination")).flatMap(fromDestinationItem),
        keepsChanges: application.keepsChanges ?? false,
      },
    };
  };

  const registrationOf = async ({
    store,
    bundleOrPackage,
  }: StoreReference): Promise<StoreRegistration | null> => {
    const Key = keys.storeRegistration(store, bundleOrPackage);
    const { Item } = await client.send(new GetCommand({ TableName, Key, ConsistentRead: true }));
    if (Item === undefined) return null;
    return { store, bundleOrPackage, application: parseItem(storeRegistrationItem, Item).application };
  };

  const writeApplication = (
    before: StoredApplication | null,
    { identifier, name, transfers, renewalLeeway, keepsChanges }: Application,
  ): TransactItem =>
    setAttributes(
      TableName,
      keys.application(identifier),
      toApplicationItem({
        identifier,
        name,
        transfers,
        renewalLeeway,
        keepsChanges: keepsChanges || undefined,
        version: (before?.version ?? 0) + 1,
      }),
      before === null ? absent : versionUnchanged(before.version),
    );

  /** Marks the table's format, and lists the application. */
  const register = ({ identifier, name }: Application): TransactItem[] => [
    setAttributes(TableName, keys.format(), { tableFormat: TABLE_FORMAT }, unmarkedOrOfFormat(TABLE_FORMAT)),
    setAttributes(TableName, keys.applicationOfTable(identifier), { identifier, name }),
  ];

  const addStore = (
    application: ApplicationId,
    { store, bundleOrPackage, attributes }: StoreItem,
  ): TransactItem[] => [
    setAttributes(TableName, keys.storeConfiguration(application, store, bundleOrPackage), attributes),
    put(
      TableName,
      keys.storeRegistration(store, bundleOrPackage),
      toStoreRegistrationItem(application),
      absentOrOf(application),
    ),
  ];

  const removeStore = (application: ApplicationId, { store, bundleOrPackage }: StoreItem): TransactItem[] => [
    deletion(TableName, keys.storeConfiguration(application, store, bundleOrPackage)),
    deletion(TableName, keys.storeRegistration(store, bundleOrPackage), absentOrOf(application)),
  ];

  const storeWrites = (before: Application | null, after: Application): TransactItem[] => {
    const old = storeItems(before);
    const wanted = storeItems(after);
    const added = [...wanted].filter(([key]) => !old.has(key));
    const removed = [...old].filter(([key]) => !wanted.has(key));
    const changed = [...wanted].filter(
      ([key, { attributes }]) => old.has(key) && !sameText(old.get(key)?.attributes, attributes),
    );
    return [
      ...added.flatMap(([, store]) => addStore(after.identifier, store)),
      ...removed.flatMap(([, store]) => removeStore(after.identifier, store)),
      ...changed.map(([, { store, bundleOrPackage, attributes }]) =>
        setAttributes(
          TableName,
          keys.storeConfiguration(after.identifier, store, bundleOrPackage),
          attributes,
        ),
      ),
    ];
  };

  const destinationWrites = (before: Application | null, after: Application): TransactItem[] => {
    const key = ({ name }: Destination) => keys.destination(after.identifier, name);
    const old = new Map((before?.destinations ?? []).map((one) => [one.name, one]));
    const wanted = new Set(after.destinations.map(({ name }) => name));
    return [
      ...after.destinations
        .filter((one) => {
          const known = old.get(one.name);
          return known === undefined || !sameText(toDestinationItem(known), toDestinationItem(one));
        })
        .map((one) => setAttributes(TableName, key(one), toDestinationItem(one))),
      ...[...old.values()]
        .filter(({ name }) => !wanted.has(name))
        .map((one) => deletion(TableName, key(one))),
    ];
  };

  const save = async (before: StoredApplication | null, after: Application): Promise<SaveOutcome> => {
    const catalog = toCatalogItem(after.catalog);
    const bytes = Buffer.byteLength(JSON.stringify(catalog));
    if (bytes > ITEM_BYTES) return { outcome: "catalog_too_large", bytes, limit: ITEM_BYTES };
    const writes = [
      writeApplication(before, after),
      setAttributes(TableName, keys.catalog(after.identifier), catalog),
      ...register(after),
      ...destinationWrites(before?.application ?? null, after),
      ...storeWrites(before?.application ?? null, after),
    ];
    if (writes.length > ITEMS_PER_TRANSACTION)
      return { outcome: "too_many_store_changes", limit: (ITEMS_PER_TRANSACTION - 4) / 2 };
    const { outcome } = await transact(table, writes);
    return { outcome: outcome === "written" ? "saved" : "changed_meanwhile" };
  };

  const list = async (): Promise<readonly Pick<Application, "identifier" | "name">[]> =>
    knownItems(applicationOfTableItem, await queryItems(table, { pk: APPLICATIONS_PARTITION }));

  return {
    list,
    read,
    save,
    load: async (identifier) => (await read(identifier))?.application ?? null,
    registrationsOf: async (stores) =>
      (await Promise.all(stores.map(registrationOf))).filter((registration) => registration !== null),
    applicationOfBundle: async (bundleIdentifier) =>
      (await registrationOf({ store: "ios-store", bundleOrPackage: bundleIdentifier }))?.application ?? null,
    applicationOfPackage: async (packageName) =>
      (await registrationOf({ store: "android-store", bundleOrPackage: packageName }))?.application ?? null,
  };
};
