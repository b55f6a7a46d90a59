import { basename } from "node:path";
import type { Claim, RowProblem, RowReading } from "../../../lib/administration/import/claim.ts";
import type { Profile, ReadingOptions } from "../../../lib/administration/import/formats/profile.ts";
import type { ImportRow, ImportSource } from "../../../lib/administration/import/source.ts";
import { OperatorError } from "../../operator-error.ts";
import { beginningOf } from "./file-text.ts";
import { readLayout, type ColumnNames, type Layout } from "./layout.ts";
import { readRows } from "./read-rows.ts";

export interface SourceOptions extends ReadingOptions {
  readonly names: ColumnNames;
  /** Transaction id in a legacy receipt; null: it is none. */
  readonly transactionOfReceipt: (receipt: string) => string | null;
}

interface OpenedFile {
  readonly path: string;
  readonly name: string;
  readonly layout: Layout;
  readonly profile: Profile;
}

const FORMATS =
  "RevenueCat's transactions or Google tokens, Adapty's or Qonversion's import, or a table with account, store and an identifier (--map column=name gives a column its name)";

/** @throws OperatorError naming the missing columns */
const open = async (path: string, names: ColumnNames): Promise<OpenedFile> => {
  const { layout, reading } = readLayout(await beginningOf(path), names);
  if (reading.outcome === "unknown")
    throw new OperatorError(`The file ${path} is of no known format: ${FORMATS}.`);
  if (reading.outcome === "incomplete")
    throw new OperatorError(
      `The file ${path} looks like ${reading.profile.name}, and lacks: ${reading.missing.join(", ")}.`,
    );
  return { path, name: basename(path), layout, profile: reading.profile };
};

const UNREADABLE: RowReading = { claims: [], problems: ["unreadable"] };

/** Claims with the transaction that a receipt names in its place. */
const withoutReceipts = (
  { claims, problems }: RowReading,
  transactionOfReceipt: SourceOptions["transactionOfReceipt"],
): RowReading => {
  const bad: RowProblem[] = [];
  const named = claims.map((claim): Claim => {
    if (claim.name?.kind !== "receipt") return claim;
    const value = transactionOfReceipt(claim.name.value);
    if (value === null) bad.push("bad-receipt");
    return { ...claim, name: value === null ? null : { kind: "transaction", value } };
  });
  return { claims: named, problems: [...problems, ...bad] };
};

/** Opens an import's files, and recognizes each by its header. */
export const openSource = async (paths: readonly string[], options: SourceOptions): Promise<ImportSource> => {
  const files = await Promise.all(paths.map(async (path) => open(path, options.names)));
  const rows = async function* (): AsyncGenerator<ImportRow> {
    for (const [file, { path, layout, profile }] of files.entries()) {
      let number = 0;
      for await (const row of readRows(path, layout, profile, options.names)) {
        number += 1;
        const reading =
          row === null
            ? UNREADABLE
            : withoutReceipts(profile.read(row, options), options.transactionOfReceipt);
        yield { file, number, ...reading };
      }
    }
  };
  return {
    files: files.map(({ name, profile }) => ({
      name,
      format: profile.name,
      claimsAccess: profile.takes.includes("active") || profile.needs.includes("effective_end_time"),
    })),
    rows,
  };
};
