import type { Claim, RowProblem } from "./claim.ts";

export interface ImportRow {
  readonly file: number;
  /** Number of the row in its file, from 1 on, the header aside. */
  readonly number: number;
  readonly claims: readonly Claim[];
  readonly problems: readonly RowProblem[];
}

export interface ImportSource {
  readonly files: readonly {
    readonly name: string;
    readonly format: string;
    readonly claimsAccess: boolean;
  }[];
  rows(): AsyncIterable<ImportRow>;
}

export interface PlacedClaim {
  readonly file: number;
  readonly row: number;
  readonly claim: Claim;
}

/** All claims in the order of the files. */
export const claimsOf = async function* (source: ImportSource): AsyncGenerator<PlacedClaim> {
  for await (const { file, number, claims } of source.rows())
    for (const claim of claims) yield { file, row: number, claim };
};

interface ProblemCount {
  readonly count: number;
  readonly firstRow: string;
}

export type RowProblems = Map<RowProblem, ProblemCount>;
export type ReadonlyProblems = ReadonlyMap<RowProblem, ProblemCount>;

export const noteProblems = (
  noted: RowProblems,
  { files }: Pick<ImportSource, "files">,
  { file, number, problems }: ImportRow,
): void => {
  for (const problem of problems) {
    const known = noted.get(problem);
    const firstRow = known?.firstRow ?? `${files[file]?.name ?? ""}, row ${number}`;
    noted.set(problem, { count: (known?.count ?? 0) + 1, firstRow });
  }
};
