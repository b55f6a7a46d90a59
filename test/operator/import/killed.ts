import { spawn } from "node:child_process";
import { existsSync, readFileSync, statSync } from "node:fs";
import { differing, type ImportWorld } from "./world.ts";

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

/** A run that was killed again and again, beside one that was not. */
export const killedRuns = async (world: ImportWorld, wanted: number) => {
  const { paths } = await world.export("table");
  const once = await world.onNewTable();
  const [onceJournal, onceList] = [`${world.folder}/once.ndjson`, `${world.folder}/once.csv`];
  const whole = await once.run(paths, "--csv", onceList, "--journal", onceJournal);
  const [journal, list] = [`${world.folder}/killed.ndjson`, `${world.folder}/killed.csv`];
  const options = ["--application", world.identifier, "--rate", "1000", "--journal", journal, "--csv", list];
  const words = ["import", "run", ...paths, ...options];
  let kills = 0;
  for (let kill = 1; kill <= wanted; kill += 1) {
    const size = (sizeOf(onceJournal) * kill) / (wanted + 1);
    const { code } = await runUntil(world.environment, words, journal, size);
    if (code === null) kills += 1;
  }
  const last = await runUntil(world.environment, words, journal, Infinity);
  const linesOf = (path: string): string[] => readFileSync(path, "utf8").trimEnd().split("\n").sort();
  const audits = (await world.items()).filter(({ pk }) => String(pk).endsWith("#AUDIT"));
  return {
    kills,
    codes: [whole.code, last.code],
    /** Purchases whose owner or facts differ. */
    differing: differing(await once.state(), await world.state()),
    lists: { killed: linesOf(list), once: linesOf(onceList) },
    audits: audits.length,
  };
};
