import type { Claim, RowProblem } from "./claim.ts";

/** A row of the files, with the claims that it makes. */
export interface ImportRow {
  /** Index of the file. */
  readonly file: number;
  /** Number of the row in its file, from 1 on, the header aside. */
  readonly number: number;
  readonly claims: readonly Claim[];
  readonly problems: readonly RowProblem[];
}

/** The files of an import, which can be read any number of times, a bounded part at a time. */
export interface ImportSource {
  readonly files: readonly {
    readonly name: string;
    readonly format: string;
    readonly claimsAccess: boolean;
  }[];
  rows(): AsyncIterable<ImportRow>;
}

/** A claim and its row's place. */
export interface PlacedClaim {
  readonly file: number;
  readonly row: number;
  /** Number of the claim among all claims of the files, from 0 on. */
  readonly index: number;
  readonly claim: Claim;
}

/** All claims in the order of the files; the same numbers at every reading. */
export const claimsOf = async function* (source: ImportSource): AsyncGenerator<PlacedClaim> {
  let index = 0;
  for await (const { file, number, claims } of source.rows())
    for (const claim of claims) {
      yield { file, row: number, index, claim };
      index += 1;
    }
};

interface ProblemCount {
  /** Rows with the problem. */
  readonly count: number;
  readonly firstRow: string;
}

/** Problems of the rows read so far. */
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
