import * as z from "zod/mini";
import { ENVIRONMENTS, STORES } from "../../contract/schemas.ts";
import { once } from "../../once.ts";

/** Parts of item schemas, each created once: creating a schema takes longer than parsing with it. */
export const text = once(() => z.string());
export const texts = once(() => z.array(text()));
export const nullableText = once(() => z.nullable(text()));

export const integer = once(() => z.int());
export const nullableInteger = once(() => z.nullable(integer()));

export const uuid = once(() => z.uuid());

export const store = once(() => z.enum(STORES));
export const environment = once(() => z.enum(ENVIRONMENTS));

/** Gives parsed texts an identifier type. The brand exists only in the type, so nothing is done at run time. */
export const branded = <Identifier extends string>(
  identifiers: z.ZodMiniType<string, string>,
): z.ZodMiniType<Identifier, string> => identifiers as z.ZodMiniType<Identifier, string>;
