import type { ReadingResult } from "../sections/reading.ts";
import { milliseconds, requests, table, times, whole } from "./markdown.ts";

export const readingSection = ({ rows, warm }: ReadingResult): string => `## Read, by purchase history

The use case on DynamoDB Local, with the application in memory, by what the account's customers have bought before and by
their number.

${table(
  ["history", "purchases", "customers", "requests", "read units", "median, ms", "99th percentile, ms"],
  rows.map((row) => [
    row.kind,
    whole(row.purchases),
    row.customers,
    requests(row.requests),
    row.readUnits,
    milliseconds(row.milliseconds.median),
    milliseconds(row.milliseconds.p99),
  ]),
)}

A read of one subscription takes ${whole(warm.readMicroseconds)} µs of processor time, and the document client's Query for the same
item ${whole(warm.queryMicroseconds)}: ${times(warm.ratio)}.`;
