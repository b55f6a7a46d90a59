import fc from "fast-check";
import { v7 as uuid } from "uuid";
import { entitlementsAt } from "../../lib/entitlements/entitlements.ts";
import { holdingsOf, NEWEST_HELD_PER_PRODUCT } from "../../lib/entitlements/holdings.ts";
import { joinAll, type Purchase } from "../../lib/entitlements/purchase.ts";
import { customerId } from "../../lib/identifiers.ts";
import { checkInvariants } from "../support/invariants.ts";
import { cases, inLength, TIMEOUT } from "../support/proof.ts";
import {
  createReferenceModel,
  entitlementsFrom,
  type Fact,
  type ModelRequest,
} from "../support/reference-model.ts";
import { createTestTable, type TestTable } from "../support/table.ts";
import {
  differenceOfAccounts,
  differenceOfEntitlements,
  differenceOfOutcomes,
  Names,
  stateOf,
} from "./comparison.ts";
import { ACCOUNTS, END, factsOf, histories, moments, trafficOf, type Traffic } from "./histories.ts";
import { createMemoryTable } from "./memory-table.ts";
import { anApplication, aWorld, CATALOG, toCatalog, toPurchases } from "./world.ts";

const NOTHING_MAPPED = toCatalog({ names: {}, products: [] });
const SOMEBODY = customerId("00000000-0000-7000-8000-000000000001");

const SOLD = toCatalog(CATALOG);
/** How many of the moments at which an answer could change are asked for. */
const MOMENTS = inLength(9, 45);

const answerOf = (purchases: readonly Purchase[], moment: number) =>
  entitlementsAt(
    moment,
    purchases.map((purchase) => ({ customerIdentifier: SOMEBODY, purchase })),
    SOLD,
  );

/** Numbers that decide an order: a permutation of any list. */
const shuffled = <T>(values: readonly T[], order: readonly number[]): T[] =>
  values
    .map((value, index) => ({ value, rank: order.length === 0 ? index : (order[index % order.length] ?? 0) }))
    .sort((a, b) => a.rank - b.rank)
    .map(({ value }) => value);

const SOME = { minLength: 1, maxLength: 14 };

const orders = fc.array(fc.nat(10_000), { minLength: 8, maxLength: 40 });

describe("facts alone, without a table", () => {
  const expected = (facts: readonly Fact[], moment: number) => {
    const names = new Names();
    names.same(1, SOMEBODY);
    return names.entitlements(
      entitlementsFrom(
        facts.map((fact) => ({ fact, customer: 1 })),
        CATALOG,
        moment,
      ),
    );
  };

  test(
    "facts in any order, in any batches, any number of times give the answers of the plain list, at many moments",
    () => {
      fc.assert(
        fc.property(histories, orders, fc.nat(7), (history, order, batch) => {
          const facts = factsOf(history);
          const again = [...facts, ...facts.slice(0, order.length % 5)];
          const some = shuffled(again, order);
          const size = batch + 1;
          let joined: Purchase[] = [];
          for (let from = 0; from < some.length; from += size)
            joined = joinAll([...joined, ...toPurchases(some.slice(from, from + size))]);
          expect(joined).toEqual(joinAll(toPurchases(facts)));
          for (const moment of moments(facts, MOMENTS))
            expect(differenceOfEntitlements(expected(facts, moment), answerOf(joined, moment))).toBeNull();
        }),
        cases(150, 20_000),
      );
    },
    TIMEOUT,
  );

  test(
    "holdings answer as all purchases do, whichever catalog they were made with, consumables apart",
    () => {
      fc.assert(
        fc.property(histories, fc.boolean(), (history, unmapped) => {
          const facts = factsOf(history).filter(
            (fact) =>
              !unmapped ||
              (fact.store === "ios-store"
                ? fact.type !== "consumable"
                : fact.kind === "subscription" || fact.products.every(({ consumed }) => !consumed)),
          );
          const purchases = joinAll(toPurchases(facts));
          const catalog = unmapped ? NOTHING_MAPPED : SOLD;
          const holdings = holdingsOf(purchases, catalog);
          for (const moment of moments(facts, MOMENTS))
            expect(differenceOfEntitlements(expected(facts, moment), answerOf(holdings, moment))).toBeNull();
          expect(holdingsOf(holdings, catalog)).toEqual(holdings);
        }),
        cases(150, 20_000),
      );
    },
    TIMEOUT,
  );

  test(
    "of very many passes the newest answer for all, as long as refunds leave one of those held",
    () => {
      const pass = fc.record({
        product: fc.constantFrom("day", "season"),
        begins: fc.integer({ min: 0, max: 60_000 }),
        refunded: fc.integer({ min: 0, max: 9 }).map((dice) => dice === 0),
      });
      fc.assert(
        fc.property(fc.array(pass, { minLength: 60, maxLength: 160 }), orders, (passes, order) => {
          const facts = passes.map(({ product, begins, refunded }, index): Fact => ({
            store: "ios-store",
            environment: "production",
            transaction: String(index),
            original: String(index),
            product,
            type: product === "day" ? "consumable" : "non-renewing",
            start: END - begins * 60_000,
            end: null,
            revokedAt: refunded ? END : null,
            upgraded: false,
            signedAt: END,
          }));
          const holdings = holdingsOf(toPurchases(facts), SOLD);
          let grown: Purchase[] = [];
          for (const fact of shuffled(facts, order))
            grown = holdingsOf([...grown, ...toPurchases([fact])], SOLD);
          expect(grown).toEqual(holdings);
          const most = 2 * (NEWEST_HELD_PER_PRODUCT.valid + NEWEST_HELD_PER_PRODUCT.revoked);
          expect(holdings.length).toBeLessThanOrEqual(most);
          const all = joinAll(toPurchases(facts));
          for (const moment of [END, END + 86_400_000, END + 40 * 86_400_000])
            expect(answerOf(holdings, moment)).toEqual(answerOf(all, moment));
        }),
        cases(25, 600),
      );
    },
    TIMEOUT,
  );
});

/** Sends the traffic one request after the other, and compares every answer with the model's. */
const expectTrafficAsTheModel = async (
  table: TestTable,
  { history, requests, unlinks }: Traffic,
  depth: "many moments" | "some moments",
): Promise<void> => {
  const world = aWorld(table, anApplication(uuid()));
  const model = createReferenceModel(CATALOG);
  const names = new Names();
  const at = moments(factsOf(history), depth === "many moments" ? MOMENTS : 4);
  const itemsOfWorld = async () =>
    (await table.items()).filter(({ pk }) => String(pk).includes(world.application));

  for (const [index, request] of requests.entries()) {
    const moment = END + index;
    const expected = model.submit(request, moment);
    const before = expected.outcome === "stored" ? "" : JSON.stringify(await itemsOfWorld());
    const actual = await world.submit(request, moment);
    expect(differenceOfOutcomes(expected, actual, names)).toBeNull();
    if (expected.outcome !== "stored" || actual.outcome !== "stored") {
      expect(JSON.stringify(await itemsOfWorld())).toBe(before);
      continue;
    }
    for (const moment of at)
      expect(
        differenceOfEntitlements(
          names.entitlements(model.entitlementsOf(expected.customer, moment)),
          actual.entitlements(moment),
        ),
      ).toBeNull();

    table.sent.length = 0;
    expect(await world.submit(request, moment + 1)).toMatchObject({ customer: actual.customer });
    expect(table.sent.filter(({ command }) => command.includes("Write"))).toEqual([]);
    const unlinked = model.customers()[unlinks[index] ?? 0];
    if (unlinked !== undefined)
      expect(await world.unlink(names.of(unlinked), moment)).toBe(model.unlink(unlinked));
  }
  expect(await differenceOfAccounts(ACCOUNTS, at, model, world.account, names)).toBeNull();
  expect(checkInvariants(await itemsOfWorld(), { catalogOf: () => SOLD })).toEqual([]);
};

/** Requests that no claim can set at odds: all name one account, and a client only with what was bought. */
const ofOneAccount = (requests: readonly ModelRequest[]): ModelRequest[] =>
  requests.map((request) => ({
    ...request,
    claim:
      request.claim === null || (request.claim.by === "client" && request.facts.length === 0)
        ? null
        : { ...request.claim, account: "a" },
  }));

const expectSameStateInAnyOrder = async (
  table: TestTable,
  requests: readonly ModelRequest[],
  order: readonly number[],
): Promise<void> => {
  const agreed = ofOneAccount(requests);
  const states: string[][] = [];
  for (const sequence of [agreed, shuffled([...agreed, ...agreed.slice(0, order.length % 4)], order)]) {
    const world = aWorld(table, anApplication(uuid()));
    // A request that names nobody yet is sent again when all is known, as an app does at its next start.
    for (const pass of [sequence, sequence.filter(({ facts }) => facts.length === 0)])
      for (const [index, request] of pass.entries())
        expect(await world.submit(request, END + index)).not.toMatchObject({ outcome: "refused" });
    const items = (await table.items()).filter(({ pk }) => String(pk).includes(world.application));
    states.push(stateOf(items).map((state) => state.replaceAll(world.application, "")));
    expect(checkInvariants(items, { catalogOf: () => SOLD })).toEqual([]);
  }
  expect(states[1]).toEqual(states[0]);
};

describe("requests, on a table in memory", () => {
  test(
    "every answer equals the model's, a replay writes nothing, a refusal changes nothing",
    () =>
      fc.assert(
        fc.asyncProperty(fc.oneof(trafficOf(SOME, 1), trafficOf(SOME)), (traffic) =>
          expectTrafficAsTheModel(createMemoryTable(), traffic, "many moments"),
        ),
        cases(110, 8_000),
      ),
    TIMEOUT,
  );

  test(
    "the same requests in any order, some of them twice, end in the same state",
    () =>
      fc.assert(
        fc.asyncProperty(trafficOf({ minLength: 2, maxLength: 14 }), orders, ({ requests }, order) =>
          expectSameStateInAnyOrder(createMemoryTable(), requests, order),
        ),
        cases(80, 8_000),
      ),
    TIMEOUT,
  );
});

describe("requests, on DynamoDB", () => {
  let table: TestTable;
  beforeEach(async () => {
    table = await createTestTable();
  });
  afterEach(() => table.remove());

  test(
    "every answer equals the model's, a replay writes nothing, a refusal changes nothing",
    () =>
      fc.assert(
        fc.asyncProperty(trafficOf({ minLength: 4, maxLength: 14 }), (traffic) =>
          expectTrafficAsTheModel(table, traffic, "some moments"),
        ),
        cases(5, 400),
      ),
    TIMEOUT,
  );

  test(
    "the same requests in any order, some of them twice, end in the same state",
    () =>
      fc.assert(
        fc.asyncProperty(trafficOf({ minLength: 4, maxLength: 14 }), orders, ({ requests }, order) =>
          expectSameStateInAnyOrder(table, requests, order),
        ),
        cases(5, 400),
      ),
    TIMEOUT,
  );
});
