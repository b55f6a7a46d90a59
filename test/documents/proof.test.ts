import { readFileSync } from "node:fs";

const README = readFileSync("README.md", "utf8");
const PROOF = readFileSync("docs/proof.md", "utf8");

const matches = (text: string, pattern: RegExp): readonly string[] =>
  [...text.matchAll(pattern)].map(([, found = ""]) => found);

test("every promise of the README has a row", () => {
  const [, promises = ""] = /What it promises:\n([^]*?)\n## /.exec(README) ?? [];
  const promised = matches(promises, /^- \*\*(.+?)\*\*/gm);
  expect(promised.length).toBeGreaterThanOrEqual(5);
  expect(matches(PROOF, /^\| (.+?) +\| \[/gm)).toEqual(expect.arrayContaining([...promised]));
});
