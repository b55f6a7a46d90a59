import * as z from "zod/mini";
import type { Environment } from "../../contract/schemas.ts";
import { isInstant, type Instant } from "../../entitlements/time.ts";
import { once } from "../../once.ts";
import type { Signer } from "./signatures/trust.ts";

export const ENVIRONMENTS: Record<Signer, ReadonlyMap<unknown, Environment>> = {
  "app-store": new Map([
    ["Production", "production"],
    ["Sandbox", "sandbox"],
  ]),
  xcode: new Map([["Xcode", "xcode"]]),
};

const instant = once(() => z.number().check(z.refine(isInstant)));

/** Milliseconds since 1970. Xcode signs fractions, which are rounded down. */
export const TIMES: Record<Signer, () => z.ZodMiniType<Instant>> = {
  "app-store": instant,
  xcode: once(() => z.pipe(z.pipe(z.number(), z.transform(Math.floor)), instant())),
};

/** A schema for each signer, whose times are as that signer writes them. */
export const bySigner = <Schema>(
  schemaWith: (time: z.ZodMiniType<Instant>) => Schema,
): Record<Signer, () => Schema> => ({
  "app-store": once(() => schemaWith(TIMES["app-store"]())),
  xcode: once(() => schemaWith(TIMES.xcode())),
});

/** Apple's identifiers are digits. Bounded here, because facts are stored under them. */
export const storeIdentifier = once(() => z.string().check(z.regex(/^[\w.-]{1,128}$/)));

/** StoreKit testing writes "0" where it has no identifier: it identifies nothing. */
export const identifierOrNull = (written: string | null | undefined): string | null =>
  written === "0" ? null : (written ?? null);

export const LONGEST_NAME = 256;
export const name = once(() => z.string().check(z.minLength(1), z.maxLength(LONGEST_NAME)));
