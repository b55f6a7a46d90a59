import { v7 as uuid } from "uuid";
import { randomFrom } from "../../../sandbox/exports/plan.ts";
import { inLength, SEED } from "../../../testing/support/proof.ts";
import { aVerifiedTransaction } from "../../../testing/support/stores/ios-store.ts";
import { DAY, NOW } from "../../../testing/support/stores/purchases.ts";
import { checkInvariants } from "../../../testing/support/table/invariants.ts";
import { createTestTable, type TestTable } from "../../../testing/support/table/table.ts";
import { CATALOG } from "../model/model-client.ts";
import { NOTHING_STATED, type IosFact, type ModelRequest } from "../model/stated-facts.ts";
import { race, type Outcome } from "./race.ts";

const PROCESSES = 3;
const CONCURRENCY = inLength(6, 10);
const ROUNDS = inLength(1, 10);
const REQUESTS = inLength(180, 900);
const PERSONS = 3;
const ACCOUNTS = ["a", "b", "c", "d"];

let table: TestTable;
beforeEach(async () => {
  table = await createTestTable();
});
afterEach(() => table.remove());

/** A renewal of the person's subscription, or a purchase that nobody has sent before. */
const aFact = (person: number, index: number, isRenewal: boolean): IosFact => {
  const original = isRenewal ? `8${person}` : `9${person}${String(index).padStart(4, "0")}`;
  const purchaseDate = NOW - 400 * DAY + (index % 12) * 30 * DAY;
  return {
    ...aVerifiedTransaction({
      transactionId: isRenewal ? `${original}${index % 12}` : original,
      originalTransactionId: original,
      productId: isRenewal ? "monthly" : "map",
      type: isRenewal ? "Auto-Renewable Subscription" : "Non-Consumable",
      purchaseDate,
      originalPurchaseDate: isRenewal ? NOW - 400 * DAY : purchaseDate,
      expiresDate: isRenewal ? purchaseDate + 30 * DAY : null,
      appTransactionId: `70${person}`,
      signedAt: purchaseDate + index,
    }),
    store: "ios-store",
  };
};

const personOf = ({ appTransaction }: ModelRequest): string => appTransaction ?? "";
const purchasesIn = (outcomes: readonly Outcome[]): readonly string[] =>
  outcomes.flatMap(({ request }) =>
    request.facts.flatMap((fact) => (fact.store === "ios-store" ? [fact.originalTransactionId] : [])),
  );

const rounds = Array.from({ length: ROUNDS }, (_, round) => SEED + round);

test.each(rounds)(
  "one of many accounts that claim a customer wins (SEED=%i)",
  async (seed) => {
    const random = randomFrom(seed).next;
    const requests = Array.from({ length: REQUESTS }, (_, index): ModelRequest => {
      const person = index % PERSONS;
      return {
        ...NOTHING_STATED,
        isNotification: false,
        environment: "production",
        appTransaction: `70${person}`,
        facts: random() < 0.8 ? [aFact(person, index, random() < 0.6)] : [],
        claim: { account: ACCOUNTS[Math.floor(random() * ACCOUNTS.length)] ?? "a", by: "credential" },
      };
    });
    const order = { table: table.name, application: uuid(), requests, concurrency: CONCURRENCY };
    const outcomes = await race(order, PROCESSES);

    expect(outcomes).toHaveLength(REQUESTS);
    expect(new Set(outcomes.map(({ result }) => result))).toEqual(
      new Set(["CUSTOMER_ALREADY_LINKED", "stored"]),
    );
    // A request that meets very many others of its person may be told to try again: one in a hundred at most.
    expect(outcomes.reduce((sum, { sent }) => sum + sent - 1, 0)).toBeLessThanOrEqual(REQUESTS / 100);
    for (const ofPerson of Map.groupBy(outcomes, ({ request }) => personOf(request)).values()) {
      const [accepted, refused] = [true, false].map((isStored) =>
        ofPerson.filter(({ result }) => (result === "stored") === isStored),
      );
      const accountsOf = (some: readonly Outcome[] = []) =>
        new Set(some.map(({ request }) => request.claim?.account));
      expect(accountsOf(accepted).size).toBe(1);
      expect([...accountsOf(refused)]).not.toEqual(expect.arrayContaining([...accountsOf(accepted)]));
      expect(new Set(accepted?.map(({ customer }) => customer)).size).toBe(1);
    }
    const items = await table.items();
    expect(checkInvariants(items, { catalogOf: () => CATALOG })).toEqual([]);
    const stored = items.filter(({ sk }) => sk === "PURCHASE").map(({ key }) => String(key));
    const answered = outcomes.filter(({ result }) => result === "stored");
    expect(stored).toEqual(expect.arrayContaining([...new Set(purchasesIn(answered))]));
    expect(purchasesIn(outcomes)).toEqual(expect.arrayContaining(stored));
  },
  inLength(60_000, 60 * 60_000),
);
