import { readFileSync, writeFileSync } from "node:fs";
import { GROUPS, type Row } from "./attacks.ts";
import { ACCEPTED, apples, applesOfCertificates, ours, oursOfCertificates } from "./verdicts.ts";

/** The document's table stands between these. `UPDATE=1` writes it anew. */
const DOCUMENT = new URL("../../../docs/verification.md", import.meta.url);
const BEGIN = "<!-- verdicts: written by test/proof/comparison -->";
const END = "<!-- /verdicts -->";

interface Compared {
  readonly title: string;
  readonly row: Row;
  readonly ours: string;
  readonly apples: string;
}

const compare = async (title: string, row: Row): Promise<Compared> =>
  "certificates" in row
    ? {
        title,
        row,
        ours: oursOfCertificates(row.certificates),
        apples: await applesOfCertificates(row.certificates),
      }
    : {
        title,
        row,
        ours: await ours(row.jws, row.kind, row.setting),
        apples: await apples(row.jws, row.kind, row.setting),
      };

const compared: Compared[] = [];
beforeAll(async () => {
  for (const { title, rows } of GROUPS) for (const row of rows) compared.push(await compare(title, row));
});

const differs = (one: Compared): boolean => (one.ours === ACCEPTED) !== (one.apples === ACCEPTED);
const named = ({ title, row }: Compared): string => `${title}: ${row.name}`;

/** As Prettier aligns it. */
const tableOf = (lines: readonly (readonly string[])[]): string => {
  const widths = (lines[0] ?? []).map((_, column) =>
    Math.max(3, ...lines.map((line) => line[column]?.length ?? 0)),
  );
  const format = (line: readonly string[], fill = " "): string =>
    `| ${line.map((cell, column) => cell.padEnd(widths[column] ?? 0, fill)).join(" | ")} |`;
  const [head = [], ...rest] = lines;
  return [
    format(head),
    format(widths.map((width) => "-".repeat(width))),
    ...rest.map((line) => format(line)),
  ].join("\n");
};

const word = (verdict: string): string => (verdict === ACCEPTED ? "accepted" : `\`${verdict}\``);

const verdicts = (): string => {
  const refusedByUs = compared.filter((one) => differs(one) && one.ours !== ACCEPTED).length;
  const refusedByApple = compared.filter((one) => differs(one) && one.ours === ACCEPTED).length;
  const summary =
    `${compared.length} cases, of which ${compared.filter(({ row }) => row.genuine).length} are genuine. ` +
    `The two agree on ${compared.length - refusedByUs - refusedByApple}; ` +
    `${refusedByUs} are refused here and accepted by Apple's library, ${refusedByApple} the other way round.`;
  const sections = GROUPS.map(({ title }) => {
    const lines = compared
      .filter((one) => one.title === title)
      .map(({ row, ours, apples }) => [row.name, word(ours), word(apples), row.why ?? ""]);
    return `### ${title}\n\n${tableOf([["Case", "This service", "Apple's library", "Where they differ, why"], ...lines])}`;
  });
  return [summary, ...sections].join("\n\n");
};

const document = (): { before: string; written: string; after: string } => {
  const [before = "", rest = ""] = readFileSync(DOCUMENT, "utf8").split(BEGIN);
  const [written = "", after = ""] = rest.split(END);
  return { before, written: written.trim(), after };
};

const writtenVerdicts = (): string => document().written;

const writeVerdicts = (): void => {
  const { before, after } = document();
  writeFileSync(DOCUMENT, `${before}${BEGIN}\n\n${verdicts()}\n\n${END}${after}`);
};

describe("this service and Apple's library", () => {
  test("agree on everything genuine, and accept it", () => {
    const refused = compared
      .filter((one) => one.row.genuine === true && (one.ours !== ACCEPTED || one.apples !== ACCEPTED))
      .map((one) => `${named(one)}: ${one.ours}, Apple's: ${one.apples}`);
    expect(refused).toEqual([]);
  });

  test("accept nothing else: this service refuses every attack", () => {
    const accepted = compared.filter((one) => one.row.genuine !== true && one.ours === ACCEPTED).map(named);
    expect(accepted).toEqual([]);
  });

  test("differ only where a sentence says why", () => {
    const wrong = compared
      .filter((one) => differs(one) !== (one.row.why !== undefined))
      .map((one) => `${named(one)}: ${one.ours}, Apple's: ${one.apples}`);
    expect(wrong).toEqual([]);
  });

  test("are compared in the document as they are", () => {
    if (process.env["UPDATE"] === "1") writeVerdicts();
    expect(writtenVerdicts()).toBe(verdicts());
  });
});
