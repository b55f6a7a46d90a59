import * as z from "zod/mini";
import type { Destination } from "../../applications/application.ts";
import {
  ANDROID_STORE_FIELDS,
  APPLICATION_FIELDS,
  IOS_STORE_FIELDS,
  PRODUCT_FIELDS,
  withDefaults,
} from "../../applications/fields.ts";
import { catalogOf } from "../../entitlements/catalog.ts";
import { once } from "../../once.ts";
import { shapeOf } from "./application-fields.ts";
import { TABLE_FORMAT } from "../dynamodb/format.ts";
import * as shape from "../dynamodb/shapes.ts";

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
  shape.mapped(z.object({ kind: z.literal("ios-store"), ...shapeOf(IOS_STORE_FIELDS) }), (item) =>
    withDefaults(IOS_STORE_FIELDS, item),
  ),
);

export const androidStoreItem = once(() =>
  shape.mapped(z.object({ kind: z.literal("android-store"), ...shapeOf(ANDROID_STORE_FIELDS) }), (item) =>
    withDefaults(ANDROID_STORE_FIELDS, item),
  ),
);

/** A destination; null: it is of a kind that only a later version knows. */
export const destinationItem = once(() =>
  shape.mapped(
    z.object({
      kind: z.literal("destination"),
      name: shape.text(),
      url: z.optional(shape.text()),
      eventBus: z.optional(shape.text()),
      /** Only `destination rotate` writes it. */
      secretEpochs: shape.optional(z.array(shape.integer()), []),
    }),
    ({ name, url, eventBus, secretEpochs }): Destination | null => {
      if (url !== undefined) return { name, url, secretEpochs };
      return eventBus === undefined ? null : { name, eventBus };
    },
  ),
);

export const catalogItem = once(() =>
  shape.mapped(
    z.object({
      kind: z.literal("catalog"),
      entitlements: z.array(z.object({ identifier: shape.text(), displayName: shape.text() })),
      products: z.array(z.object(shapeOf(PRODUCT_FIELDS))),
    }),
    ({ entitlements, products }) =>
      catalogOf(
        new Map(entitlements.map(({ identifier, displayName }) => [identifier, displayName])),
        products.map((product) => withDefaults(PRODUCT_FIELDS, product)),
      ),
  ),
);

/** Kind of an item in an application's partition; unknown kinds, of a later version, are ignored. */
export const applicationPartitionItem = once(() => z.object({ kind: shape.text() }));

export const storeRegistrationItem = once(() =>
  z.object({ kind: z.literal("store-registration"), application: shape.application() }),
);
