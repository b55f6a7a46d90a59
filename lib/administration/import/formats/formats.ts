import { adaptyImport } from "./adapty.ts";
import { missingIn, type Profile } from "./profile.ts";
import { qonversionImport } from "./qonversion.ts";
import { revenuecatExport, revenuecatTokens } from "./revenuecat.ts";
import { table } from "./table.ts";

export const PROFILES: readonly Profile[] = [
  revenuecatExport,
  adaptyImport,
  qonversionImport,
  revenuecatTokens,
  table,
];

/** Reading of a header. `missing`: the format's columns that it lacks; null: it is of no known format. */
export type HeaderReading =
  | { readonly outcome: "known"; readonly profile: Profile }
  | { readonly outcome: "incomplete"; readonly profile: Profile; readonly missing: readonly string[] }
  | { readonly outcome: "unknown" };

/** A mark outweighs columns that other formats have too. */
const matched = ({ marks, needs }: Profile, header: ReadonlySet<string>): number =>
  4 * marks.filter((column) => header.has(column)).length +
  needs.filter((column) => header.has(column)).length;

export const readHeader = (columns: readonly string[]): HeaderReading => {
  const header = new Set(columns);
  const [closest, ...others] = PROFILES.map((profile) => ({
    profile,
    matches: matched(profile, header),
    missing: missingIn(profile, header),
  }))
    .filter(({ matches }) => matches > 0)
    .sort((a, b) => b.matches - a.matches);
  if (closest === undefined) return { outcome: "unknown" };
  const complete = [closest, ...others].find(({ missing }) => missing.length === 0);
  return complete === undefined
    ? { outcome: "incomplete", profile: closest.profile, missing: closest.missing }
    : { outcome: "known", profile: complete.profile };
};
