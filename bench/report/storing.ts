import type { StoringResult, StoringRow } from "../sections/storing.ts";
import { milliseconds, percent, requests, table, whole } from "./markdown.ts";

const rowsOf = (rows: readonly StoringRow[], label: (row: StoringRow) => readonly (string | number)[]) =>
  rows.map((row) => [
    ...label(row),
    requests(row.requests),
    whole(row.readUnits),
    whole(row.writeUnits),
    milliseconds(row.milliseconds.total),
    milliseconds(row.milliseconds.verification),
    milliseconds(row.milliseconds.dynamoDb),
    milliseconds(row.milliseconds.rest),
    percent(row.restPart),
  ]);

const COLUMNS = [
  "requests",
  "read units",
  "write units",
  "total, ms",
  "verification",
  "DynamoDB",
  "rest",
  "rest, share",
];

export const storingSection = ({ bySize, byStored }: StoringResult): string => {
  const kinds = [...new Set(bySize.map(({ kind }) => kind))];
  const tables = kinds.map((kind) => {
    const rows = bySize.filter((row) => row.kind === kind);
    return `### By size: ${kind}

${table(
  ["endpoint", "transactions", "state", ...COLUMNS],
  rowsOf(rows, ({ endpoint, transactions, state }) => [endpoint, whole(transactions), state]),
)}`;
  });
  return `## Synchronize and link, by size

The use cases on DynamoDB Local, in one warm process, with the application in memory.

- "DynamoDB" is the time in its client, from command to result. "Rest" is the total less verification and DynamoDB.
- Read units are those that DynamoDB Local reports, plus one for each key that does not exist.
- Write units are counted from the items: each rounded up to 1 KB and twice for the transaction, plus two for each new index
  entry. (DynamoDB Local adds up a transaction's items before it rounds, and reports too little.) An update counts with the
  item's size at its last put, or 1 KB.

${tables.join("\n\n")}

### One new transaction, by stored purchases

${table(
  ["past purchases", "stored", ...COLUMNS],
  rowsOf(byStored, ({ kind, stored }) => [kind, whole(stored)]),
)}

Requests do not grow with the past. Nothing grows if the past grants nothing. What is owned for ever is part of every
answer, so the customer's and the account's item hold all of it.`;
};
