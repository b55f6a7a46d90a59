import { existsSync, readFileSync } from "node:fs";
import { endpoints } from "../../lib/contract/endpoints.ts";
import { ERRORS } from "../../lib/contract/errors.ts";
import { LIMITS, STATUSES } from "../../lib/contract/schemas.ts";

const README = readFileSync("README.md", "utf8");
const PROOF = readFileSync("docs/proof.md", "utf8");

/** The text between two texts. */
const between = (text: string, from: string, to: string): string => {
  const start = text.indexOf(from);
  return text.slice(start, text.indexOf(to, start + from.length));
};

const matches = (text: string, pattern: RegExp): readonly string[] =>
  [...text.matchAll(pattern)].map(([, found = ""]) => found);

const firstWords = (text: string): string => text.split(" ").slice(0, 4).join(" ");

/** Rows of a section: the promise, and what shows it. */
const rowsOf = (section: string): ReadonlyMap<string, string> =>
  new Map(
    matches(between(`${PROOF}\n## `, `\n## ${section}\n`, "\n## "), /^\| (.+) \|$/gm)
      .slice(2)
      .map((row) => row.split(" | "))
      .map(([promise = "", ...proofs]) => [promise.trim(), proofs.join(" | ").trim()]),
  );

test.each<[string, readonly string[]]>([
  ["What the README promises", matches(between(README, "What it promises:", "\n## "), /^- \*\*(.+?)\*\*/gm)],
  [
    "Notes on the manifest",
    matches(between(README, "Notes on the file:", "\n### "), /^- (.+)$/gm).map(firstWords),
  ],
  ["Endpoints", Object.keys(endpoints)],
  ["Errors", Object.keys(ERRORS)],
  ["Statuses", STATUSES],
  ["Limits", Object.keys(LIMITS)],
  [
    "Commands",
    [
      ...new Set(
        matches(README, /^\| `(console|(?:application|account|customer|credential|destination) [a-z]+)/gm),
      ),
    ],
  ],
])("%s: every promise has a row, and every row is of a promise", (section, promises) => {
  expect(promises.length).toBeGreaterThan(4);
  expect([...rowsOf(section).keys()].sort()).toEqual([...promises].sort());
});

const rows = PROOF.split("\n").flatMap((line) => {
  const [, promise = "", proof = ""] = /^\| (.+?) +\| (.+?) +\|$/.exec(line) ?? [];
  return promise === "" || promise === "Promise" || promise.startsWith("--")
    ? []
    : [[promise, proof] as const];
});

test.each(rows)("%s: what shows it exists", (_, proof) => {
  for (const one of proof.split("<br>")) {
    if (one.startsWith("not shown here: ")) continue;
    const [, file = "", name = ""] = /^`(.+?)` "(.+)"$/.exec(one) ?? [];
    expect([one, existsSync(file)]).toEqual([one, true]);
    expect([one, readFileSync(file, "utf8").includes(name)]).toEqual([one, true]);
  }
});
