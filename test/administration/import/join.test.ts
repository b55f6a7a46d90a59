import { type Claim, sha256 } from "../../../lib/administration/import/claim.ts";
import { NOTHING_CLAIMED } from "../../../lib/administration/import/formats.ts";
import {
  type AnsweredEntry,
  applyEntry,
  countClaim,
  decide,
  isNewest,
  type Join,
  lineageOf,
  noteClaim,
  personOf,
} from "../../../lib/administration/import/join.ts";
import { accountId } from "../../../lib/identifiers.ts";
import { NOW } from "../../../testing/support/stores/purchases.ts";

const aClaim = (transaction: string, account: string, changes: Partial<Claim> = {}): Claim => ({
  ...NOTHING_CLAIMED,
  account: accountId(account),
  store: "ios-store",
  name: { kind: "transaction", value: transaction },
  ...changes,
});

const idOf = (transaction: string): string => sha256(`ios-store ${transaction}`);

/** The App Store's answer to a question about a transaction: lineages with the transactions of each. */
const answered = (asked: string, lineages: Readonly<Record<string, readonly string[]>>): AnsweredEntry => ({
  id: idOf(asked),
  outcome: "answered",
  stored: "stored",
  samePerson: [],
  lineages: Object.entries(lineages).map(([key, transactions]) => ({
    id: idOf(key),
    also: transactions.map(idOf),
    key,
    environment: "production",
    state: "active",
    isMapped: true,
    echo: null,
  })),
});

/** Joins claims with answers, in either order of the claims. */
const joined = (claims: readonly Claim[], ...answers: readonly AnsweredEntry[]): Join => {
  const join: Join = new Map();
  for (const claim of claims) noteClaim(join, claim);
  for (const entry of answers) applyEntry(join, entry);
  for (const claim of claims) if (isNewest(join, claim)) countClaim(join, claim, NOW);
  return join;
};

const orders = (...claims: Claim[]): Claim[][] => [claims, claims.toReversed()];

test.each(orders(aClaim("1", "a"), aClaim("2", "b")))(
  "one person's lineages have one account, or are disputed: order %#",
  (...claims) => {
    const person = (...answers: AnsweredEntry[]) => {
      const join = joined(claims, ...answers);
      return claims.map((claim) => personOf(lineageOf(join, claim)).isDisputed);
    };
    expect(person(answered("1", { 1: ["1"] }), answered("2", { 2: ["2"] }))).toEqual([false, false]);
    expect(person(answered("1", { 1: ["1"], 2: ["2"] }))).toEqual([true, true]);
    const named = { ...answered("1", { 1: ["1"] }), samePerson: [idOf("2")] };
    expect(person(answered("2", { 2: ["2"] }), named)).toEqual([true, true]);
  },
);

test("transactions of one lineage are one, whatever the files say", () => {
  const ofNine = ["2", "3", "4"].map((transaction) => aClaim(transaction, "a", { lineage: "9" }));
  const claims = [aClaim("1", "a"), ...ofNine];
  const join = joined(claims, answered("1", { 1: ["1", "2"], 4: ["4"], 9: ["9", "3"] }));
  expect(claims.map((claim) => lineageOf(join, claim).key)).toEqual(["1", "1", "9", "4"]);
});

test("a purchase that is of another lineage than the files say is answered with it", () => {
  const claim = aClaim("2", "a", { lineage: "1" });
  const join = joined([claim], answered("2", { 5: ["5"] }));
  expect(lineageOf(join, claim)).toMatchObject({ key: "5", state: "active" });
  applyEntry(join, answered("1", { 1: ["1", "2"] }));
  expect([lineageOf(join, claim).key, join.get(idOf("5"))?.lineage.key]).toEqual(["1", "5"]);
});

test("of one transaction the newest claim counts, and an operator decides for the person", () => {
  const claims = [aClaim("1", "old", { updatedAt: 1 }), aClaim("1", "new", { updatedAt: 2 })];
  const join = joined(claims, answered("1", { 1: ["1"], 2: [] }));
  const [person] = claims.map((claim) => personOf(lineageOf(join, claim)));
  expect(person).toMatchObject({ account: "new", isDisputed: false });
  const decisions = [
    ["2", accountId("b")],
    ["unknown", accountId("c")],
  ] as const;
  decide(join, new Map(decisions));
  expect(person).toMatchObject({ account: "new", decided: "b" });
});
