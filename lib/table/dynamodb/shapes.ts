import * as z from "zod/mini";
import { ENVIRONMENTS, STORES } from "../../contract/schemas.ts";
import type { AccountId, ApplicationId, CustomerId } from "../../identifiers.ts";
import { once } from "../../once.ts";
import type { Codec, Encoded } from "./positions.ts";

/** Parts of item schemas, each created once: creating a schema takes longer than parsing with it. */
export const text = once(() => z.string());
export const texts = once(() => z.array(text()));
export const nullableText = once(() => z.nullable(text()));

export const integer = once(() => z.int());
export const nullableInteger = once(() => z.nullable(integer()));

const uuid = once(() => z.uuid());

export const store = once(() => z.enum(STORES));
export const environment = once(() => z.enum(ENVIRONMENTS));

/** Gives parsed texts an identifier type. The brand exists only in the type, so nothing is done at run time. */
export const branded = <Identifier extends string>(
  identifiers: z.ZodMiniType<string, string>,
): z.ZodMiniType<Identifier, string> => identifiers as z.ZodMiniType<Identifier, string>;

export const application = () => branded<ApplicationId>(uuid());
export const customer = () => branded<CustomerId>(uuid());
export const account = () => branded<AccountId>(text());

/** A schema whose output is converted to the shape of the domain. */
export const mapped = <Schema extends z.ZodMiniType, Value>(
  schema: Schema,
  toDomain: (parsed: z.output<Schema>) => Value,
) => z.pipe(schema, z.transform(toDomain));

/** An attribute that may be absent, and is then read as the other value. Zod's own default would cost each bundle a kilobyte. */
export const optional = <Value, Stored, Other>(schema: z.ZodMiniType<Value, Stored>, other: Other) =>
  mapped(z.optional(schema), (value): Value | Other => (value === undefined ? other : value));

/** A value decoded from what is stored. Where that throws, the item does not match. */
const decoded = <Value, Stored>(
  stored: z.ZodMiniType<Stored, Stored>,
  decode: (stored: Stored) => Value,
): z.ZodMiniType<Value, Stored> =>
  z.pipe(
    stored,
    z.transform((input, context): Value => {
      try {
        return decode(input);
      } catch {
        context.issues.push({ code: "custom", message: "must be a value of its kind", input });
        return z.NEVER;
      }
    }),
  );

/** A value stored by position. */
export const encoded = <Value>({ decode }: Codec<Value>) => decoded(z.custom<Encoded<Value>>(), decode);

/** A value stored as JSON text, so that nothing is lost or reordered. */
export const jsonText = <Value>(schema: z.ZodMiniType<Value, unknown>) =>
  z.pipe(
    decoded(text(), (written): unknown => JSON.parse(written)),
    schema,
  );
