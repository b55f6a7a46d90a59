import * as z from "zod/mini";
import { isInstant } from "../../entitlements/time.ts";
import { once } from "../../once.ts";

/** Milliseconds since 1970. Xcode signs fractions, which are rounded down. */
export const time = once(() => z.number().check(z.overwrite(Math.floor), z.refine(isInstant)));

/** Apple's identifiers are digits. Bounded here, because facts are stored under them. */
export const storeIdentifier = once(() => z.string().check(z.regex(/^[\w.-]{1,128}$/)));

/** StoreKit testing writes "0" where it has no identifier: it identifies nothing. */
export const identifierOrNull = (written: string | null | undefined): string | null =>
  written === "0" ? null : (written ?? null);

export const LONGEST_NAME = 256;
export const name = once(() => z.string().check(z.minLength(1), z.maxLength(LONGEST_NAME)));
