import { existsSync, globSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { blocksOf } from "./blocks.ts";

const FILES = ["README.md", "CHANGELOG.md", ...globSync(["docs/**/*.md", "client/*.md"])];

/** Anchors that GitHub makes of a page's headings. */
const anchorsOf = (text: string): ReadonlySet<string> => {
  const anchors = new Set<string>();
  for (const [, heading = ""] of text.replaceAll(/^ *```[^]*?^ *```$/gm, "").matchAll(/^#+ (.*)$/gm)) {
    const anchor = heading
      .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, "$1")
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, "")
      .trim()
      .replaceAll(" ", "-");
    let name = anchor;
    for (let again = 1; anchors.has(name); again += 1) name = `${anchor}-${again}`;
    anchors.add(name);
  }
  return anchors;
};

test.each(FILES)("the links of %s lead somewhere", (file) => {
  const text = readFileSync(file, "utf8").replaceAll(/^ *```[^]*?^ *```$/gm, "");
  const broken = [...text.matchAll(/\]\((?!https?:|mailto:)([^)#\s]*)(?:#([^)\s]*))?\)/g)]
    .filter(([, path = "", anchor]) => {
      const target = path === "" ? file : join(dirname(file), path);
      if (!existsSync(target)) return true;
      return anchor !== undefined && !anchorsOf(readFileSync(target, "utf8")).has(anchor);
    })
    .map(([link]) => link);
  expect(broken).toEqual([]);
});

// macOS's shell, zsh, takes a pasted comment for arguments, and an apostrophe in it for an open quote.
test("commands to paste have no comments", () => {
  const commands = FILES.flatMap((file) => blocksOf(readFileSync(file, "utf8"), "sh"));
  expect(commands.length).toBeGreaterThan(30);
  expect(commands.filter((text) => /(?:^|\s)#/m.test(text))).toEqual([]);
});

test("the example of docs/contributing.md is a test of this run", () => {
  const [example] = blocksOf(readFileSync("docs/contributing.md", "utf8"), "ts");
  expect(example).toBe(readFileSync("test/testing/example.test.ts", "utf8"));
});
