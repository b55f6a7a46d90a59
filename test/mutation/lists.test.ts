import { readFileSync } from "node:fs";
import { EQUIVALENT } from "./equivalent.ts";
import { scoreOf, type MutationReport } from "./score.ts";

test.each(Object.entries(EQUIVALENT))(
  "every change of %s that is listed as equivalent is of a line there",
  (file, changes) => {
    const lines = readFileSync(file, "utf8")
      .split("\n")
      .map((line) => line.trim());
    for (const { line, from, to } of changes) {
      expect(lines.filter((other) => other === line)).toEqual([line]);
      expect(line).toContain(from);
      expect(to).not.toBe(from);
    }
    expect(new Set(changes.map(({ line, from, to }) => JSON.stringify([line, from, to]))).size).toBe(
      changes.length,
    );
  },
);

describe("the score of a report", () => {
  const source = "const least = (a, b) =>\n  a < b ? a : b;";
  const mutant = (status: string, replacement: string, start = 3, end = 8) => ({
    status,
    mutatorName: "EqualityOperator",
    replacement,
    location: { start: { line: 2, column: start }, end: { line: 2, column: end } },
  });
  const report = (...mutants: readonly ReturnType<typeof mutant>[]): MutationReport => ({
    files: { "least.ts": { source, mutants: [...mutants] } },
  });
  const tie = { line: "a < b ? a : b;", from: "a < b", to: "a <= b", reason: "" };

  test("counts what was noticed, and apart from it what is equivalent", () => {
    const noticed = ["Killed", "Timeout", "RuntimeError"].map((status) => mutant(status, "a > b"));
    const ignored = ["Ignored", "CompileError"].map((status) => mutant(status, "a > b"));
    expect(
      scoreOf(report(...noticed, ...ignored, mutant("Survived", "a <= b"), mutant("NoCoverage", "true")), {
        "least.ts": [tie],
      }),
    ).toEqual({ noticed: 3, equivalent: 1, unnoticed: ["least.ts:2:3 EqualityOperator true"], stale: [] });
  });
  test.each([
    ["another replacement", report(mutant("Survived", "a >= b"))],
    ["another part of the line", report(mutant("Survived", "a <= b", 11, 12))],
    ["the change, noticed", report(mutant("Killed", "a <= b"))],
    ["no change", report()],
  ])("finds an entry stale where the report has %s", (_, found) => {
    expect(scoreOf(found, { "least.ts": [tie] })).toMatchObject({
      equivalent: 0,
      stale: ["least.ts: a < b → a <= b in a < b ? a : b;"],
    });
  });
  test("asks nothing of files that the report does not have", () => {
    expect(scoreOf({ files: {} }, { "least.ts": [tie] })).toMatchObject({ equivalent: 0, stale: [] });
  });
});
