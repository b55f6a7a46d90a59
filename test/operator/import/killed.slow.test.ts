import { killedRuns } from "./killed.ts";
import { createImportWorld, type ImportWorld } from "./world.ts";

let world: ImportWorld;
beforeAll(async () => {
  world = await createImportWorld({ count: 2000, seed: 31, at: Date.now() });
}, 600_000);
afterAll(async () => world.stop());

test("a run that is killed and resumed ends as one that was not", async () => {
  const { kills, codes, differing, lists, audits } = await killedRuns(world, 20);
  expect({ kills, codes, audits }).toEqual({ kills: 20, codes: [0, 0], audits: 1 });
  expect(differing).toEqual([]);
  expect(lists.killed).toEqual(lists.once);
}, 1_800_000);
