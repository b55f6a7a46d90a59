import type * as z from "zod/mini";

/** Texts that are identifiers of one kind: only their types tell those apart, so nothing is done when one is parsed. */
export const branded = <Identifier extends string>(
  texts: z.ZodMiniType<string, string>,
): z.ZodMiniType<Identifier, string> => texts as z.ZodMiniType<Identifier, string>;
