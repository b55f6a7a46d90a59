import * as z from "zod";
import { isInstant, parsePeriod, type Instant } from "../lib/entitlements/time.ts";

/** A required text of a store's request or saved state; so are the schemas below. */
export const text = z.string().min(1);

export const readonlyObject = <Shape extends z.ZodRawShape>(shape: Shape) => z.object(shape).readonly();

export const instant = z.custom<Instant>(isInstant);

export const time = z.iso.datetime({ offset: true }).transform((value): Instant => Date.parse(value));

/** An ISO 8601 duration. */
export const period = z.string().transform((value, context) => {
  const parsed = parsePeriod(value);
  if (parsed !== null) return parsed;
  context.addIssue({ code: "custom", message: "must be an ISO 8601 duration, such as P1M" });
  return z.NEVER;
});
