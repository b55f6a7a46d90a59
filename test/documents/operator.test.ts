import { execFile } from "node:child_process";
import { globSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { getFileInfo } from "prettier";
import * as z from "zod";
import { manifestSchema } from "../../lib/administration/manifest/manifest-schema.ts";
import { TRUSTS_NOTHING } from "../../lib/administration/manifest/manifest-values.ts";
import { runOperator } from "../../operator/program.ts";
import { blocksOf } from "./blocks.ts";

const PROJECT = fileURLToPath(new URL("../../", import.meta.url));

/** The pages for the operator, and the README. */
const PAGES = [
  "README.md",
  ..."tutorial moving manifest-and-commands deploy runbook support recovery security scale"
    .split(" ")
    .map((name) => `docs/${name}.md`),
].map((file) => ({ file, text: readFileSync(file, "utf8") }));

/** Names of the fields of objects in a JSON schema. */
const fieldsOf = (schema: unknown): ReadonlySet<string> => {
  if (typeof schema !== "object" || schema === null) return new Set();
  const parts = Object.entries(schema);
  return new Set([
    ...parts.flatMap(([key, part]) => (key === "properties" ? Object.keys(part) : [])),
    ...parts.flatMap(([, part]) => [...fieldsOf(part)]),
  ]);
};

/** Help of a command, by its words. */
const helpOf = async (command: string): Promise<string> => {
  let out = "";
  await runOperator([...command.split(" ").filter(Boolean), "--help"], {
    environment: {},
    now: () => 0,
    out: (text) => void (out += text),
    err: () => undefined,
    waitForIndex: async () => undefined,
    wait: async () => undefined,
    ask: null,
  });
  return out;
};

test("every block of shell parses, with its placeholders filled in", async () => {
  const blocks = PAGES.flatMap(({ text }) => blocksOf(text, "sh"));
  expect(blocks.length).toBeGreaterThan(40);
  const script = blocks
    .map((block, index) => {
      const filled = block.replaceAll(/<[a-zA-Z][^<>\n]*>/g, "word").replaceAll("…", "word");
      return `block${index}() {\n${filled}\n}`;
    })
    .join("\n");
  const problems = await new Promise((resolve) => {
    execFile("bash", ["--norc", "--noprofile", "-c", `set -n\n${script}`], (_error, _out, err) =>
      resolve(err),
    );
  });
  expect(problems).toBe("");
});

test("every operator's command exists with its options, and is the project's own", async () => {
  const used = PAGES.flatMap(({ file, text }) =>
    [
      ...text
        .replaceAll(/\\\n\s*/g, "")
        .matchAll(
          /(npx (?:--no )?customer-entitlements|npm run --silent operator --) ((?:account|application|credential|customer|destination|import|console)\b[^`\n|]*)/g,
        ),
    ].map(([, program = "", words = ""]) => ({ file, program, words })),
  );
  expect(used.length).toBeGreaterThan(20);
  for (const { file, program, words } of used) {
    expect([file, words, program]).not.toContain("npx customer-entitlements");
    const [command = ""] = /^(?:console|[a-z]+ [a-z]+)/.exec(words) ?? [];
    const help = await helpOf(command);
    expect(help).toContain(`Usage: customer-entitlements ${command}`);
    const options = [...words.matchAll(/ (--[a-z-]+)/g)].map(([, option]) => option);
    expect([file, words, options.filter((option) => !help.includes(`${option}`))]).toEqual([file, words, []]);
  }
});

test("docs/manifest-and-commands.md has every command, option and field", async () => {
  const text = textOf("docs/manifest-and-commands.md");
  const namesIn = (help: string): readonly string[] =>
    [...(/^Commands:\n([^]*)/m.exec(help)?.[1] ?? "").matchAll(/^ {2}([a-z]+)/gm)].map(
      ([, name = ""]) => name,
    );
  const groups = namesIn(await helpOf("")).filter((name) => name !== "help" && name !== "console");
  expect(groups).toHaveLength(6);
  for (const group of groups)
    for (const name of namesIn(await helpOf(group)).filter((one) => one !== "help")) {
      const row = text.split("\n").find((line) => line.startsWith(`| \`${group} ${name}`)) ?? "";
      const own = (await helpOf(`${group} ${name}`)).split("Global Options:")[0] ?? "";
      const options = [...own.matchAll(/^ {2}(--[a-z-]+)/gm)]
        .map(([, option = ""]) => option)
        // They are explained for all commands.
        .filter((option) => !["--yes", "--by"].includes(option));
      expect([`${group} ${name}`, ["`", ...options].filter((part) => !row.includes(part))]).toEqual([
        `${group} ${name}`,
        [],
      ]);
    }
  const fields = fieldsOf(
    z.toJSONSchema(manifestSchema(TRUSTS_NOTHING), { io: "input", unrepresentable: "any" }),
  );
  expect(fields.size).toBeGreaterThan(20);
  expect([...fields].filter((name) => !text.includes(name))).toEqual([]);
});

/** Sources that name what a person sees: logs, parameters, reasons, messages. */
const SOURCES = globSync(["lib/**/*.ts", "functions/**/*.ts", "infra/**/*.ts", "operator/**/*.ts"])
  .map((file) => readFileSync(file, "utf8"))
  .join("\n");

const textOf = (page: string): string => PAGES.find(({ file }) => file === page)?.text ?? "";

test("each field of a log, reason and parameter that docs/runbook.md names exists", () => {
  // Fields of AWS WAF, and of Lambda.
  const OTHERS = new Set(["httpRequest", "clientIp", "terminatingRuleId", "errorType"]);
  const names = new Set(textOf("docs/runbook.md").match(/\b[a-z]+(?:[A-Z][a-z]+)+\b/g));
  expect(names.size).toBeGreaterThan(30);
  expect([...names].filter((name) => !OTHERS.has(name) && !SOURCES.includes(name))).toEqual([]);
});

test("the commands print the words that docs/support.md explains", () => {
  const [, table = ""] = /^\| It says([^]*?)\n\n/m.exec(textOf("docs/support.md")) ?? [];
  const words = [...table.matchAll(/^\| ([^|]*)/gm)].flatMap(([, cell = ""]) =>
    [...cell.matchAll(/`([^`]*)`/g)].flatMap(([, quoted = ""]) =>
      quoted.split("…").map((part) => part.trim()),
    ),
  );
  expect(words.length).toBeGreaterThan(15);
  expect(words.filter((word) => word !== "customer find" && !SOURCES.includes(word))).toEqual([]);
});

test("git ignores each file that a page has somebody make here", async () => {
  const made = PAGES.flatMap(({ text }) =>
    [
      ...text.matchAll(
        /(?:file:\/\/|(?<!>)> |keys create |application apply )([\w-]+\.(?:json|ya?ml|p8|txt))/g,
      ),
    ].map(([, file = ""]) => file),
  );
  expect(made).toEqual(expect.arrayContaining(["stages.json", "trails.yaml", "new-key.json", "export.json"]));
  const isIgnored = async (file: string) =>
    (await getFileInfo(`${PROJECT}${file}`, { ignorePath: ".gitignore" })).ignored;
  for (const file of new Set(made)) expect([file, await isIgnored(file)]).toEqual([file, true]);
  expect(await isIgnored("package.json")).toBe(false);
});
