import * as z from "zod/mini";
import {
  isDefault,
  type Field,
  type Fields,
  type Kinds,
  type ValueOf,
  type Values,
} from "../../applications/fields.ts";
import * as shape from "../dynamodb/shapes.ts";

const isObject = (value: unknown): value is Record<string, unknown> =>
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
        z.strictObject({ workloadIdentity: shape.jsonText(isObject) }),
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
export const shapeOf = <Named extends Fields>(fields: Named): Shape<Named> =>
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

/** Attributes of the fields to write; undefined: the attribute is removed. */
export const attributesOf = <Named extends Fields>(
  fields: Named,
  values: Values<Named>,
): Readonly<Record<string, unknown>> =>
  Object.fromEntries(
    Object.entries(fields).map(([name, field]) => {
      const value: unknown = values[name];
      return [
        name,
        field.isAlwaysStored !== true && isDefault(field, value) ? undefined : storedValue(field, value),
      ];
    }),
  );
