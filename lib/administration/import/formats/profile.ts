import type { RowReading } from "../claim.ts";
import type { Row } from "./values.ts";

/** Which of RevenueCat's two identifiers of a user is the account. */
export type AccountChoice = "last-seen" | "original";

export interface ReadingOptions {
  readonly account: AccountChoice;
}

export interface Profile {
  readonly name: string;
  /** Columns that no other format has: any of them recognizes this one. */
  readonly marks: readonly string[];
  readonly needs: readonly string[];
  /** Lists of columns of which one each is needed. */
  readonly needsOneOf: readonly (readonly string[])[];
  /** Columns that are read where they are there. */
  readonly takes: readonly string[];
  read(row: Row, options: ReadingOptions): RowReading;
}

export const columnsOf = ({ needs, needsOneOf, takes }: Profile): ReadonlySet<string> =>
  new Set([...needs, ...needsOneOf.flat(), ...takes]);

/** Columns that a header lacks; alternatives are joined by "or". */
export const missingIn = ({ needs, needsOneOf }: Profile, header: ReadonlySet<string>): readonly string[] => [
  ...needs.filter((column) => !header.has(column)),
  ...needsOneOf.filter((some) => !some.some((column) => header.has(column))).map((some) => some.join(" or ")),
];
