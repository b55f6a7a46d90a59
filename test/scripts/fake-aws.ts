import { execFile } from "node:child_process";
import { chmod, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

export interface Ended {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** A folder with an `aws` of its own, which keeps its calls. */
export interface FakeAws {
  /** Runs bash with this `aws` before all others on the PATH, and with nothing else of this process's environment. */
  readonly bash: (script: string, environment?: Readonly<Record<string, string>>) => Promise<Ended>;
  /** Calls so far, without the options that only shape the output. */
  readonly calls: () => Promise<readonly string[]>;
  readonly remove: () => Promise<void>;
}

/**
 * Makes an `aws` that answers by these cases of a bash `case "$1 $2" in`. It keeps the folder of a test in `$FOLDER`, where
 * a case may keep a state.
 */
export const fakeAws = async (cases: string): Promise<FakeAws> => {
  const folder = await mkdtemp(join(tmpdir(), "aws-"));
  const file = join(folder, "aws");
  await writeFile(
    file,
    `#!/usr/bin/env bash
FOLDER=${folder}
printf '%s\\n' "\${*//$'\\n'/ }" >> $FOLDER/calls
case "$1 $2" in
${cases}
*) echo "no answer to $*" >&2; exit 252 ;;
esac
`,
  );
  await chmod(file, 0o755);
  return {
    bash: (script, environment = {}) =>
      new Promise((resolve) => {
        const child = execFile(
          "bash",
          ["--norc", "--noprofile", "-c", script],
          { env: { PATH: `${folder}:${process.env["PATH"]}`, ...environment } },
          (_, out, err) => resolve({ code: child.exitCode ?? -1, out, err }),
        );
      }),
    calls: async () =>
      (await readFile(join(folder, "calls"), "utf8"))
        .trim()
        .split("\n")
        .map((call) => call.replace(/ --output text --query .*$/, "")),
    remove: () => rm(folder, { recursive: true }),
  };
};
