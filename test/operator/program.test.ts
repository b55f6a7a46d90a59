import { execFile } from "node:child_process";
import { tmpdir } from "node:os";
import { fileURLToPath } from "node:url";
import { authorize } from "../../lib/applications/credential.ts";
import { createCredentialTable } from "../../lib/table/applications/credentials.ts";
import type { EnvironmentVariables } from "../../operator/connection.ts";
import { UNKNOWN } from "./run-operator.ts";
import { anApplication, withOperator } from "./telling-world.ts";

const given = withOperator();
const run = (...words: readonly string[]) => given.operator.run(words);

/** Runs a command as an operator does: in a process of its own. */
const runProgram = async (words: readonly string[], environment: EnvironmentVariables = {}) =>
  new Promise<{ code: number; out: string; err: string }>((resolve) => {
    execFile(
      process.execPath,
      [fileURLToPath(new URL("../../operator/main.ts", import.meta.url)), ...words],
      { env: { ...process.env, TABLE_NAME: given.table.name, ...environment } },
      (error, out, err) => resolve({ code: error === null ? 0 : Number(error.code), out, err }),
    );
  });

test("a key is issued, shown once, and revoked", async () => {
  const { identifier, run, json } = await anApplication(given);
  const scopes = "--scope customers:write --scope entitlements:read";
  const terms = "--label backend --expires P1D";
  const issue = `credential issue --application ${identifier} ${scopes} ${terms}`;
  const issued = await runProgram(issue.split(" "));
  const [apiKey = ""] = /cek_\w+/.exec(issued.out) ?? [];
  const keyIdentifier = apiKey.slice(4, 20);
  const authorized = () =>
    authorize(`Bearer ${apiKey}`, Date.UTC(2026, 5, 15, 12), createCredentialTable(given.table).find);
  expect(await authorized()).toMatchObject({
    outcome: "authorized",
    applicationIdentifier: identifier,
    keyIdentifier,
    scopes: ["customers:write", "entitlements:read"],
  });
  const other = await anApplication(given);
  const outputs = [
    await run("credential list --application APPLICATION"),
    await run("application show APPLICATION --json"),
    await run(`credential revoke ${keyIdentifier} --application ${other.identifier}`),
    await run(`credential revoke ${apiKey}`),
    await run(`credential revoke ${keyIdentifier}`),
    await run(`credential revoke ${keyIdentifier}`),
  ];
  expect(outputs.map(({ code }) => code)).toEqual([0, 0, 1, 1, 0, 0]);
  const secret = new RegExp(`${apiKey.slice(21)}|secretHash`);
  for (const { out, err } of outputs) expect(out + err).not.toMatch(secret);
  expect(await authorized()).toEqual({ outcome: "refused", because: "revoked" });
  expect(await json("credential list --application APPLICATION")).toMatchObject({
    credentials: [{ keyIdentifier, label: "backend", state: "revoked" }],
  });
});

describe("credential issue", () => {
  const issue = async (options: string) => {
    const { run, json } = await anApplication(given);
    const done = await run(`credential issue --application APPLICATION --json ${options}`);
    return { ...done, ...(await json("credential list --application APPLICATION")) };
  };
  const scope = "--scope entitlements:read";
  test.each([
    ["", null],
    [" --expires P90D", "2026-09-13T12:00:00.000Z"],
    [" --expires P1M", "2026-07-15T12:00:00.000Z"],
    [" --expires 2027-01-31T00:00:00+02:00", "2027-01-30T22:00:00.000Z"],
  ])("with%s ends at %s", async (expires, expiresAt) => {
    const issued = await issue(`${scope} ${scope}${expires}`);
    expect(issued.json()).toMatchObject({ expiresAt, scopes: ["entitlements:read"], label: null });
  });

  test.each([
    ["an unknown scope", "--scope admin"],
    ["no scope", "--label l"],
    ["an end in the past", `${scope} --expires 2026-06-15T12:00:00Z`],
    ["an end that is not a time", `${scope} --expires tomorrow`],
    ["an end without a time zone", `${scope} --expires 2027-01-31T00:00:00`],
    ["an empty label", `${scope} --label `],
  ])("is refused with %s", async (_, options) => {
    expect(await issue(options)).toMatchObject({ code: 1, out: "", credentials: [] });
  });
});

test.each([
  [["application", "show", UNKNOWN], `There is no application ${UNKNOWN}`],
  [["application", "show", "Trail Maps"], "must be a UUID: application list shows all, and application find"],
  [["application", "show"], "missing required argument 'application'"],
  [["application", "list", "--tabel", "x"], "unknown option '--tabel'"],
  [["account", "show", UNKNOWN, ""], "must not be empty"],
  [["application"], "--help lists all"],
])("with --json, the failure of %j is one line of JSON", async (words, error) => {
  const { code, out, err } = await run(...words, "--json");
  expect([code, out, JSON.parse(err)]).toEqual([1, "", { error: expect.stringContaining(error) }]);
});

test.each([[["nothing"]], [["credential", "list"]], [["application", "show", UNKNOWN, "more"]], [[]]])(
  "%j is refused with its usage",
  async (words) => {
    const refused = await run(...words);
    expect(refused).toMatchObject({ code: 1, out: "" });
    expect(refused.err).toContain("Usage: customer-entitlements");
  },
);

test("--json and --table stand before, between or after the words", async () => {
  const { identifier, run } = await anApplication(given);
  const table = `--table ${given.table.name}`;
  for (const line of [
    `--json ${table} application show APPLICATION`,
    `application ${table} show --json APPLICATION`,
    `application show APPLICATION --json ${table}`,
  ]) {
    const shown = await run(line, { environment: { TABLE_NAME: "elsewhere" } });
    expect(shown.json()).toMatchObject({ applicationIdentifier: identifier });
  }
});

test("a command that changes something takes --by, and no other does", async () => {
  const commandsIn = async (...words: readonly string[]): Promise<readonly string[]> => {
    const [, commands = ""] = (await run(...words, "--help")).out.split("\nCommands:\n");
    return [...commands.matchAll(/^ {2}([a-z]+)/gm)].map(([, name = ""]) => name);
  };
  const acting: string[] = [];
  for (const group of await commandsIn())
    for (const command of group === "help" ? [] : await commandsIn(group))
      if ((await run(group, command, "--help")).out.includes("--by <name>"))
        acting.push(`${group} ${command}`);
  expect(acting.sort().join(", ")).toBe(
    "account erase, account export, account unlink, application apply, application refresh, application reproject, application retell, credential issue, credential revoke, customer erase, customer refresh, customer unlink, destination resend, destination resume, destination rotate, import run",
  );
});

test.each([
  ["table", "nope"],
  ["asserted-by", "client"],
  ["reason", "true"],
])("npm took --%s for itself: nothing is done", async (name, value) => {
  const taken = { [`npm_config_${name.replace("-", "_")}`]: value };
  const { code, out, err } = await given.operator.run("application list", { environment: taken });
  expect([code, out]).toEqual([1, ""]);
  expect(err).toMatch(new RegExp(`^npm took --${name}.* for itself, so nothing was done\\. `));
});

describe("a failure is one sentence, without a stack:", () => {
  const show = ["application", "show", UNKNOWN, "--json"];

  test.each([
    ["no table is named", { TABLE_NAME: "" }, /--table.*TABLE_NAME/],
    ["the table does not exist", { TABLE_NAME: "no-such-table" }, /There is no table no-such-table/],
    ["an endpoint is not a URL", { AWS_ENDPOINT_URL_DYNAMODB: "localhost" }, /AWS_ENDPOINT_URL_DYNAMODB/],
  ])("%s", async (_, environment, problem) => {
    const { code, err } = await given.operator.run(show, { environment });
    expect([code, err.trimEnd()]).toEqual([1, expect.stringMatching(problem)]);
  });

  // The SDK reads the environment of the process.
  const bare = {
    HOME: tmpdir(),
    AWS_EC2_METADATA_DISABLED: "true",
    AWS_REGION: undefined,
    AWS_ACCESS_KEY_ID: undefined,
    AWS_SECRET_ACCESS_KEY: undefined,
    AWS_ENDPOINT_URL_DYNAMODB: undefined,
  };
  test.each([
    [
      "nothing answers",
      { AWS_ENDPOINT_URL_DYNAMODB: "http://127.0.0.1:9" },
      "does not answer at http://127.0.0.1:9",
    ],
    ["there is no region", {}, "AWS_REGION"],
    ["there are no credentials", { AWS_REGION: "eu-central-1" }, "no AWS credentials"],
    // A table of this machine needs neither.
    [
      "there is no such application",
      { AWS_ENDPOINT_URL_DYNAMODB: process.env["AWS_ENDPOINT_URL_DYNAMODB"] },
      "There is no application",
    ],
  ])("%s, in a process of its own", async (_, environment, problem) => {
    const { code, out, err } = await runProgram(show, { ...bare, ...environment });
    expect([code, out, err.trimEnd().split("\n")]).toEqual([1, "", [expect.stringContaining(problem)]]);
  });
});
