import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { basename, dirname, normalize } from "node:path";

const DOCUMENT = readFileSync("docs/architecture.md", "utf8");

/** Modules of the project but for tests, which import anything. */
const MODULES = execFileSync("git", ["ls-files", "*.ts", "*.tsx"], { encoding: "utf8" })
  .trim()
  .split("\n")
  .filter((file) => file.includes("/") && !file.startsWith("test/"));

/** Folder of the tree to which a file belongs: in `lib/` one of its folders, or `lib/` itself. */
const folderOf = (file: string): string => (/^lib\/[^/]+\//.exec(file) ?? /^[^/]+\//.exec(file) ?? [""])[0];

const FOLDERS = [...new Set(MODULES.map(folderOf))].sort();

type Arrows = ReadonlyMap<string, ReadonlySet<string>>;

/** Name of a folder in the picture. */
const roomOf = (file: string): string => basename(folderOf(file));

const importedBy = (file: string): string[] =>
  [...readFileSync(file, "utf8").matchAll(/(?:from|import\()\s*"(\.[^"]+)"/g)].map(([, path = ""]) =>
    normalize(`${dirname(file)}/${path}`),
  );

const actualArrows = (): Arrows => {
  const arrows = new Map(FOLDERS.map((folder) => [roomOf(folder), new Set<string>()]));
  for (const file of MODULES)
    for (const imported of importedBy(file)) {
      const [from, to] = [roomOf(file), roomOf(imported)];
      if (arrows.has(to) && from !== to) arrows.get(from)?.add(to);
    }
  return arrows;
};

const reaches = (arrows: Arrows, from: string, to: string): boolean =>
  [...(arrows.get(from) ?? [])].some((next) => next === to || reaches(arrows, next, to));

/** Arrows that no way through other rooms replaces. */
const direct = (arrows: Arrows): string[] =>
  [...arrows].flatMap(([from, targets]) =>
    [...targets]
      .filter((to) => ![...targets].some((other) => other !== to && reaches(arrows, other, to)))
      .map((to) => `${from} --> ${to}`),
  );

const drawn = (): string[] => {
  const [, picture = ""] = /```mermaid\nflowchart RL\n([^`]*)```/.exec(DOCUMENT) ?? [];
  return [...picture.matchAll(/^\s*(.+?) --> (.+)$/gm)].flatMap(([, from = "", to = ""]) =>
    from.split(" & ").flatMap((one) => to.split(" & ").map((other) => `${one} --> ${other}`)),
  );
};

test("the import picture has the real arrows, without the implied ones", () => {
  expect(drawn().sort()).toEqual(direct(actualArrows()).sort());
});

test("every folder of the tree has a row, and conversely", () => {
  const [, table = ""] = DOCUMENT.split("## The tree\n");
  const rows = [...table.matchAll(/^\| `([^`]+)`/gm)].map(([, folder = ""]) => folder);
  expect(rows.filter((row) => row !== "test/").sort()).toEqual(FOLDERS);
});
