import { sum } from "../measure.ts";
import type { Consumption } from "../meter.ts";
import { whole } from "./markdown.ts";
import { PRICES } from "./prices.ts";

export const MINUTES_OF_MONTH = 43_200;

export const roundTripsOf = ({ requests }: Pick<Consumption, "requests">): number =>
  sum(Object.values(requests));

/** A line of a month's bill. */
export interface CostLine {
  readonly what: string;
  readonly amount: string;
  readonly dollars: number;
}

/** A month's use of DynamoDB and Lambda. */
export interface Usage extends Pick<Consumption, "readUnits" | "writeUnits"> {
  readonly invocations: number;
  /** Origin of the invocations. */
  readonly invokedBy: string;
  readonly gigabyteSeconds: number;
}

export const usageLines = ({
  readUnits,
  writeUnits,
  invocations,
  invokedBy,
  gigabyteSeconds,
}: Usage): readonly CostLine[] => [
  { what: "read units", amount: whole(readUnits), dollars: readUnits * PRICES.readUnit },
  { what: "write units", amount: whole(writeUnits), dollars: writeUnits * PRICES.writeUnit },
  {
    what: `invocations, of ${invokedBy}`,
    amount: whole(invocations),
    dollars: invocations * PRICES.invocation,
  },
  {
    what: "GB-seconds",
    amount: whole(gigabyteSeconds),
    dollars: gigabyteSeconds * PRICES.gigabyteSecond,
  },
];

export const costOf = (lines: readonly CostLine[]): number => sum(lines.map(({ dollars }) => dollars));
