import { readFileSync } from "node:fs";

const DOCUMENT = readFileSync("docs/contributing.md", "utf8");

test("the example is a test of this run", () => {
  const [, example = ""] = /```ts\n([^]*?)```/.exec(DOCUMENT) ?? [];
  expect(example).toBe(readFileSync("test/testing/example.test.ts", "utf8"));
});
