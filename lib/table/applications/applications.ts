import type { ApplicationStore, SaveOutcome, StoredApplication } from "../../administration/acts/apply.ts";
import type { Application, StoreReference } from "../../applications/application.ts";
import type { Destination } from "../../applications/destination.ts";
import type { Audited } from "../../administration/acts/audit-entry.ts";
import type { ApplicationId } from "../../identifiers.ts";
import {
  type applicationOfTableItem,
  toAndroidStoreItem,
  toApplicationItem,
  toCatalogItem,
  toDestinationItem,
  toIosStoreItem,
  toStoreRegistrationItem,
} from "./application-items.ts";
import { createApplicationReader, type ApplicationReader } from "./application-reader.ts";
import { auditWrite } from "./audit-write.ts";
import { absent, absentOrOf, unmarkedOrOfFormat, versionUnchanged } from "../dynamodb/conditions.ts";
import { TABLE_FORMAT, type markedItem } from "../dynamodb/format.ts";
import { keyText } from "../dynamodb/key.ts";
import { keys } from "../keys.ts";
import type { Attributes, Table } from "../dynamodb/table.ts";
import { ITEMS_PER_TRANSACTION, transact } from "../dynamodb/transactions.ts";
import { deletion, put, setAttributes, type TransactItem } from "../dynamodb/writes.ts";

/** Applications in the table, with the operator's writes to them. */
export type ApplicationTable = ApplicationReader & Pick<ApplicationStore, "save">;

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
  const { name: TableName } = table;

  const writeApplication = (before: StoredApplication | null, after: Application): TransactItem =>
    setAttributes(
      TableName,
      keys.application(after.identifier),
      toApplicationItem(after, (before?.version ?? 0) + 1),
      before === null ? absent : versionUnchanged(before.version),
    );

  /** Marks the table's format, and lists the application. */
  const register = ({ identifier, name }: Application): TransactItem[] => [
    setAttributes(
      TableName,
      keys.format(),
      { tableFormat: TABLE_FORMAT } satisfies Attributes<typeof markedItem>,
      unmarkedOrOfFormat(TABLE_FORMAT),
    ),
    setAttributes(TableName, keys.applicationOfTable(identifier), {
      identifier,
      name,
    } satisfies Attributes<typeof applicationOfTableItem>),
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

  const save = async (
    before: StoredApplication | null,
    after: Application,
    audit?: Audited,
  ): Promise<SaveOutcome> => {
    const catalog = toCatalogItem(after.catalog);
    const bytes = Buffer.byteLength(JSON.stringify(catalog));
    if (bytes > ITEM_BYTES) return { outcome: "catalog_too_large", bytes, limit: ITEM_BYTES };
    const writes = [
      writeApplication(before, after),
      setAttributes(TableName, keys.catalog(after.identifier), catalog),
      ...register(after),
      ...(audit === undefined ? [] : [auditWrite(TableName, after.identifier, audit)]),
      ...destinationWrites(before?.application ?? null, after),
    ];
    const stores = storeWrites(before?.application ?? null, after);
    const room = ITEMS_PER_TRANSACTION - writes.length;
    if (stores.length > room) return { outcome: "too_many_store_changes", limit: Math.floor(room / 2) };
    const { outcome } = await transact(table, [...writes, ...stores]);
    return { outcome: outcome === "written" ? "saved" : "changed_meanwhile" };
  };

  return { ...createApplicationReader(table), save };
};
