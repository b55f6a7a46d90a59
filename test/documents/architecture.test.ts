import { globSync, readFileSync } from "node:fs";
import { dirname, normalize } from "node:path";

const DOCUMENT = readFileSync("docs/architecture.md", "utf8");

/** Folders of the import picture, by the start of their files' paths. */
const ROOMS: Readonly<Record<string, string>> = {
  contract: "lib/contract/",
  entitlements: "lib/entitlements/",
  stores: "lib/stores/",
  applications: "lib/applications/",
  freshness: "lib/freshness/",
  telling: "lib/telling/",
  customers: "lib/customers/",
  administration: "lib/administration/",
  table: "lib/table/",
  functions: "functions/",
  operator: "operator/",
  sandbox: "sandbox/",
  local: "local/",
  infra: "infra/",
  testing: "testing/",
  client: "client/",
  tools: "tools/",
  bench: "bench/",
};

type Arrows = ReadonlyMap<string, ReadonlySet<string>>;

const roomOf = (file: string): string | undefined =>
  Object.entries(ROOMS).find(([, folder]) => file.startsWith(folder))?.[0];

const importedBy = (file: string): string[] =>
  [...readFileSync(file, "utf8").matchAll(/(?:from|import\()\s*"(\.[^"]+)"/g)].map(([, path = ""]) =>
    normalize(`${dirname(file)}/${path}`),
  );

const actualArrows = (): Arrows => {
  const arrows = new Map(Object.keys(ROOMS).map((room) => [room, new Set<string>()]));
  for (const folder of Object.values(ROOMS))
    for (const file of globSync(`${folder}**/*.ts`))
      for (const imported of importedBy(file)) {
        const [from, to] = [roomOf(file), roomOf(imported)];
        if (from !== undefined && to !== undefined && from !== to) arrows.get(from)?.add(to);
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

test("the import picture has the real arrows, without those that follow from others", () => {
  expect(drawn().sort()).toEqual(direct(actualArrows()).sort());
});

test("every folder of the tree has a row, and every row a folder", () => {
  const [, table = ""] = DOCUMENT.split("## The tree\n");
  const rows = [...table.matchAll(/^\| `([^`]+)`/gm)].map(([, folder = ""]) => folder);
  expect(rows.filter((row) => row !== "test/").sort()).toEqual(Object.values(ROOMS).sort());
});
