import fc from "fast-check";
import { v7 as uuid } from "uuid";
import { checkInvariants } from "../../../testing/support/table/invariants.ts";
import { cases, TIMEOUT } from "../../../testing/support/proof.ts";
import { differenceOf, differenceOfAccounts, differenceOfOutcomes, Names } from "../model/comparison.ts";
import { statesLineage } from "../model/any-order.ts";
import { END } from "../model/histories/choices.ts";
import { ACCOUNTS, trafficOf } from "../model/traffic.ts";
import { createMemoryTable } from "../../../testing/support/table/memory-table.ts";
import { byPerson } from "../model/reference/names.ts";
import { createReferenceModel, type ReferenceModel } from "../model/reference/reference-model.ts";
import { NOTHING_STATED, type ModelRequest } from "../model/stated-facts.ts";
import {
  modelApplication,
  modelClient,
  CATALOG,
  type ModelClient,
  type ServiceAnswer,
} from "../model/model-client.ts";

const MOMENT = END + 1_000;
const CATALOG_OF = { catalogOf: () => CATALOG };

const permutations = <T>(values: readonly T[]): T[][] =>
  values.length === 0
    ? [[]]
    : values.flatMap((value, index) =>
        permutations(values.toSpliced(index, 1)).map((rest) => [value, ...rest]),
      );

interface Sent {
  readonly request: ModelRequest;
  readonly moment: number;
}

interface Answered extends Sent {
  readonly answer: ServiceAnswer;
}

type Renewals = ModelRequest["renewals"];

/** A request with its answer; or without an answer, a part of another request. */
type Event = Answered | Sent;

/** Why the answers and the stored state do not result from the requests in this order; null: they do. */
const differenceInOrder = async (
  before: readonly Answered[],
  order: readonly Event[],
  model: ReferenceModel,
  world: ModelClient,
): Promise<string | null> => {
  const names = new Names();
  let late: (() => string | null)[] = [];
  for (const event of [...before, ...order]) {
    const { request, moment } = event;
    const expected = model.submit(request, moment);
    if (!("answer" in event)) continue;
    const { answer } = event;
    const difference = differenceOfOutcomes(expected, answer, names);
    if (difference !== null) return difference;
    late = late.filter((differs) => differs() !== null);
    if (expected.outcome !== "stored" || answer.outcome !== "stored") continue;
    const differs = (): string | null =>
      differenceOf(
        names.entitlements(model.entitlementsOf(expected.customer, MOMENT)),
        answer.entitlements(MOMENT),
      );
    const differsNow = differs();
    if (differsNow === null) continue;
    if (!mayMove(request)) return differsNow;
    late.push(differs);
  }
  const [neverShown] = late;
  if (neverShown !== undefined) return neverShown();
  return differenceOfAccounts(ACCOUNTS, [MOMENT], model, world.account, names);
};

/** A credential's link may move a customer in two transactions, so its answer may show facts stored in between. */
const mayMove = ({ claim }: ModelRequest): boolean => claim?.by === "credential";

/** The whole, and what of it is stored before. */
interface InParts {
  readonly whole: Answered;
  readonly parts: readonly Sent[];
}

/** A moving request's facts are stored before its link, where another write came in between. */
const factsBeforeLink = (whole: Answered): InParts => {
  const { request, moment, answer } = whole;
  const comesApart = mayMove(request) && answer.outcome === "stored";
  return { whole, parts: comesApart ? [{ request: { ...request, claim: null }, moment }] : [] };
};

/**
 * Renewal infos of lineages that a request does not prove name nobody: they are stored or ignored before the rest of the
 * request, in these transactions of their own.
 */
const otherRenewalsBeforeFacts =
  (transactionsOf: (others: Renewals) => readonly Renewals[]) =>
  ({ request, moment, answer }: Answered): InParts => {
    const [own = [], others = []] = [true, false].map((isOwn) =>
      request.renewals.filter((renewal) => statesLineage(request, renewal) === isOwn),
    );
    const common = { ...NOTHING_STATED, isNotification: true, environment: request.environment };
    return {
      whole: { request: { ...request, renewals: own }, moment, answer },
      parts: transactionsOf(others).map((renewals) => ({ request: { ...common, renewals }, moment })),
    };
  };

const allAtOnce = otherRenewalsBeforeFacts((others) => (others.length > 0 ? [others] : []));
/** Those of lineages that another request creates meanwhile are stored later than those of known ones. */
const eachAlone = otherRenewalsBeforeFacts((others) => others.map((renewal) => [renewal]));

/** More orders take too long. */
const MOST_EVENTS = 7;

/** Orders in which every part comes anywhere before its whole. */
const ordersInParts = (together: readonly Answered[], divide: (whole: Answered) => InParts): Event[][] => {
  const divided = together.map(divide);
  const events: Event[] = divided.flatMap(({ whole, parts }) => [whole, ...parts]);
  if (events.length > MOST_EVENTS) return [];
  return permutations(events).filter((order) =>
    divided.every(({ whole, parts }) => parts.every((part) => order.indexOf(part) < order.indexOf(whole))),
  );
};

test(
  "concurrent requests end as if one had followed the other",
  () =>
    fc.assert(
      fc.asyncProperty(
        fc.oneof(trafficOf({ minLength: 2, maxLength: 3 }, 1), trafficOf({ minLength: 2, maxLength: 5 }, 2)),
        fc.integer({ min: 2, max: 3 }),
        fc.scheduler(),
        fc.infiniteStream(fc.boolean()),
        async ({ requests, terms }, concurrency, scheduler, sees) => {
          const table = createMemoryTable();
          const world = modelClient(table, modelApplication(uuid(), terms), {
            claimsPerAccount: terms.claims,
          });
          // Looking up another purchase stores that one first, which is a request of its own. So is each person's part of a
          // request without a credential.
          const sent = requests
            .flatMap((request) => byPerson({ people: [] }, { ...request, answers: [] }))
            .map((request, index): Sent => ({ request, moment: END + index }));
          const before: Answered[] = [];
          for (const one of sent.slice(0, -concurrency))
            before.push({ ...one, answer: await world.submit(one.request, one.moment) });

          table.turn = (command) => scheduler.schedule(Promise.resolve(), command);
          table.midway = () => scheduler.schedule(Promise.resolve(), "all items of a transaction are seen");
          table.seesAfter = () => sees.next().value;
          const together = await scheduler.waitFor(
            Promise.all(
              sent.slice(-concurrency).map(async (one): Promise<Answered> => ({
                ...one,
                answer: await world.submit(one.request, one.moment),
              })),
            ),
          );
          table.turn = () => Promise.resolve();
          table.midway = null;

          expect(checkInvariants(await table.items(), CATALOG_OF)).toEqual([]);
          const differences: (string | null)[] = [];
          for (const orderings of [
            () => permutations(together),
            ...[factsBeforeLink, allAtOnce, eachAlone].map((divide) => () => ordersInParts(together, divide)),
          ])
            for (const order of differences.includes(null) ? [] : orderings())
              differences.push(
                await differenceInOrder(before, order, createReferenceModel(CATALOG, terms), world),
              );
          expect(differences).toContain(null);
        },
      ),
      cases(350, 20_000),
    ),
  TIMEOUT,
);
