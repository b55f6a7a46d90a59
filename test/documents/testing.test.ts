import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { endpoints } from "../../lib/contract/endpoints.ts";

const DOCUMENT = readFileSync("docs/testing.md", "utf8");
const [first = "", second = ""] = [...DOCUMENT.matchAll(/```ts\n([^`]*)```/g)].map(([, code]) => code);

test("the first example is a test of this run", () => {
  expect(first).toBe(readFileSync("test/testing/example.test.ts", "utf8"));
});

test("the example for Node's own runner passes", async () => {
  const folder = mkdtempSync(join(tmpdir(), "example-"));
  const file = join(folder, "example.test.ts");
  writeFileSync(file, second.replace("../testing/index.ts", pathToFileURL(resolve("testing/index.ts")).href));
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
