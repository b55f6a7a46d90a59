import { parse } from "csv-parse/sync";
import { FORMATS } from "../../../sandbox/exports/exports.ts";
import { createImportWorld, type ImportWorld } from "./world.ts";

let world: ImportWorld;
beforeAll(async () => {
  world = await createImportWorld({ count: 4000, seed: 51 });
}, 600_000);
afterAll(async () => world.stop());

test.each(FORMATS)(
  "of 4,000 persons, %s yields the planted causes and none besides",
  async (format) => {
    const made = await world.export(format);
    const { code, report } = await world.run(made.paths, "--dry-run");
    expect(code).toBe(0);
    const rows: Record<string, string>[] = parse(world.read(report.differences), { columns: true });
    const found = new Set(rows.map(({ account, cause }) => `${cause} ${account}`));
    const planted = new Set(made.planted.map(({ account, cause }) => `${cause} ${account}`));
    expect([...found].filter((each) => !planted.has(each))).toEqual([]);
    expect([...planted].filter((each) => !found.has(each))).toEqual([]);
  },
  900_000,
);
