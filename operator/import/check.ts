import type { ImportSource } from "../../lib/administration/import/claim.ts";
import { checkImport, type ImportCheck } from "../../lib/administration/import/report.ts";
import { readManifestFile } from "../commands/apply.ts";
import { asText, type Command, numberFrom, optional, optionsIn, required } from "../commands/command.ts";
import { columns, counted, type Answer, type Lines } from "../text/answer.ts";
import { durationText, problemLines, problemsJson, shareText } from "./report-text.ts";
import { FILES, openSource, READING } from "./source.ts";

export const RATE = required(
  "--rate <number>",
  "requests a second of a run to each bundle or package",
  numberFrom(0.1, 1000),
  "20",
);

const unmappedLines = ({ unmapped }: ImportCheck): readonly Lines[] => {
  if (unmapped === null) return ["--manifest <file.yaml> shows the products that it does not map."];
  if (unmapped.size === 0) return ["The manifest maps every product."];
  const rows = [...unmapped]
    .sort(([, a], [, b]) => b - a)
    .map(([product, claims]) => [product, counted(claims, "row")]);
  return ["Products that the manifest does not map:", columns(rows)];
};

const presentCheck = ({ files }: ImportSource, check: ImportCheck): Answer => {
  const { claims, unmapped, problems, ...counts } = check;
  const { requests } = counts;
  const ofAll = (part: number): string => `${part} (${shareText(part, claims)})`;
  return {
    json: {
      files,
      ...counts,
      unmappedProducts: unmapped && Object.fromEntries(unmapped),
      problems: problemsJson(problems),
    },
    text: [
      ...columns(files.map(({ name, format }) => [name, format])),
      "",
      ...columns([
        ["Rows", String(counts.rows)],
        ["Accounts", String(counts.accounts)],
        ["Purchases", String(counts.purchases)],
        ["Without an account", ofAll(counts.anonymous)],
        ["Sandbox purchases", ofAll(counts.sandbox)],
        ["Rows without an id or token: no store can be asked", ofAll(counts.unaskable)],
        ["Google purchases with an order id alone", String(counts.ordersOnly)],
        ["Requests to the App Store", String(requests["ios-store"])],
        ["Requests to Google", String(requests["android-store"])],
        ["A run takes about", durationText(counts.minutes)],
      ]),
      "",
      ...unmappedLines(check),
      ...problemLines("Rows that cannot be used as they are:", problems),
    ],
  };
};

const OPTIONS = {
  ...READING,
  manifest: optional("--manifest <file.yaml>", "show the products that it does not map", asText),
  rate: RATE,
};

/** Any address: only the catalog of a checked manifest is used. */
const ANYWHERE = { trustsOrigin: () => true, allowsDestination: () => true };

/** Reads exports, and says what a run would do. Asks neither a store nor the table. */
export const checkFiles: Command = {
  name: "import check",
  about: "read exports, and show what a run would do; asks nobody",
  takes: { files: FILES },
  options: OPTIONS,
  run: async (_, texts) => {
    const options = optionsIn(OPTIONS, texts);
    const source = await openSource(FILES.read(texts["files"]), options);
    const { manifest } = options;
    const read = manifest === null ? null : await readManifestFile(manifest, ANYWHERE);
    return presentCheck(source, await checkImport(source, read?.catalog ?? null, options.rate));
  },
};
