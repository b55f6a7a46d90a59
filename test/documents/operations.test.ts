import { execFile } from "node:child_process";
import { chmod, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { composeAccountReport } from "../../operator/composition.ts";
import { runOperator } from "../../operator/program.ts";

const guide = await readFile("docs/operations.md", "utf8");

/** The guide's blocks of shell, without the indentation of lists. */
const blocks = [...guide.matchAll(/^( *)```sh\n([^]*?)^ *```$/gm)].map(([, indent = "", text = ""]) =>
  text.replaceAll(new RegExp(`^${indent}`, "gm"), ""),
);

interface Ended {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

const bash = (script: string, path = process.env["PATH"]): Promise<Ended> =>
  new Promise((resolve) => {
    const child = execFile(
      "bash",
      ["--norc", "--noprofile", "-c", script],
      { env: { PATH: path } },
      (_, out, err) => resolve({ code: child.exitCode ?? -1, out, err }),
    );
  });

test("every block of shell can be pasted: with the placeholders filled in, it parses", async () => {
  expect(blocks.length).toBeGreaterThan(25);
  for (const block of blocks) {
    const filled = block.replaceAll(/<[a-zA-Z][^<>\n]*>/g, "word").replaceAll("…", "word");
    const { err } = await bash(`set -n\n${filled}`);
    expect([block, err]).toEqual([block, ""]);
  }
});

test("`operator` is what the guide's first block makes it", async () => {
  const [definition = ""] = blocks[0]?.split("\n") ?? [];
  const { out } = await bash(`npm() { echo "$@"; }\n${definition}\noperator --table a account show b c`);
  expect(out).toBe("run --silent operator -- --table a account show b c\n");
});

test("every command of the operator that the guide names exists", async () => {
  const named = new Set(
    [
      ...guide.matchAll(
        /\boperator (?:--table \S+ )?(account|application|credential|customer|destination) ([a-z]+)/g,
      ),
    ].map(([, group, command]) => `${group} ${command}`),
  );
  expect(named.size).toBeGreaterThan(10);
  for (const command of named) {
    let out = "";
    await runOperator([...command.split(" "), "--help"], {
      environment: {},
      now: () => 0,
      out: (text) => void (out += text),
      err: () => undefined,
      composeAccountReport,
      waitForIndex: async () => undefined,
      wait: async () => undefined,
      ask: null,
    });
    expect(out).toContain(command);
  }
});

describe("the loop that waits for a table", () => {
  let folder: string;
  const ready = /^ready\(\).*$/m.exec(blocks.join("\n"))?.[0] ?? "";
  /** Runs the loop with an `aws` that waits in vain, and knows the caller or not. */
  const looped = async (aws: string): Promise<string> => {
    await writeFile(join(folder, "aws"), `#!/bin/sh\necho "$2" >> ${folder}/calls\n${aws}\n`);
    await chmod(join(folder, "aws"), 0o755);
    await bash(`${ready}\nready --table-name a`, `${folder}:${process.env["PATH"]}`);
    return (await readFile(join(folder, "calls"), "utf8")).trim().replaceAll("\n", " ");
  };
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "aws-"));
  });
  afterEach(() => rm(folder, { recursive: true }));

  test("ends when the table is there", async () => {
    expect(await looped("exit 0")).toBe("wait");
  });
  test("ends when the credentials do", async () => {
    expect(await looped("exit 255")).toBe("wait get-caller-identity");
  });
  test("ends after thirty tries", async () => {
    const calls = await looped('test "$2" = get-caller-identity');
    expect(calls.split(" ").filter((call) => call === "wait")).toHaveLength(30);
  });
  test("is the only one of the guide", () => {
    expect(blocks.join("\n")).not.toMatch(/\b(?:until|while)\b/);
  });
});
