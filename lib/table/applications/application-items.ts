import * as z from "zod/mini";
import type { Destination } from "../../applications/application.ts";
import {
  ANDROID_STORE_FIELDS,
  APPLICATION_FIELDS,
  IOS_STORE_FIELDS,
  PRODUCT_FIELDS,
  withDefaults,
  type Field,
  type Fields,
  type Kinds,
  type ValueOf,
  type Values,
} from "../../applications/fields.ts";
import { catalogOf } from "../../entitlements/catalog.ts";
import * as shape from "../dynamodb/shapes.ts";
import { TABLE_FORMAT } from "../dynamodb/table.ts";

const isObject = (value: unknown): boolean =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Schema of a field's value in an item. */
const schemaOf = (field: Field): z.ZodMiniType => {
  switch (field.kind) {
    case "name":
    case "bundleOrPackage":
      return shape.text();
    case "names":
    case "certificates":
      return shape.texts();
    case "positiveInteger":
    case "duration":
      return shape.integer();
    case "flag":
      return z.boolean();
    case "choice":
      return z.enum(field.of);
    case "choices":
      return z.array(z.enum(field.of));
    case "period":
      return z.object({ months: shape.integer(), milliseconds: shape.integer() });
    case "appStoreServerKey":
      return z.object({ issuerIdentifier: shape.text(), keyIdentifier: shape.text(), secret: shape.text() });
    case "iosStoreNotifications":
      return z.union([z.object({ forwardedBy: z.literal(true) }), z.object({ forwardTo: shape.text() })]);
    case "androidStoreCredential":
      return z.union([
        z.strictObject({ secret: shape.text() }),
        z.strictObject({
          workloadIdentity: shape.jsonText(z.custom<Record<string, unknown>>(isObject)),
        }),
      ]);
    case "androidStoreNotifications":
      return z.object({ serviceAccount: shape.text(), audience: shape.text() });
  }
};

type Shape<Named extends Fields> = {
  readonly [Name in keyof Named]: Named[Name] extends { default: null }
    ? z.ZodMiniOptional<z.ZodMiniNullable<z.ZodMiniType<ValueOf<Named[Name]>>>>
    : Named[Name] extends { default: unknown }
      ? z.ZodMiniOptional<z.ZodMiniType<ValueOf<Named[Name]>>>
      : z.ZodMiniType<ValueOf<Named[Name]>>;
};

/** Schemas of the fields' attributes, for `z.object`. An attribute with a default may be missing. */
const shapeOf = <Named extends Fields>(fields: Named): Shape<Named> =>
  Object.fromEntries(
    Object.entries(fields).map(([name, field]) => {
      const schema = schemaOf(field);
      if (field.default === undefined) return [name, schema];
      return [name, z.optional(field.default === null ? z.nullable(schema) : schema)];
    }),
  ) as Shape<Named>;

const storedValue = ({ kind }: Field, value: unknown): unknown => {
  if (kind !== "androidStoreCredential") return value;
  const credential = value as Kinds["androidStoreCredential"];
  return "secret" in credential
    ? credential
    : { workloadIdentity: JSON.stringify(credential.workloadIdentity) };
};

/** Attributes of the fields to write. */
export const attributesOf = <Named extends Fields>(
  fields: Named,
  values: Values<Named>,
): Readonly<Record<string, unknown>> =>
  Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, storedValue(field, values[name])]));

/** Schemas of the items that describe an application. Each names its kind, because one Query reads several. */
export const applicationItem = () =>
  z.object({
    kind: z.literal("application"),
    tableFormat: z.literal(TABLE_FORMAT),
    identifier: shape.application(),
    ...shapeOf(APPLICATION_FIELDS),
    version: shape.integer(),
  });

/** An application's entry in the table's list of applications. */
export const applicationOfTableItem = () => z.object({ identifier: shape.application(), name: shape.text() });

export const iosStoreItem = () =>
  shape.mapped(z.object({ kind: z.literal("ios-store"), ...shapeOf(IOS_STORE_FIELDS) }), (item) =>
    withDefaults(IOS_STORE_FIELDS, item),
  );

export const androidStoreItem = () =>
  shape.mapped(z.object({ kind: z.literal("android-store"), ...shapeOf(ANDROID_STORE_FIELDS) }), (item) =>
    withDefaults(ANDROID_STORE_FIELDS, item),
  );

/** A destination; null: it is of a kind that only a later version knows. */
export const destinationItem = () =>
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
  );

export const catalogItem = () =>
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
  );

/** Kind of an item in an application's partition; unknown kinds, of a later version, are ignored. */
export const applicationPartitionItem = () => z.object({ kind: shape.text() });

export const storeRegistrationItem = () =>
  z.object({ kind: z.literal("store-registration"), application: shape.application() });
