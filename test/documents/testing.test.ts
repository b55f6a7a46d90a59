import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { endpoints } from "../../lib/contract/endpoints.ts";

const DOCUMENT = readFileSync("docs/testing.md", "utf8");
const [first = "", ofTime = "", ofNode = ""] = DOCUMENT.split("```ts\n")
  .slice(1)
  .map((text) => text.slice(0, text.indexOf("```")));

test.each([
  ["first", first, "example.test.ts"],
  ["second", ofTime, "example-time.test.ts"],
])("the %s example is a test of this run", (_, example, file) => {
  expect(example).toBe(readFileSync(`test/testing/${file}`, "utf8"));
});

test("the example for Node's own runner passes", async () => {
  const folder = mkdtempSync(join(tmpdir(), "example-"));
  const file = join(folder, "example.test.ts");
  writeFileSync(file, ofNode.replace("../testing/index.ts", pathToFileURL(resolve("testing/index.ts")).href));
  try {
    const { NODE_OPTIONS: _, ...env } = process.env;
    const { stdout } = await promisify(execFile)(process.execPath, [file], { env });
    expect(stdout).toMatch(/pass 1\n/);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("the endpoints are named as in the contract", () => {
  const named = [...DOCUMENT.matchAll(/`(\w+)`/g)].map(([, name]) => name);
  expect(named).toEqual(expect.arrayContaining(["readAccountEntitlements", "linkIosStoreCustomer"]));
  for (const name of named.filter((name) => /^(?:link|read|synchronize|receive)\w+/.test(name ?? "")))
    expect(Object.keys(endpoints)).toContain(name);
});
