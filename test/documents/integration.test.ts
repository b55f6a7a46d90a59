import { readFileSync } from "node:fs";
import { endpoints } from "../../lib/contract/endpoints.ts";
import { ERRORS } from "../../lib/contract/errors.ts";
import { LIMITS } from "../../lib/contract/schemas.ts";
import { blocksOf } from "./blocks.ts";

const DOCUMENT = readFileSync("docs/integration.md", "utf8");

test("the TypeScript is that of the examples, which are compiled and run", () => {
  expect(blocksOf(DOCUMENT, "ts")).toEqual(
    ["express", "next"].map((name) => readFileSync(`client/examples/${name}.ts`, "utf8")),
  );
});

test("the Swift sends the contract's fields to its path, within its limits", () => {
  const [swift = ""] = blocksOf(DOCUMENT, "swift");
  expect(swift).toContain(endpoints.synchronizeIosStorePurchases.path);
  const [, fields = ""] = /struct SignedPurchases: Encodable \{([^}]*)\}/.exec(swift) ?? [];
  const names = [...fields.matchAll(/var (\w+):/g)].map(([, name]) => name);
  expect(names).toEqual(["signedAppTransaction", "signedTransactions", "signedRenewalInfos"]);
  const [, atOnce] = /prefix\((\d+)\)\)\)\n/.exec(swift) ?? [];
  expect(Number(atOnce)).toBeLessThanOrEqual(LIMITS.signedTransactions);
  expect(swift).toContain(`infos.prefix(${LIMITS.signedRenewalInfos})`);
});

test("every code that it names is the contract's", () => {
  const codes = new Set(DOCUMENT.match(/`[A-Z]+(?:_[A-Z]+)+`/g)?.map((code) => code.slice(1, -1)));
  // The feed's own, and the word of a store.
  const others = new Set(["CURSOR_EXPIRED", "CONSUMPTION_REQUEST"]);
  expect([...codes].filter((code) => !(code in ERRORS) && !others.has(code))).toEqual([]);
});
