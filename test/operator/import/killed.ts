import { spawn } from "node:child_process";
import { existsSync, readFileSync, statSync } from "node:fs";
import { createImportWorld, differing, type ImportWorld } from "./world.ts";

const sizeOf = (path: string): number => (existsSync(path) ? statSync(path).size : 0);

/** Runs the import in a process of its own, and kills it once its journal has grown to a size. */
const runUntil = async (
  environment: Readonly<Record<string, string>>,
  words: readonly string[],
  journal: string,
  size: number,
): Promise<{ readonly code: number | null }> =>
  new Promise((resolve, reject) => {
    const child = spawn(process.execPath, ["operator/main.ts", ...words], {
      env: { ...process.env, ...environment },
      stdio: "ignore",
    });
    const look = setInterval(() => {
      if (sizeOf(journal) >= size) child.kill("SIGKILL");
    }, 5);
    child.on("error", reject);
    child.on("exit", (code) => {
      clearInterval(look);
      resolve({ code });
    });
  });

/** Compares a run that was killed again and again, and resumed, with one that was not. */
export const testKilledRuns = (count: number, wanted: number, timeout: number): void => {
  let world: ImportWorld;
  beforeAll(async () => {
    world = await createImportWorld({ count, seed: 31, at: Date.now() });
  }, timeout);
  afterAll(async () => world.stop());

  test(
    "a run that is killed and resumed ends as one that was not",
    async () => {
      const { paths } = await world.export("table");
      const once = await world.onNewTable();
      const [onceJournal, onceList] = [`${world.folder}/once.ndjson`, `${world.folder}/once.csv`];
      const whole = await once.run(paths, "--csv", onceList, "--journal", onceJournal);
      const [journal, list] = [`${world.folder}/killed.ndjson`, `${world.folder}/killed.csv`];
      const options = `--application ${world.identifier} --rate 1000 --journal ${journal} --csv ${list}`;
      const words = ["import", "run", ...paths, ...options.split(" ")];
      let kills = 0;
      for (let kill = 1; kill <= wanted; kill += 1) {
        const size = (sizeOf(onceJournal) * kill) / (wanted + 1);
        const { code } = await runUntil(world.environment, words, journal, size);
        if (code === null) kills += 1;
      }
      const last = await runUntil(world.environment, words, journal, Infinity);
      const audits = (await world.items()).filter(({ pk }) => String(pk).endsWith("#AUDIT")).length;
      expect({ kills, codes: [whole.code, last.code], audits }).toEqual({
        kills: wanted,
        codes: [0, 0],
        audits: 1,
      });
      // Purchases whose owner or facts differ.
      expect(differing(await once.state(), await world.state())).toEqual([]);
      const linesOf = (path: string): string[] => readFileSync(path, "utf8").trimEnd().split("\n").sort();
      expect(linesOf(list)).toEqual(linesOf(onceList));
    },
    timeout,
  );
};
