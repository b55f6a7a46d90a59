import type { ReadingResult } from "../sections/reading.ts";
import { milliseconds, requests, table, times, whole } from "./markdown.ts";
import type { Section } from "./section.ts";

export const readingSection = ({ rows, warm }: ReadingResult): Section => {
  const ofConsumables = rows.filter(({ kind }) => kind.includes("consumables"));
  const lengths = [...new Set(ofConsumables.map(({ purchases }) => purchases))];
  const customers = [...new Set(ofConsumables.map((row) => row.customers))];
  return {
    text: `## Read, by purchase history

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
item ${whole(warm.queryMicroseconds)}: ${times(warm.ratio)}.

![Read, by past purchases](charts/reading.svg)`,
    charts: {
      reading: {
        title: "Read, by past purchases of the account",
        kind: "bars",
        categories: lengths.map(whole),
        of: "past purchases",
        unit: "milliseconds",
        series: customers.map((count) => ({
          name: count === 1 ? "1 customer" : `${count} customers`,
          values: lengths.map(
            (length) =>
              ofConsumables.find((row) => row.customers === count && row.purchases === length)?.milliseconds
                .median ?? Number.NaN,
          ),
        })),
      },
    },
  };
};
