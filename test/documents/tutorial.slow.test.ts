import getPort from "get-port";
import { spawn, type ChildProcess } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

/**
 * The tutorial's commands, pasted as a reader does: the first block into a terminal of its own, the others into one shell, all
 * at once. Each line that the page shows must be printed before the next block begins; `…` stands for any text.
 */

interface Step {
  readonly name: string;
  readonly commands: string;
  readonly shown: readonly string[];
}

/** Lines that a page shows as output, without those that leave something out. */
const linesOf = (output: string): readonly string[] =>
  output.split("\n").filter((line) => line !== "" && line !== "…");

const [start, ...steps]: readonly Step[] = readFileSync("docs/tutorial.md", "utf8")
  .split(/^## /m)
  .flatMap((section) =>
    [...section.matchAll(/^```sh\n([^]*?)^```\n(?:\n```text\n([^]*?)^```\n)?/gm)].map(
      ([, commands = "", output = ""], index) => ({
        name: `${section.split("\n", 1)[0]} (${index + 1})`,
        commands,
        shown: linesOf(output),
      }),
    ),
  );

interface Terminal {
  readonly child: ChildProcess;
  /** What was printed since the last step. */
  printed: string;
}

const folder = mkdtempSync(join(tmpdir(), "tutorial-"));
const ports = new Map<string, number>();
const terminals: Terminal[] = [];
let shell: Terminal;

/** The page's text with ports that are free here. */
const here = (text: string): string =>
  text.replaceAll(
    /(127\.0\.0\.1:|listen\()(3000|8000|4000)\b/g,
    (_, before: string, port: string) => `${before}${ports.get(port)}`,
  );

/** Runs commands without the variables of the tests. */
const open = (args: readonly string[], cwd: string): Terminal => {
  const { PATH, JDK_JAVA_OPTIONS, NODE_COMPILE_CACHE } = process.env;
  const child = spawn("sh", args, {
    cwd,
    detached: true,
    env: {
      PATH,
      JDK_JAVA_OPTIONS,
      NODE_COMPILE_CACHE,
      HOME: folder,
      TMPDIR: folder,
      npm_config_update_notifier: "false",
      PORT: String(ports.get("3000")),
      DYNAMODB_PORT: String(ports.get("8000")),
    },
  });
  const terminal: Terminal = { child, printed: "" };
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (text: string) => (terminal.printed += text));
  terminals.push(terminal);
  return terminal;
};

const close = async ({ child }: Terminal): Promise<void> => {
  if (child.pid === undefined || child.exitCode !== null) return;
  const closed = new Promise((settle) => child.once("close", settle));
  process.kill(-child.pid, "SIGINT");
  child.stdin?.end();
  await closed;
};

const isPrinted = ({ printed }: Terminal, line: string): boolean => {
  const pattern = here(line)
    .replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`)
    .replaceAll("…", ".*");
  return new RegExp(`^${pattern}$`, "m").test(printed);
};

const until = async (isDone: () => boolean, milliseconds: number): Promise<void> => {
  for (const deadline = performance.now() + milliseconds; !isDone() && performance.now() < deadline;)
    await sleep(20);
};

const expectPrinted = async (terminal: Terminal, lines: readonly string[]): Promise<void> => {
  await until(() => lines.every((line) => isPrinted(terminal, line)), 10_000);
  for (const line of lines) expect(isPrinted(terminal, line) ? line : terminal.printed).toBe(line);
};

beforeAll(async () => {
  for (const port of ["3000", "8000", "4000"]) ports.set(port, await getPort());
  // The files of the tutorial are not written into the project, where a reader's own may be.
  symlinkSync(resolve("node_modules"), join(folder, "node_modules"));
});
afterAll(async () => {
  await Promise.all(terminals.map(close));
  rmSync(folder, { recursive: true, force: true });
});

test("the service starts as the page says", async () => {
  const service = open(["-c", start?.commands ?? ""], resolve("."));
  await until(() => isPrinted(service, "ready …") || service.child.exitCode !== null, 240_000);
  await expectPrinted(service, start?.shown ?? []);
  // The README shows more of it.
  const [, output = ""] = /^```text\n(Starting: [^]*?)^```$/m.exec(readFileSync("README.md", "utf8")) ?? [];
  expect(linesOf(output).length).toBeGreaterThan(8);
  await expectPrinted(service, linesOf(output));
}, 300_000);

test.each(steps.map((step, index) => ({ ...step, index })))(
  "$name prints what the page shows",
  async ({ index, shown }) => {
    if (index === 0)
      shell = open(
        ["-c", steps.map((step) => `${here(step.commands)}\nprintf '\\nstatus %s\\n' $?\n`).join("")],
        folder,
      );
    const partsOf = () => shell.printed.split(/^(status \d+\n)/m);
    await until(() => partsOf().length > 2 * index + 1, 180_000);
    const [printed = "", status = ""] = partsOf().slice(2 * index);
    await expectPrinted({ ...shell, printed: printed + status }, ["status 0", ...shown]);
  },
  240_000,
);

test("every command of the page is among the steps", () => {
  expect(steps.length).toBeGreaterThan(10);
  expect(steps.filter(({ shown }) => shown.length > 0).length).toBeGreaterThan(8);
});
