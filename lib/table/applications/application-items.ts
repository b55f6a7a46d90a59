import * as z from "zod/mini";
import type {
  AndroidStoreConfiguration,
  Application,
  IosStoreConfiguration,
} from "../../applications/application.ts";
import { isWebhook, type Destination } from "../../applications/destination.ts";
import {
  ANDROID_STORE_FIELDS,
  APPLICATION_FIELDS,
  IOS_STORE_FIELDS,
  PRODUCT_FIELDS,
  withDefaults,
} from "../../applications/fields.ts";
import { catalogOf, type Catalog } from "../../entitlements/catalog.ts";
import type { ApplicationId } from "../../identifiers.ts";
import { once } from "../../once.ts";
import { attributesOf, shapeOf } from "./application-fields.ts";
import { TABLE_FORMAT } from "../dynamodb/format.ts";
import * as shape from "../dynamodb/shapes.ts";
import type { Attributes } from "../dynamodb/table.ts";

/** Schemas of the items that describe an application. Each names its kind, because one Query reads several. */
export const applicationItem = once(() =>
  z.object({
    kind: z.literal("application"),
    tableFormat: z.literal(TABLE_FORMAT),
    identifier: shape.application(),
    ...shapeOf(APPLICATION_FIELDS),
    version: shape.integer(),
  }),
);

/** An application's entry in the table's list of applications. */
export const applicationOfTableItem = once(() =>
  z.object({ identifier: shape.application(), name: shape.text() }),
);

export const iosStoreItem = once(() =>
  z.object({ kind: z.literal("ios-store"), ...shapeOf(IOS_STORE_FIELDS) }),
);

export const androidStoreItem = once(() =>
  z.object({ kind: z.literal("android-store"), ...shapeOf(ANDROID_STORE_FIELDS) }),
);

export const destinationItem = once(() =>
  z.object({
    kind: z.literal("destination"),
    name: shape.text(),
    url: z.optional(shape.text()),
    eventBus: z.optional(shape.text()),
    /** Only `destination rotate` writes it. */
    secretEpochs: z.optional(z.array(shape.integer())),
  }),
);

export const catalogItem = once(() =>
  z.object({
    kind: z.literal("catalog"),
    entitlements: z.array(z.object({ identifier: shape.text(), displayName: shape.text() })),
    products: z.array(z.object(shapeOf(PRODUCT_FIELDS))),
  }),
);

/** Kind of an item in an application's partition; unknown kinds, of a later version, are ignored. */
export const applicationPartitionItem = once(() => z.object({ kind: shape.text() }));

export const storeRegistrationItem = once(() =>
  z.object({ kind: z.literal("store-registration"), application: shape.application() }),
);

export const toApplicationItem = (application: Application, version: number) => ({
  kind: "application",
  tableFormat: TABLE_FORMAT,
  identifier: application.identifier,
  ...attributesOf(APPLICATION_FIELDS, application),
  version,
});

export const toStoreRegistrationItem = (application: ApplicationId) =>
  ({ kind: "store-registration", application }) satisfies Attributes<typeof storeRegistrationItem>;

export const toIosStoreItem = (store: IosStoreConfiguration) => ({
  kind: "ios-store",
  ...attributesOf(IOS_STORE_FIELDS, store),
});

export const toAndroidStoreItem = (store: AndroidStoreConfiguration) => ({
  kind: "android-store",
  ...attributesOf(ANDROID_STORE_FIELDS, store),
});

export const fromDestinationItem = ({
  name,
  url,
  eventBus,
  secretEpochs = [],
}: z.output<ReturnType<typeof destinationItem>>): Destination[] => {
  if (url !== undefined) return [{ name, url, secretEpochs }];
  return eventBus === undefined ? [] : [{ name, eventBus }];
};

/** Omits the secret's epochs, to keep them. */
export const toDestinationItem = (destination: Destination) =>
  ({
    kind: "destination",
    name: destination.name,
    url: isWebhook(destination) ? destination.url : undefined,
    eventBus: isWebhook(destination) ? undefined : destination.eventBus,
  }) satisfies Attributes<typeof destinationItem>;

export const fromCatalogItem = ({
  entitlements,
  products,
}: z.output<ReturnType<typeof catalogItem>>): Catalog =>
  catalogOf(
    new Map(entitlements.map(({ identifier, displayName }) => [identifier, displayName])),
    products.map((product) => withDefaults(PRODUCT_FIELDS, product)),
  );

export const toCatalogItem = ({ displayNames, products }: Catalog) => ({
  kind: "catalog",
  entitlements: [...displayNames].map(([identifier, displayName]) => ({ identifier, displayName })),
  products: products.map((product) => attributesOf(PRODUCT_FIELDS, product)),
});
