import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { format, resolveConfig } from "prettier";
import { GROUPS, type Row } from "./attacks.ts";
import { ACCEPTED, apples, applesOfCertificates, ours, oursOfCertificates } from "./verdicts.ts";

/** The cases on which the two differ. `UPDATE=1` writes the file anew. */
const VERDICTS = new URL("verdicts.md", import.meta.url);

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

const page = async (): Promise<string> => {
  const sections = GROUPS.map(({ title, rows }) => {
    const differing = compared.filter((one) => rows.includes(one.row) && differs(one));
    const lines = differing.map(({ row, ours }) => `| ${row.name} | \`${ours}\` | ${row.why ?? ""} |`);
    return lines.length === 0
      ? ""
      : [`## ${title}`, "", "| Case | Refused as | Why |", "| --- | --- | --- |", ...lines].join("\n");
  });
  const text = `# Verdicts that differ from Apple's library

\`comparison.test.ts\` gives the same bytes to this service and to \`SignedDataVerifier\` of \`@apple/app-store-server-library\`.
These cases are accepted there and refused here. The test fails where this file is not up to date; \`UPDATE=1\` writes it.

${sections.filter((section) => section !== "").join("\n\n")}
`;
  return format(text, { ...(await resolveConfig(fileURLToPath(VERDICTS))), parser: "markdown" });
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

  test("differ on the cases of verdicts.md", async () => {
    const written = await page();
    if (process.env["UPDATE"] === "1") writeFileSync(VERDICTS, written);
    expect(readFileSync(VERDICTS, "utf8")).toBe(written);
  });
});
