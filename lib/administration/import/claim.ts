import { hash } from "node:crypto";
import type { ProductKind, Store } from "../../contract/schemas.ts";
import type { ProductReference } from "../../entitlements/catalog.ts";
import type { Instant } from "../../entitlements/time.ts";
import type { AccountId } from "../../identifiers.ts";

export const sha256 = (text: string): string => hash("sha256", text, "hex");

/** Name by which a store is asked. A legacy `receipt` holds a transaction id; an `order` has a token. */
export interface PurchaseName {
  readonly kind: "transaction" | "receipt" | "token" | "order";
  readonly value: string;
}

export type AskedEnvironment = "production" | "sandbox";

/** One purchase, as a row claims it; null fields: the file does not name them. */
export interface Claim {
  /** Null: nobody's, such as an anonymous identifier's. */
  readonly account: AccountId | null;
  readonly store: Store;
  /** Bundle or package. */
  readonly app: string | null;
  /** Null: no store can be asked about it. */
  readonly name: PurchaseName | null;
  /** First transaction id of the lineage, where the row has it beside the transaction's own. */
  readonly lineage: string | null;
  readonly product: ProductReference | null;
  readonly kind: ProductKind | null;
  readonly environment: AskedEnvironment | null;
  /** Access that the other service gives for it. */
  readonly access: Access | null;
  /** When the other service last changed the row. */
  readonly updatedAt: Instant | null;
}

export type Access =
  | { readonly given: false }
  /** `until` null: for ever. */
  | { readonly given: true; readonly until: Instant | null };

/** Whether the claimed access runs at a moment; null: the file does not say. */
export const claimsAccessAt = ({ access }: Pick<Claim, "access">, moment: Instant): boolean | null =>
  access && access.given && (access.until === null || access.until > moment);

export const ROW_PROBLEMS = {
  unreadable: "the row cannot be read",
  "no-account": "it names no account; the purchase is stored without one",
  "bad-account": "its account has more than 256 characters or a control character; it is stored without one",
  "other-store": "it is of a store that this service does not serve, such as the web",
  "bad-access": "its claim of access has a value that is no boolean, or no time such as 2027-01-31",
  "bad-receipt": "its receipt is none, or names no transaction",
} as const;
export type RowProblem = keyof typeof ROW_PROBLEMS;

export interface RowReading {
  readonly claims: readonly Claim[];
  readonly problems: readonly RowProblem[];
}

interface Place {
  readonly file: number;
  /** From 1 on, the header aside. */
  readonly row: number;
}

export interface ImportRow extends Place, RowReading {}

export interface PlacedClaim extends Place {
  readonly claim: Claim;
}

export interface ImportSource {
  readonly files: readonly {
    readonly name: string;
    readonly format: string;
    readonly claimsAccess: boolean;
  }[];
  rows(): AsyncIterable<ImportRow>;
}

export const claimsOf = async function* (source: ImportSource): AsyncGenerator<PlacedClaim> {
  for await (const { file, row, claims } of source.rows())
    for (const claim of claims) yield { file, row, claim };
};

export type RowProblems = Map<RowProblem, { count: number; readonly firstRow: string }>;

/** Reads all rows, and counts them and what cannot be used of them. */
export const readRows = async (source: ImportSource, onClaim: (claim: Claim) => void) => {
  const problems: RowProblems = new Map();
  let rows = 0;
  for await (const { file, row, claims, problems: found } of source.rows()) {
    rows += 1;
    claims.forEach(onClaim);
    for (const problem of found) {
      const firstRow = `${source.files[file]?.name ?? ""}, row ${row}`;
      const noted = problems.get(problem) ?? { count: 0, firstRow };
      noted.count += 1;
      problems.set(problem, noted);
    }
  }
  return { rows, problems };
};
