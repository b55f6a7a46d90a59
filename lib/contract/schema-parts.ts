import * as z from "zod/mini";
import { once } from "../once.ts";

/** Limits of a request; exceeding one is 400 `INVALID_REQUEST`. */
export const LIMITS = {
  accountIdentifierCharacters: 256,
  signedTransactions: 1000,
  signedRenewalInfos: 100,
  jwsBytes: 32 * 1024,
  purchaseTokenCharacters: 4096,
  productIdentifierCharacters: 256,
  packageNameCharacters: 256,
  notificationBytes: 64 * 1024,
  changes: 1000,
  cursorCharacters: 64,
} as const;

const characters = (text: string): number => {
  let count = 0;
  for (const _ of text) count += 1;
  return count;
};

/** A text of 1 to `limit` characters. */
export const text = (limit: number, description: string, ...checks: z.core.$ZodCheck<string>[]) =>
  z
    .string()
    .check(
      z.minLength(1, "must not be empty"),
      z.refine((value) => value.length <= limit || characters(value) <= limit, {
        message: `must be at most ${limit} characters`,
      }),
      z.refine((value) => value.isWellFormed(), { message: "must be well-formed Unicode" }),
      ...checks,
    )
    .register(z.globalRegistry, { description, maxLength: limit });

/** The schema, with a description for the OpenAPI document. */
export const described = <Schema extends z.ZodMiniType>(description: string, schema: Schema): Schema => {
  z.globalRegistry.add(schema, { description });
  return schema;
};

/** Schema of an object that the OpenAPI document names. */
export const component = <Shape extends z.core.$ZodLooseShape>(
  id: string,
  shape: () => Shape,
  description?: string,
) =>
  once(() =>
    z.object(shape()).register(z.globalRegistry, { id, ...(description !== undefined && { description }) }),
  );

/** An optional list of at most `limit` members, called `what` in the issue. */
export const several = <Schema extends z.ZodMiniType>(
  description: string,
  member: Schema,
  limit: number,
  what: string,
) =>
  z.optional(
    described(description, z.array(member).check(z.maxLength(limit, `must hold at most ${limit} ${what}`))),
  );

export const jws = (description: string, limit: number = LIMITS.jwsBytes) =>
  described(description, z.string().check(z.maxLength(limit, `must be at most ${limit} bytes`)));

export const uuid = (description: string) => described(description, z.uuid());
export const time = (description: string) => described(description, z.iso.datetime({ precision: 3 }));
export const nullableTime = (description: string) =>
  described(description, z.nullable(z.iso.datetime({ precision: 3 })));
