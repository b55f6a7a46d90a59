import { v7 as uuid } from "uuid";
import { statedPurchases } from "../../../lib/customers/storing/verified-facts.ts";
import { joinAll } from "../../../lib/entitlements/join.ts";
import { byReference, samePurchase, type Purchase } from "../../../lib/entitlements/purchase.ts";
import { storedPurchase } from "../../../lib/table/customers/customers.ts";
import { checkInvariants } from "../../../testing/support/table/invariants.ts";
import { inLength, randomFrom, reportCases, SEED } from "../../../testing/support/proof.ts";
import { DAY, NOW } from "../../../testing/support/stores/purchases.ts";
import type { Fact, IosFact, ModelClaim, ModelRequest } from "../model/stated-facts.ts";
import { createTestTable, type TestTable } from "../../../testing/support/table/table.ts";
import { race, type Job, type Outcome } from "./race.ts";
import { toPurchases } from "../model/as-verified.ts";
import { CATALOG } from "../model/model-client.ts";

const PROCESSES = 3;
const CONCURRENCY = inLength(6, 10);
const ROUNDS = inLength(1, 10);
const JOBS = inLength(180, 900);
const PEOPLE = 3;
const FIRST_START = NOW - 400 * DAY;
const TIMEOUT = inLength(60_000, 60 * 60_000);

let table: TestTable;
beforeEach(async () => {
  table = await createTestTable();
});
afterEach(() => table.remove());

const CONFLICTS: ReadonlySet<string> = new Set(["CUSTOMER_ALREADY_LINKED", "IDENTITY_CONFLICT"]);
const WELL: ReadonlySet<string> = new Set([...CONFLICTS, "stored", "nobody", "unlinked"]);

type Random = () => number;
const oneOf = <T>(random: Random, values: readonly T[]): T => {
  const value = values[Math.floor(random() * values.length)];
  if (value === undefined) throw new RangeError("There is nothing to choose from.");
  return value;
};

/** A renewal of one of the person's two subscriptions, or a purchase that nobody has sent before. */
const aFact = (random: Random, person: number, job: number, appTransaction: string | null): IosFact => {
  const lineage = Math.floor(random() * 3);
  const isSubscription = lineage < 2;
  const renewal = Math.floor(random() * 12);
  const start = FIRST_START + renewal * 30 * DAY;
  const original = isSubscription ? `8${person}${lineage}` : `9${person}${String(job).padStart(4, "0")}`;
  return {
    store: "ios-store",
    environment: "production",
    transaction: isSubscription ? `${original}${String(renewal).padStart(2, "0")}` : original,
    original,
    product: !isSubscription ? "map" : renewal % 3 === 0 ? "basic" : "monthly",
    type: isSubscription ? "subscription" : "non-consumable",
    group: null,
    webOrder: null,
    start,
    originalStart: isSubscription ? FIRST_START : start,
    end: isSubscription ? start + 30 * DAY : null,
    quantity: 1,
    revokedAt: random() < 0.2 ? start + DAY : null,
    revokedShare: null,
    upgraded: false,
    previous: null,
    appTransaction,
    certificate: null,
    signedAt: start + 2 * DAY + job,
  };
};

const requestOf = (
  facts: readonly Fact[],
  appTransaction: string | null,
  claim: ModelClaim | null,
): ModelRequest => ({
  isNotification: false,
  environment: "production",
  appTransaction,
  facts,
  renewals: [],
  answers: [],
  claim,
});

const invariantsOf = async (): Promise<string[]> =>
  checkInvariants(await table.items(), { catalogOf: () => CATALOG });

const count = (outcomes: readonly Outcome[]): Record<string, number> =>
  Object.fromEntries(
    [...Map.groupBy(outcomes, ({ result }) => result)].map(([result, all]) => [result, all.length]),
  );

/** A request that meets very many others of its person may be told to try again: one in a hundred at most. */
const expectFewSentAgain = (outcomes: readonly Outcome[]): void => {
  const again = outcomes.reduce((sum, { sent }) => sum + sent - 1, 0);
  if (again > 0) process.stdout.write(`${expect.getState().currentTestName}: ${again} sent again\n`);
  expect(again).toBeLessThanOrEqual(JOBS / 100);
};

const purchasesOf = (outcomes: readonly Outcome[]): Purchase[] =>
  joinAll(
    statedPurchases({
      purchases: toPurchases(outcomes.flatMap(({ job }) => job.request?.facts ?? [])),
      renewals: [],
    }),
  );

/** The purchases with facts that the others do not have. */
const unknownTo = (others: readonly Purchase[], purchases: readonly Purchase[]): Purchase[] => {
  const joined = byReference(joinAll([...others, ...purchases]));
  const known = byReference(others);
  return [...joined].flatMap(([reference, purchase]) => {
    const other = known.get(reference);
    return other !== undefined && samePurchase(other, purchase) ? [] : [purchase];
  });
};

/** Everything answered with success is stored, and nothing that was not sent. Refused links may store facts too. */
const expectFactsOf = async (outcomes: readonly Outcome[]): Promise<void> => {
  const items = (await table.items()).filter(({ sk }) => sk === "PURCHASE");
  const stored = joinAll(items.map((item) => storedPurchase(item).purchase));
  const answered = outcomes.filter(({ result }) => result === "stored");
  expect(unknownTo(stored, purchasesOf(answered))).toEqual([]);
  expect(unknownTo(purchasesOf(outcomes), stored)).toEqual([]);
};

/** Whether `earlier` ended before `later` began. */
const precedes = (earlier: Outcome, later: Outcome): boolean => earlier.endedAt < later.startedAt;

/** Links that may have existed during a request: made before its end, not certainly removed before its start. */
const linksDuring = (moment: Outcome, ofPerson: readonly Outcome[]): ModelClaim[] =>
  ofPerson.flatMap((made) => {
    const claim = made.result === "stored" ? (made.job.request?.claim ?? null) : null;
    if (claim === null || precedes(moment, made)) return [];
    const isOver = ofPerson.some(
      (end) =>
        precedes(made, end) &&
        precedes(end, moment) &&
        end.customer === made.customer &&
        (end.result === "unlinked" ||
          (end.result === "stored" &&
            claim.by === "client" &&
            end.job.request?.claim?.by === "credential" &&
            end.job.request.claim.account !== claim.account)),
    );
    return isOver ? [] : [claim];
  });

const isTrue = (refusal: Outcome, ofPerson: readonly Outcome[]): boolean => {
  const accounts = new Set(linksDuring(refusal, ofPerson).map(({ account }) => account));
  const own = refusal.job.request?.claim?.account;
  return refusal.result === "IDENTITY_CONFLICT"
    ? accounts.size > 1
    : own !== undefined && [...accounts].some((account) => account !== own);
};

const rounds = Array.from({ length: ROUNDS }, (_, round) => SEED + round);

test.each(rounds)(
  "one of many accounts that claim a customer wins (SEED=%i)",
  async (seed) => {
    const random = randomFrom(seed);
    const jobs = Array.from({ length: JOBS }, (_, job): Job => {
      const person = job % PEOPLE;
      const account = oneOf(random, ["a", "b", "c", "d"]);
      const facts = random() < 0.8 ? [aFact(random, person, job, `70${person}`)] : [];
      return { person, request: requestOf(facts, `70${person}`, { account, by: "credential" }) };
    });
    const outcomes = await race(
      { table: table.name, application: uuid(), jobs, concurrency: CONCURRENCY },
      PROCESSES,
    );

    reportCases(outcomes.length, seed, `: ${JSON.stringify(count(outcomes))}`);
    expect(outcomes).toHaveLength(JOBS);
    expect(Object.keys(count(outcomes)).sort()).toEqual(["CUSTOMER_ALREADY_LINKED", "stored"]);
    expectFewSentAgain(outcomes);
    for (const [, ofPerson] of Map.groupBy(outcomes, ({ job }) => job.person)) {
      const accepted = ofPerson.filter(({ result }) => result === "stored");
      const [winner, ...others] = new Set(accepted.map(({ job }) => job.request?.claim?.account));
      expect(others).toEqual([]);
      expect(new Set(accepted.map(({ customer }) => customer)).size).toBe(1);
      for (const refused of ofPerson.filter(({ result }) => result !== "stored")) {
        expect(refused.job.request?.claim?.account).not.toBe(winner);
        expect(isTrue(refused, ofPerson)).toBe(true);
      }
    }
    expect(await invariantsOf()).toEqual([]);
    await expectFactsOf(outcomes);
  },
  TIMEOUT,
);

test.each(rounds)(
  "concurrent links, merges and unlinks lose nothing (SEED=%i)",
  async (seed) => {
    const random = randomFrom(seed + 1_000_000);
    const jobs = Array.from({ length: JOBS }, (_, job): Job => {
      const person = Math.floor(random() * PEOPLE);
      const dice = random();
      if (dice < 0.15) return { person, request: null };
      const account = oneOf(random, ["a", "b", "c"]);
      const claim: ModelClaim | null =
        dice < 0.4 ? null : { account, by: dice < 0.7 ? "client" : "credential" };
      const isOlder = random() < 0.3;
      const appTransaction = isOlder ? null : `70${person}`;
      const facts = Array.from({ length: isOlder ? 1 : Math.floor(random() * 4) }, (_, index) =>
        aFact(random, person, job * 4 + index, appTransaction),
      );
      return { person, request: requestOf(facts, appTransaction, claim) };
    });
    const outcomes = await race(
      { table: table.name, application: uuid(), jobs, concurrency: CONCURRENCY },
      PROCESSES,
    );

    reportCases(outcomes.length, seed, `: ${JSON.stringify(count(outcomes))}`);
    expect(outcomes).toHaveLength(JOBS);
    expect(Object.keys(count(outcomes)).filter((result) => !WELL.has(result))).toEqual([]);
    expectFewSentAgain(outcomes);
    for (const [, ofPerson] of Map.groupBy(outcomes, ({ job }) => job.person))
      expect(ofPerson.filter((one) => CONFLICTS.has(one.result) && !isTrue(one, ofPerson))).toEqual([]);
    expect(await invariantsOf()).toEqual([]);
    await expectFactsOf(outcomes);
  },
  TIMEOUT,
);
