import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

export interface Ended {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/**
 * An `aws` for each test of a file, which answers by these cases of a bash `case "$1 $2" in` and keeps its calls. A case may
 * keep a state in the test's folder, `$FOLDER`.
 */
export const fakeAwsForEachTest = (cases: string) => {
  let folder = "";
  const aws = {
    /** Answers by other cases from now on. */
    answerBy: (cases: string): Promise<void> =>
      writeFile(
        join(folder, "aws"),
        `#!/usr/bin/env bash
FOLDER=${folder}
printf '%s\\n' "\${*//$'\\n'/ }" >> $FOLDER/calls
case "$1 $2" in
${cases}
*) echo "no answer to $*" >&2; exit 252 ;;
esac
`,
        { mode: 0o755 },
      ),
    /** Runs bash with this `aws` before all others on the PATH, and with nothing else of this process's environment. */
    bash: (script: string, environment: Readonly<Record<string, string>> = {}): Promise<Ended> =>
      new Promise((resolve) => {
        const env = { PATH: `${folder}:${process.env["PATH"]}`, ...environment };
        const child = execFile("bash", ["--norc", "--noprofile", "-c", script], { env }, (_, out, err) =>
          resolve({ code: child.exitCode ?? -1, out, err }),
        );
      }),
    /** Calls so far, without the options that only shape the output. */
    calls: async (): Promise<readonly string[]> => {
      const calls = await readFile(join(folder, "calls"), "utf8").catch(() => "");
      const lines = calls.split("\n").filter(Boolean);
      return lines.map((call) => call.replace(/ --output text --query .*$/, ""));
    },
  };
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "aws-"));
    await aws.answerBy(cases);
  });
  afterEach(() => rm(folder, { recursive: true }));
  return aws;
};
