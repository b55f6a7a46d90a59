import { globSync, readFileSync } from "node:fs";

/**
 * `npm run words`: prints the words of prose of the README and of each page of `docs/`, beside the budget of each. Code
 * fences, bars of tables, addresses of links and HTML do not count.
 */
const BUDGETS: Readonly<Record<string, number>> = {
  "README.md": 1200,
  "docs/tutorial.md": 1300,
  "docs/integration.md": 1800,
  "docs/moving.md": 900,
  "docs/manifest-and-commands.md": 1700,
  "docs/deploy.md": 1900,
  "docs/runbook.md": 3300,
  "docs/support.md": 1300,
  "docs/recovery.md": 1400,
  "docs/security.md": 600,
  "docs/scale.md": 900,
  "docs/architecture.md": 2000,
  "docs/stores.md": 2600,
  "docs/decisions/": 2000,
  "docs/contributing.md": 700,
  "docs/proof.md": 300,
  "docs/performance.md": 400,
};

const prose = (markdown: string): string =>
  markdown
    .replace(/^ *(`{3,}|~{3,})[^]*?^ *\1`*$/gm, "")
    .replace(/<!--[^]*?-->|<\/?(?:a|br|div|img|p|picture|source)\b[^>]*>|<?https?:\/\/[^\s)>]+>?/g, " ")
    .replace(/!\[[^\]]*\]\([^)]*\)/g, " ")
    .replace(/\]\([^)]*\)/g, " ")
    .replace(/^ *(?:[-*]|\d+\.) /gm, "")
    .replaceAll("|", " ");

export const wordsOf = (markdown: string): number =>
  prose(markdown)
    .split(/\s+/)
    .filter((word) => /[\p{L}\p{N}]/u.test(word)).length;

/** The name under which a page is counted: a folder's pages are counted together. */
const nameOf = (file: string): string => (file.startsWith("docs/decisions/") ? "docs/decisions/" : file);

const main = (): void => {
  const words = new Map<string, number>(Object.keys(BUDGETS).map((name) => [name, 0]));
  for (const file of ["README.md", ...globSync("docs/**/*.md").sort()]) {
    const name = nameOf(file);
    words.set(name, (words.get(name) ?? 0) + wordsOf(readFileSync(file, "utf8")));
  }
  const line = (name: string, counted: number, budget: number | undefined): string =>
    `${name.padEnd(32)}${String(counted).padStart(7)}${String(budget ?? "none").padStart(8)}`;
  const total = [...words.values()].reduce((sum, one) => sum + one, 0);
  const budget = Object.values(BUDGETS).reduce((sum, one) => sum + one, 0);
  const rows = [...words].map(([name, counted]) => line(name, counted, BUDGETS[name]));
  process.stdout.write(
    `${["page".padEnd(34) + "words  budget", ...rows, line("total", total, budget)].join("\n")}\n`,
  );
};

if (import.meta.main) main();
