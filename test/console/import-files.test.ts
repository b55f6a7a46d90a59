import { readDifferences, readReport, searched } from "../../console/pages/import-files.ts";

const HEADER = "account,cause,store,product,purchase,other_service_gives_access,state,file,row";
const listed = (...rows: readonly string[]) => readDifferences([HEADER, ...rows, ""].join("\n"));

test("a row is read as it was, quoted or kept from spreadsheets", () => {
  const [quoted, formula, nameless] =
    listed(
      '"a ""b"", c",refunded,ios-store,monthly,71,true,refunded,export.csv,1',
      "'=1+1,no-token,android-store,,,,unasked,export.csv,2",
      ",ended,ios-store,p,72,true,ended,export.csv,3",
    ) ?? [];
  expect(quoted).toMatchObject({ account: 'a "b", c', product: "monthly", row: "1" });
  expect(formula).toMatchObject({ account: "=1+1", product: "", purchase: "", state: "unasked" });
  expect(nameless).toMatchObject({ account: "", cause: "ended", row: "3" });
});

test("a search looks into every field, in any case", () => {
  const all = listed(
    "Ada,refunded,ios-store,p,71,true,refunded,f,1",
    "bob,ended,ios-store,p,72,true,ended,f,2",
  );
  const found = (text: string) => searched(all ?? [], text).map(({ account }) => account);
  expect([found("ADA"), found("71"), found(" ended "), found(""), found("nobody")]).toEqual([
    ["Ada"],
    ["Ada"],
    ["bob"],
    ["Ada", "bob"],
    [],
  ]);
});

test("no account differs: the list is empty", () => {
  expect(listed()).toEqual([]);
});

test("other files are not taken for a run's", () => {
  expect(["", "a,b\n1,2\n", "{}"].map(readDifferences)).toEqual([null, null, null]);
  expect(["", HEADER, "{}", '{"sentence":"","causes":[{"cause":1}]}', "[]"].map(readReport)).toEqual(
    Array.from({ length: 5 }, () => null),
  );
});
