import type { Profile } from "./row.ts";
import { adaptyImport, qonversionImport, revenuecatExport, revenuecatTokens } from "./services.ts";
import { table } from "./table.ts";

const PROFILES: readonly Profile[] = [
  revenuecatExport,
  adaptyImport,
  qonversionImport,
  revenuecatTokens,
  table,
];

export const columnsOf = ({ needs, needsOneOf, takes }: Profile): ReadonlySet<string> =>
  new Set([...needs, ...needsOneOf.flat(), ...takes]);

/** Columns that a header lacks; alternatives are joined by "or". */
const missingIn = ({ needs, needsOneOf }: Profile, header: ReadonlySet<string>): readonly string[] => [
  ...needs.filter((column) => !header.has(column)),
  ...needsOneOf.filter((some) => !some.some((column) => header.has(column))).map((some) => some.join(" or ")),
];

/** A mark outweighs columns that other formats have too. */
const matched = ({ marks, needs }: Profile, header: ReadonlySet<string>): number =>
  4 * marks.filter((column) => header.has(column)).length +
  needs.filter((column) => header.has(column)).length;

/** The format that a header fits best, and its columns that the header lacks; null: it is of no known format. */
export const readHeader = (columns: readonly string[]) => {
  const header = new Set(columns);
  const known = PROFILES.map((profile) => ({
    profile,
    matches: matched(profile, header),
    missing: missingIn(profile, header),
  }))
    .filter(({ matches }) => matches > 0)
    .sort((a, b) => b.matches - a.matches);
  return known.find(({ missing }) => missing.length === 0) ?? known[0] ?? null;
};
