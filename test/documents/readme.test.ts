import { readFileSync } from "node:fs";
import { endpoints, type Endpoint } from "../../lib/contract/endpoints.ts";
import { accountEntitlements, STATUSES } from "../../lib/contract/schemas.ts";
import { blocksOf } from "./blocks.ts";

const README = readFileSync("README.md", "utf8");

const all = (pattern: RegExp): readonly string[] =>
  [...README.matchAll(pattern)].map(([, found = ""]) => found);

test("the routes are the contract's, each with the scope of its key", () => {
  const rows = all(/^\| (`(?:GET|POST) .*) \|$/gm).map((row) => row.replaceAll(/ +/g, " "));
  const contract = Object.values<Endpoint>(endpoints);
  expect(rows).toHaveLength(contract.length);
  for (const { method, path, scope } of contract) {
    const row = rows.find((one) =>
      one.startsWith(`\`${method} ${path.replace("{applicationAccountIdentifier}", "{account}")}\` `),
    );
    const scopes = [...(row ?? "").matchAll(/`(\w+:\w+)`/g)].map(([, name]) => name);
    expect([path, scopes]).toEqual([path, scope === null ? [] : [scope]]);
  }
});

test("the answer has the contract's shape", () => {
  const [answer = ""] = blocksOf(README, "json");
  expect(accountEntitlements().parse(JSON.parse(answer))).toEqual(JSON.parse(answer));
});

test("the statuses are the contract's", () => {
  expect(all(/^\| `(\w+)` +\|/gm)).toEqual(STATUSES);
});

test("every promise has a row in docs/proof.md", () => {
  const proof = readFileSync("docs/proof.md", "utf8");
  const [, promises = ""] = /What it promises:\n([^]*?)\n## /.exec(README) ?? [];
  const promised = [...promises.matchAll(/^- \*\*(.+?)\*\*/gm)].map(([, found]) => found);
  expect(promised.length).toBeGreaterThanOrEqual(5);
  const rows = [...proof.matchAll(/^\| (.+?) +\| \[/gm)].map(([, found]) => found);
  expect(rows).toEqual(expect.arrayContaining(promised));
});
