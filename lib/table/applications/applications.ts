import type {
  ApplicationStore,
  StoredApplication,
  StoreRegistration,
} from "../../administration/acts/apply.ts";
import type { DestinationTable } from "../../administration/acts/destinations.ts";
import { isWebhook, type Application, type StoreReference } from "../../applications/application.ts";
import {
  ANDROID_STORE_FIELDS,
  APPLICATION_FIELDS,
  IOS_STORE_FIELDS,
  PRODUCT_FIELDS,
  withDefaults,
} from "../../applications/fields.ts";
import type { Store } from "../../contract/schemas.ts";
import type { Catalog } from "../../entitlements/catalog.ts";
import type { ApplicationId } from "../../identifiers.ts";
import { once } from "../../once.ts";
import {
  absent,
  absentOrOf,
  secretsUnchanged,
  unmarkedOrOfFormat,
  versionUnchanged,
  type Condition,
} from "../dynamodb/conditions.ts";
import { queryItems, queryPages, readItem } from "../dynamodb/reads.ts";
import {
  keyIn,
  knownItems,
  parseItem,
  parseItems,
  requireFormatOf,
  TABLE_FORMAT,
  type Attributes,
  type markedItem,
  type Table,
} from "../dynamodb/table.ts";
import {
  deleteAll,
  deletion,
  ITEMS_PER_TRANSACTION,
  transact,
  update,
  type Write,
} from "../dynamodb/writes.ts";
import { isDelivery, keys, keyText, partitions, type Key } from "../keys.ts";
import {
  androidStoreItem,
  applicationItem,
  applicationOfTableItem,
  applicationPartitionItem,
  attributesOf,
  catalogItem,
  destinationItem,
  iosStoreItem,
  storeRegistrationItem,
} from "./application-items.ts";
import { auditWrites } from "./audit.ts";

/** Applications in the table. All reads are strongly consistent. */
export const createApplicationReader = (table: Table) => {
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
    /** All applications of the table, ordered by identifier. */
    list: async () =>
      knownItems(applicationOfTableItem, await queryItems(table, { pk: partitions.applications })),
    load: async (identifier: ApplicationId) => (await read(identifier))?.application ?? null,
    registrationsOf: async (stores: readonly StoreReference[]) =>
      (await Promise.all(stores.map(registrationOf))).filter((registration) => registration !== null),
    applicationOf: async (reference: StoreReference) =>
      (await registrationOf(reference))?.application ?? null,
  };
};

/** DynamoDB's item size limit; JSON is never shorter than what DynamoDB counts. */
const ITEM_BYTES = 400 * 1024;

interface Described {
  readonly key: Key;
  readonly attributes: object;
  /** Condition of each write of the item. */
  readonly condition?: Condition;
}

/** Two items for each bundle and package: its configuration, and its registration. */
const storeItems = ({ identifier, iosStore, androidStore }: Application): readonly Described[] => {
  const itemsOf = (store: Store, bundleOrPackage: string, attributes: object): Described[] => [
    {
      key: keys.storeConfiguration(identifier, store, bundleOrPackage),
      attributes: { kind: store, ...attributes },
    },
    {
      key: keys.storeRegistration(store, bundleOrPackage),
      attributes: { kind: "store-registration", application: identifier } satisfies Attributes<
        typeof storeRegistrationItem
      >,
      condition: absentOrOf(identifier),
    },
  ];
  return [
    ...iosStore.flatMap((one) =>
      itemsOf("ios-store", one.bundleIdentifier, attributesOf(IOS_STORE_FIELDS, one)),
    ),
    ...androidStore.flatMap((one) =>
      itemsOf("android-store", one.packageName, attributesOf(ANDROID_STORE_FIELDS, one)),
    ),
  ];
};

/** Without the secrets' epochs, which are kept. */
const destinationItems = ({ identifier, destinations }: Application): readonly Described[] =>
  destinations.map((destination) => ({
    key: keys.destination(identifier, destination.name),
    attributes: {
      kind: "destination",
      name: destination.name,
      url: isWebhook(destination) ? destination.url : undefined,
      eventBus: isWebhook(destination) ? undefined : destination.eventBus,
    } satisfies Attributes<typeof destinationItem>,
  }));

const catalogAttributes = ({ displayNames, products }: Catalog) => ({
  kind: "catalog",
  entitlements: [...displayNames].map(([identifier, displayName]) => ({ identifier, displayName })),
  products: products.map((product) => attributesOf(PRODUCT_FIELDS, product)),
});

/** Writes what differs, and deletes what is no longer described. */
const differenceWrites = (
  itemsOf: (application: Application) => readonly Described[],
  before: Application | null,
  after: Application,
): readonly Write[] => {
  const byKey = (items: readonly Described[]) => new Map(items.map((item) => [keyText(item.key), item]));
  const old = byKey(before === null ? [] : itemsOf(before));
  const wanted = byKey(itemsOf(after));
  const textOf = (item: Described | undefined) => JSON.stringify(item?.attributes);
  return [
    ...[...wanted]
      .filter(([name, item]) => textOf(old.get(name)) !== textOf(item))
      .map(([, { key, attributes, condition }]) => update(key, attributes, condition)),
    ...[...old]
      .filter(([name]) => !wanted.has(name))
      .map(([, { key, condition }]) => deletion(key, condition)),
  ];
};

/** Applications in the table, with the operator's writes to them. */
export const createApplicationTable = (
  table: Table,
): ReturnType<typeof createApplicationReader> & Pick<ApplicationStore, "save"> => ({
  ...createApplicationReader(table),

  save: async (before, after, audit) => {
    const { identifier, name } = after;
    const catalog = catalogAttributes(after.catalog);
    const bytes = Buffer.byteLength(JSON.stringify(catalog));
    if (bytes > ITEM_BYTES) return { outcome: "catalog_too_large", bytes, limit: ITEM_BYTES };
    const marker = { tableFormat: TABLE_FORMAT } satisfies Attributes<typeof markedItem>;
    const listed = { identifier, name } satisfies Attributes<typeof applicationOfTableItem>;
    const writes = [
      update(
        keys.application(identifier),
        {
          kind: "application",
          ...marker,
          identifier,
          ...attributesOf(APPLICATION_FIELDS, after),
          version: (before?.version ?? 0) + 1,
        },
        before === null ? absent : versionUnchanged(before.version),
      ),
      update(keys.catalog(identifier), catalog),
      update(keys.format(), marker, unmarkedOrOfFormat(TABLE_FORMAT)),
      update(keys.applicationOfTable(identifier), listed),
      ...auditWrites(identifier, audit),
      ...differenceWrites(destinationItems, before?.application ?? null, after),
    ];
    const stores = differenceWrites(storeItems, before?.application ?? null, after);
    const room = ITEMS_PER_TRANSACTION - writes.length;
    if (stores.length > room) return { outcome: "too_many_store_changes", limit: Math.floor(room / 2) };
    const { outcome } = await transact(table, [...writes, ...stores]);
    return { outcome: outcome === "written" ? "saved" : "changed_meanwhile" };
  },
});

const ITEMS_PER_PAGE = 500;

export const createDestinationTable = (table: Table): DestinationTable => ({
  setSecretEpochs: async (application, before, secretEpochs, audit) => {
    const rotated = { secretEpochs } satisfies Partial<Attributes<typeof destinationItem>>;
    const condition = secretsUnchanged(before.url, before.secretEpochs);
    const { outcome } = await transact(table, [
      update(keys.destination(application, before.name), rotated, condition),
      ...auditWrites(application, audit),
    ]);
    return outcome;
  },

  drop: async (destination, progress) => {
    const query = { pk: partitions.destination(destination), itemsPerPage: ITEMS_PER_PAGE };
    let dropped = 0;
    for await (const page of queryPages(table, query)) {
      const found = page.map(keyIn);
      await deleteAll(table, found);
      const deliveries = found.filter(isDelivery).length;
      dropped += deliveries;
      if (deliveries > 0) progress(dropped);
    }
    return dropped;
  },
});
