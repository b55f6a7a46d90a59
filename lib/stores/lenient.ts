import * as z from "zod/mini";

/** Reads a field of another type as absent, so that a new form of it does not lose the others. `z.catch` would add 9 KB to a bundle. */
export const lenient = <Schema extends z.ZodMiniType>(schema: Schema) =>
  z.union([
    z.optional(schema),
    z.pipe(
      z.unknown(),
      z.transform(() => undefined),
    ),
  ]);
