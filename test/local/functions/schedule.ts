import { appendFileSync } from "node:fs";

/** Nothing is due in these tests. Writes the time of the run into a file, if one is named. */
export const handler = (): Promise<null> => {
  const file = process.env["RUNS_FILE"];
  if (file !== undefined) appendFileSync(file, `${Date.now()}\n`);
  return Promise.resolve(null);
};
