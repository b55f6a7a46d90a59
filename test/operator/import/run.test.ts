import { parse } from "csv-parse/sync";
import { FORMATS, LIE_NAMES, type Planted } from "../../../sandbox/exports/exports.ts";
import { createImportWorld, type ImportWorld } from "./world.ts";

/** Several persons of each lie, and as many without. */
const lies = Object.fromEntries(LIE_NAMES.map((lie) => [lie, 0.03]));

let world: ImportWorld;
beforeAll(async () => {
  world = await createImportWorld({ count: 100, seed: 5, lies });
}, 120_000);
afterAll(async () => world.stop());

/** Accounts that a run's file lists, each with its cause. */
const found = (text: string): string[] => {
  const rows: Record<string, string>[] = parse(text, { columns: true });
  return [...new Set(rows.map(({ account, cause }) => `${cause} ${account}`))].sort();
};
const planted = (all: readonly Planted[]): string[] =>
  all.map(({ account, cause }) => `${cause} ${account}`).sort();

interface Report {
  readonly differences: string;
  readonly journal: string;
  readonly accounts: { readonly all: number; readonly agree: number; readonly differ: number };
  readonly echoes: { readonly contradicts: number };
}

test.each(FORMATS)(
  "a dry run of %s finds the planted causes, and stores nothing",
  async (format) => {
    const made = await world.export(format);
    const before = await world.items();
    const ran = await world.run(made.paths, "--dry-run");
    const report = ran.json() as Report;
    expect(found(world.read(report.differences))).toEqual(planted(made.planted));
    expect(ran.code).toBe(0);
    expect(await world.items()).toEqual(before);
  },
  120_000,
);
