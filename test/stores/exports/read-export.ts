import { gunzipSync } from "node:zlib";
import { readFileSync } from "node:fs";

/** Reads an export's files as an importer would: by header, with any delimiter. */
export type ReadRow = Readonly<Record<string, string>>;

const DELIMITERS = [",", ";", "\t", "|"];

/** Fields of RFC 4180, line by line. */
const fieldsOf = (text: string, delimiter: string): string[][] => {
  const lines: string[][] = [[""]];
  let isQuoted = false;
  for (let index = 0; index < text.length; index += 1) {
    const symbol = text[index] ?? "";
    const line = lines.at(-1) ?? [];
    if (isQuoted && symbol === '"' && text[index + 1] === '"') {
      line.push(`${line.pop() ?? ""}"`);
      index += 1;
    } else if (symbol === '"') isQuoted = !isQuoted;
    else if (!isQuoted && symbol === delimiter) line.push("");
    else if (!isQuoted && symbol === "\n") lines.push([""]);
    else line.push((line.pop() ?? "") + symbol);
  }
  return lines.slice(0, -1);
};

export const readCsv = (text: string): ReadRow[] => {
  const plain = text.replace(/^\ufeff/, "");
  const [header = ""] = plain.split("\n", 1);
  const delimiter = DELIMITERS.find((each) => header.includes(each)) ?? ",";
  const [columns = [], ...lines] = fieldsOf(plain, delimiter);
  return lines.map((fields) =>
    Object.fromEntries(columns.map((column, index) => [column, fields[index] ?? ""])),
  );
};

export const readFile = (path: string): ReadRow[] => {
  const bytes = readFileSync(path);
  const text = (path.endsWith(".gz") ? gunzipSync(bytes) : bytes).toString("utf8");
  return path.includes(".ndjson")
    ? text
        .trimEnd()
        .split("\n")
        .map((line): ReadRow => JSON.parse(line))
    : readCsv(text);
};
