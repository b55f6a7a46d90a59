import { execFile } from "node:child_process";
import { chmod, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { AUTHORIZER, SCHEDULED_FUNCTIONS, type OtherFunction } from "../../infra/other-functions.ts";
import { endpoints } from "../../lib/contract/endpoints.ts";
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
      waitForIndex: async () => undefined,
      wait: async () => undefined,
      ask: null,
    });
    expect(out).toContain(command);
  }
});

test("the guide's first block leaves nothing of a local run, and names table and master secret of the stage", async () => {
  const [, ...rest] = (blocks[0] ?? "").replaceAll("<name>", "stage").split("\n");
  const local = ["DYNAMODB", "SECRETS_MANAGER", "STS"].map(
    (name) => `export AWS_ENDPOINT_URL_${name}=http://a`,
  );
  const { out } = await bash(
    [...local, "aws() { echo its-table; }", ...rest, "env | grep -E 'AWS_|TABLE|SECRET' | sort"].join("\n"),
  );
  expect(out).toBe("MASTER_SECRET=stage-master\nTABLE_NAME=its-table\n");
});

let folder: string;
/** Puts an `aws` with this script into a folder of its own. */
const given = async (script: string): Promise<void> => {
  await writeFile(join(folder, "aws"), `#!/bin/bash\n${script}\n`);
  await chmod(join(folder, "aws"), 0o755);
};
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "aws-"));
});
afterEach(() => rm(folder, { recursive: true }));

const logicalIdOf = (name: string): string =>
  `${name.charAt(0).toUpperCase()}${name.slice(1)}Function1A2B3C4D`;

describe("the functions that stop and start the service", () => {
  const definitions = blocks.find((block) => block.includes("writers() {")) ?? "";
  const functions = definitions.slice(0, definitions.indexOf("\nfor each in")).replaceAll("<name>", "stage");
  const all = Object.entries<Pick<OtherFunction, "table">>({
    authorizeCredential: AUTHORIZER,
    ...endpoints,
    ...SCHEDULED_FUNCTIONS,
  });
  const idsOf = (functions: typeof all): string[] => functions.map(([name]) => logicalIdOf(name));
  const writers = idsOf(all.filter(([, { table }]) => table.changes.length > 0));
  /** Calls to Lambda by a loop of the guide, on a stack that reserves 30 for synchronizing. */
  const asked = async (loop: string): Promise<readonly string[]> => {
    expect(guide).toContain(loop);
    await given(`case "$2" in
      list-stack-resources) printf '%s\\n' ${idsOf(all).join(" ")} ;;
      describe-stacks) case "$*" in *"'Writers'"*) echo ${writers.join(" ")} ;; esac ;;
      describe-stack-resource) echo "deployed-$6" ;;
      get-template) case "$*" in *.SynchronizeIosStorePurchases*) echo 30 ;; *) echo None ;; esac ;;
      *) shift; echo "$@" >> ${folder}/calls ;;
    esac`);
    const { err } = await bash(`${functions}\n${loop}`, `${folder}:${process.env["PATH"]}`);
    expect(err).toBe("");
    return (await readFile(join(folder, "calls"), "utf8")).trim().split("\n").sort();
  };
  test("stop all that change the table, and no other", async () => {
    expect(await asked("for each in $(writers); do stop $each; done")).toEqual(
      writers
        .map(
          (id) =>
            `put-function-concurrency --function-name deployed-${id} --reserved-concurrent-executions 0`,
        )
        .sort(),
    );
  });
  test("stop everything", async () => {
    expect(await asked("for each in $(lambdas); do stop $each; done")).toHaveLength(all.length);
  });
  test("start each with what the stack reserves for it", async () => {
    const started = await asked("for each in $(writers); do start $each; done");
    const reserved = logicalIdOf("synchronizeIosStorePurchases");
    expect(started).toEqual(
      writers
        .map((id) =>
          id === reserved
            ? `put-function-concurrency --function-name deployed-${id} --reserved-concurrent-executions 30`
            : `delete-function-concurrency --function-name deployed-${id}`,
        )
        .sort(),
    );
  });
});

describe("the loop that waits for a table", () => {
  const ready = /^ready\(\).*$/m.exec(blocks.join("\n"))?.[0] ?? "";
  /** Runs the loop with an `aws` that waits in vain, and knows the caller or not. */
  const looped = async (aws: string): Promise<string> => {
    await given(`echo "$2" >> ${folder}/calls\n${aws}`);
    await bash(`${ready}\nready --table-name a`, `${folder}:${process.env["PATH"]}`);
    return (await readFile(join(folder, "calls"), "utf8")).trim().replaceAll("\n", " ");
  };

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

test("what refreshes cost in a month is what the report says", async () => {
  const report = await readFile("docs/performance.md", "utf8");
  const [, asked = ""] = /^\| refreshes, each one request to a store \| +([\d,]+) \|/m.exec(report) ?? [];
  const each = (Number(asked.replaceAll(",", "")) / 100_000).toFixed(2);
  const month = report.slice(report.indexOf("### A month of 100,000 subscribers"));
  const [, off = "", on = ""] =
    /\*\*total\*\* +\| +\| +\*\*(\$[\d.]+)\*\* \| +\| +\*\*(\$[\d.]+)\*\*/.exec(month) ?? [];
  expect(off).toMatch(/^\$\d/);
  const said = `${each} refreshes each, which is ${off} a month for 100,000, and ${on} where the stores notify.`;
  expect(guide.replaceAll(/\s+/g, " ")).toContain(said);
});
