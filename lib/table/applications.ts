import { TransactionCanceledException } from "@aws-sdk/client-dynamodb";
import {
  GetCommand,
  TransactWriteCommand,
  paginateQuery,
  type TransactWriteCommandInput,
} from "@aws-sdk/lib-dynamodb";
import { storesOf, type Application, type StoreReference } from "../applications/application.ts";
import type {
  ApplicationStore,
  SaveOutcome,
  StoreRegistration,
  StoredApplication,
} from "../administration/apply.ts";
import type { ApplicationLoader } from "../applications/directory.ts";
import type { ApplicationId } from "../identifiers.ts";
import { once } from "../once.ts";
import {
  androidStoreItem,
  applicationItem,
  applicationOfTableItem,
  applicationPartitionItem,
  catalogItem,
  fromAndroidStoreItem,
  fromCatalogItem,
  fromIosStoreItem,
  iosStoreItem,
  storeRegistrationItem,
  toAndroidStoreItem,
  toApplicationItem,
  toCatalogItem,
  toIosStoreItem,
  toStoreRegistrationItem,
} from "./application-items.ts";
import { APPLICATIONS_PARTITION, keys, keyText, partitionOfApplication } from "./keys.ts";
import { TABLE_FORMAT, TableFormatError, unmarkedOrOfThisFormat } from "./format.ts";
import { absent, knownItems, parseItem, parseItems, type Item, type Table } from "./table.ts";
import { setAttributes, versionUnchanged } from "./writes.ts";

/** What the table knows of applications. All reads are strongly consistent. */
export interface ApplicationTable extends ApplicationStore, ApplicationLoader {
  /** All applications of the table, in order of identifier. */
  list(): Promise<readonly Pick<Application, "identifier" | "name">[]>;
}

type Write = NonNullable<TransactWriteCommandInput["TransactItems"]>[number];

/** DynamoDB's limit for the items of one transaction. */
const TRANSACTION_ITEMS = 100;
/** DynamoDB's limit for one item; JSON is never shorter than what DynamoDB counts. */
const ITEM_BYTES = 400 * 1024;

const absentOrOurs = `${absent} OR application = :application`;

/** A condition did not hold, or another transaction was at work on the same items. */
const conflicts = ({ CancellationReasons = [] }: TransactionCanceledException): boolean =>
  CancellationReasons.some(({ Code }) => Code === "ConditionalCheckFailed" || Code === "TransactionConflict");

interface StoreItem extends StoreReference {
  readonly attributes: object;
}

const storeItems = (application: Application | null): ReadonlyMap<string, StoreItem> => {
  if (application === null) return new Map();
  const attributes = [
    ...application.iosStore.map(toIosStoreItem),
    ...application.androidStore.map(toAndroidStoreItem),
  ];
  return new Map(
    storesOf(application).map(({ store, bundleOrPackage }, index) => [
      keyText(keys.storeRegistration(store, bundleOrPackage)),
      { store, bundleOrPackage, attributes: attributes[index] ?? {} },
    ]),
  );
};

const sameText = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);

export const createApplicationTable = ({ client, name: TableName }: Table): ApplicationTable => {
  const read = async (identifier: ApplicationId): Promise<StoredApplication | null> => {
    const items: Item[] = [];
    const pages = paginateQuery(
      { client },
      {
        TableName,
        KeyConditionExpression: "pk = :pk",
        ExpressionAttributeValues: { ":pk": partitionOfApplication(identifier) },
        ConsistentRead: true,
      },
    );
    for await (const page of pages) items.push(...(page.Items ?? []));
    const byKind = Map.groupBy(items, (item) => parseItem(applicationPartitionItem, item).kind);
    const [written] = byKind.get("application") ?? [];
    if (written !== undefined && written["tableFormat"] !== TABLE_FORMAT)
      throw new TableFormatError(TableName, written["tableFormat"]);
    const [application] = parseItems(applicationItem, byKind.get("application"));
    if (application === undefined) return null;
    const [catalog] = parseItems(catalogItem, byKind.get("catalog"));
    if (catalog === undefined) throw new Error(`The application ${identifier} has no catalog.`);
    const [ofIosStore, ofAndroidStore] = [byKind.get("ios-store"), byKind.get("android-store")];
    // Parsed when they are asked for: no function has a use for both. One that is malformed and mended is seen as late as
    // any other change.
    const iosStore = once(() => parseItems(iosStoreItem, ofIosStore).map(fromIosStoreItem));
    const androidStore = once(() => parseItems(androidStoreItem, ofAndroidStore).map(fromAndroidStoreItem));
    return {
      version: application.version,
      application: {
        identifier,
        name: application.name,
        transfers: application.transfers,
        get iosStore() {
          return iosStore();
        },
        get androidStore() {
          return androidStore();
        },
        catalog: fromCatalogItem(catalog),
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
    { identifier, name, transfers }: Application,
  ): Write =>
    setAttributes(
      TableName,
      keys.application(identifier),
      toApplicationItem({ identifier, name, transfers, version: (before?.version ?? 0) + 1 }),
      before === null ? { ConditionExpression: absent } : versionUnchanged(before.version),
    );

  /** Marks the table as of this format, and the application as one of its. */
  const register = ({ identifier, name }: Application): Write[] => [
    setAttributes(TableName, keys.format(), { tableFormat: TABLE_FORMAT }, unmarkedOrOfThisFormat),
    setAttributes(TableName, keys.applicationOfTable(identifier), { identifier, name }),
  ];

  const addStore = (
    application: ApplicationId,
    { store, bundleOrPackage, attributes }: StoreItem,
  ): Write[] => [
    setAttributes(TableName, keys.storeConfiguration(application, store, bundleOrPackage), { ...attributes }),
    {
      Put: {
        TableName,
        Item: { ...keys.storeRegistration(store, bundleOrPackage), ...toStoreRegistrationItem(application) },
        ConditionExpression: absentOrOurs,
        ExpressionAttributeValues: { ":application": application },
      },
    },
  ];

  const removeStore = (application: ApplicationId, { store, bundleOrPackage }: StoreItem): Write[] => [
    { Delete: { TableName, Key: keys.storeConfiguration(application, store, bundleOrPackage) } },
    {
      Delete: {
        TableName,
        Key: keys.storeRegistration(store, bundleOrPackage),
        ConditionExpression: absentOrOurs,
        ExpressionAttributeValues: { ":application": application },
      },
    },
  ];

  const storeWrites = (before: Application | null, after: Application): Write[] => {
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
        setAttributes(TableName, keys.storeConfiguration(after.identifier, store, bundleOrPackage), {
          ...attributes,
        }),
      ),
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
      ...storeWrites(before?.application ?? null, after),
    ];
    if (writes.length > TRANSACTION_ITEMS)
      return { outcome: "too_many_store_changes", limit: (TRANSACTION_ITEMS - 4) / 2 };
    try {
      await client.send(new TransactWriteCommand({ TransactItems: writes }));
      return { outcome: "saved" };
    } catch (error) {
      if (error instanceof TransactionCanceledException && conflicts(error))
        return { outcome: "changed_meanwhile" };
      throw error;
    }
  };

  const list = async (): Promise<readonly Pick<Application, "identifier" | "name">[]> => {
    const listed: Item[] = [];
    const pages = paginateQuery(
      { client },
      {
        TableName,
        KeyConditionExpression: "pk = :pk",
        ExpressionAttributeValues: { ":pk": APPLICATIONS_PARTITION },
        ConsistentRead: true,
      },
    );
    for await (const page of pages) listed.push(...(page.Items ?? []));
    return knownItems(applicationOfTableItem, listed);
  };

  return {
    list,
    read,
    save,
    load: async (identifier) => (await read(identifier))?.application ?? null,
    registrationsOf: async (stores) =>
      (await Promise.all(stores.map(registrationOf))).filter((registration) => registration !== null),
    applicationOfBundle: async (bundleIdentifier) =>
      (await registrationOf({ store: "ios-store", bundleOrPackage: bundleIdentifier }))?.application ?? null,
  };
};
