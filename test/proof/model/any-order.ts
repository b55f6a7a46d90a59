import fc from "fast-check";
import { v7 as uuid } from "uuid";
import { KEPT_AFTER_DUE } from "../../../lib/customers/asking/ask.ts";
import { checkInvariants } from "../../../testing/support/table/invariants.ts";
import { inLength } from "../../../testing/support/proof.ts";
import type { TestTable } from "../../../testing/support/table/table.ts";
import { toReading } from "./as-verified.ts";
import { differenceOf, differenceOfAccounts, differenceOfOutcomes, Names, stateOf } from "./comparison.ts";
import { factsOf, moments, renewalsIn } from "./histories.ts";
import { END } from "./histories/choices.ts";
import { ACCOUNTS, type Traffic } from "./traffic.ts";
import { byPerson } from "./reference/names.ts";
import { createReferenceModel, type ModelOutcome } from "./reference/reference-model.ts";
import type { StatedRenewalInfo } from "../../../lib/stores/ios-store/payloads.ts";
import type { ModelRequest } from "./stated-facts.ts";
import { modelApplication, modelClient, CATALOG, type ServiceAnswer } from "./model-client.ts";

/** Limit of the moments at which an answer is compared. */
export const MOMENTS = inLength(9, 45);

/** The values in the order of these numbers, which are repeated as needed. */
export const shuffled = <T>(values: readonly T[], order: readonly number[]): T[] =>
  values
    .map((value, index) => ({ value, rank: order.length === 0 ? index : (order[index % order.length] ?? 0) }))
    .sort((a, b) => a.rank - b.rank)
    .map(({ value }) => value);

export const orders = fc.array(fc.nat(10_000), { minLength: 8, maxLength: 40 });

const isEmpty = ({ facts, renewals }: ModelRequest): boolean => facts.length + renewals.length === 0;

const expectNoWrite = async <T>(table: TestTable, act: () => Promise<T>): Promise<T> => {
  table.sent.length = 0;
  const outcome = await act();
  expect(table.sent.filter((command) => command.includes("Write"))).toEqual([]);
  return outcome;
};

/**
 * Sends the requests one after the other, notifications to the use cases that receive them, and compares every answer
 * with the model's. A purchase is acknowledged once it belongs to an account, and not before.
 */
export const expectTrafficAsTheModel = async (
  table: TestTable,
  { history, terms, requests, unlinks, from }: Traffic,
): Promise<void> => {
  const world = modelClient(table, modelApplication(uuid(), terms), {
    claimsPerAccount: terms.claims,
  });
  const model = createReferenceModel(CATALOG, terms);
  const names = new Names();
  const at = moments(factsOf(history), MOMENTS, renewalsIn(history));
  const itemsOfWorld = async () => table.items(world.application);
  const mayBeDue = new Set<string>();
  const send = async (
    request: ModelRequest,
    moment: number,
    expected: ModelOutcome,
  ): Promise<ServiceAnswer> => {
    if (!request.isNotification) return world.submit(request, moment);
    const { received, acknowledged, answer } = await world.receive(request, moment);
    expect(received.map(({ outcome }) => outcome)).toEqual([isEmpty(request) ? "UNUSED" : "STORED"]);
    const isLinked =
      expected.outcome === "refused" ||
      (expected.outcome === "stored" &&
        ACCOUNTS.some((account) => model.account(account, moment).customers.includes(expected.customer)));
    const waiting = request.facts.flatMap((fact) =>
      fact.store === "android-store" &&
      toReading(fact).acknowledgement !== null &&
      model.isSelected(fact.token)
        ? [fact.token]
        : [],
    );
    const asked = request.answers.filter((fact) => toReading(fact).acknowledgement !== null);
    if (isLinked) for (const token of [...waiting, ...asked.map((fact) => fact.token)]) mayBeDue.add(token);
    if (isLinked && expected.outcome === "stored")
      expect(acknowledged.filter((token) => request.answers.every((fact) => fact.token !== token))).toEqual(
        waiting,
      );
    expect(acknowledged.filter((token) => !mayBeDue.has(token))).toEqual([]);
    return answer;
  };

  for (const [index, request] of requests.entries()) {
    const moment = from + index;
    const expected = model.submit(request, moment);
    const before = expected.outcome === "nobody" ? JSON.stringify(await itemsOfWorld()) : "";
    const actual = await send(request, moment, expected);
    expect(differenceOfOutcomes(expected, actual, names)).toBeNull();
    if (expected.outcome === "nobody") {
      if (request.renewals.length > 0) continue;
      expect(JSON.stringify(await itemsOfWorld())).toBe(before);
      continue;
    }
    if (expected.outcome !== "stored" || actual.outcome !== "stored") {
      await expectNoWrite(table, () => send(request, moment + 1, expected));
      continue;
    }
    for (const moment of at)
      expect(
        differenceOf(
          names.entitlements(model.entitlementsOf(expected.customer, moment)),
          actual.entitlements(moment),
        ),
      ).toBeNull();

    // A refresh whose item expires in this very millisecond is written anew.
    const hasExpired = (await itemsOfWorld()).some(
      ({ ask }) => (ask as { at: number } | null)?.at === moment + 1 - KEPT_AFTER_DUE,
    );
    const sendAgain = () => send(request, moment + 1, expected);
    // A notification of Google's that teaches nothing has Google asked once more.
    if (request.isNotification) await sendAgain();
    const again = await (hasExpired ? sendAgain() : expectNoWrite(table, sendAgain));
    expect(again).toMatchObject({ customer: actual.customer });
    const unlinked = model.customers()[unlinks[index] ?? 0];
    if (unlinked !== undefined)
      expect(await world.unlink(names.of(unlinked), moment)).toBe(model.unlink(unlinked));
  }
  expect(await differenceOfAccounts(ACCOUNTS, at, model, world.account, names)).toBeNull();
  expect(checkInvariants(await itemsOfWorld(), { catalogOf: () => CATALOG })).toEqual([]);
};

/** Whether the request proves the lineage of a renewal info. */
export const statesLineage = ({ facts }: ModelRequest, renewal: StatedRenewalInfo): boolean =>
  facts.some(
    (fact) => fact.store === "ios-store" && fact.originalTransactionId === renewal.originalTransactionId,
  );

/** Whether a client's claim links the same customers whenever it comes: it is of one person, with a purchase. */
const claimsAlways = (request: ModelRequest): boolean =>
  request.facts.length > 0 && byPerson({ people: [] }, request).length === 1;

/**
 * The requests without conflicting claims: all claims name one account, and a client claims for one person. A renewal
 * info comes alone or with a transaction of its lineage, because one of an unknown lineage is ignored.
 */
const ofOneAccount = (requests: readonly ModelRequest[]): ModelRequest[] =>
  requests.map((request) => ({
    ...request,
    renewals: request.renewals.filter(
      (renewal) => request.facts.length === 0 || statesLineage(request, renewal),
    ),
    // What is asked about other purchases depends on what was told before.
    answers: [],
    claim:
      request.claim === null || (request.claim.by === "client" && !claimsAlways(request))
        ? null
        : { ...request.claim, account: "a" },
  }));

export const expectSameStateInAnyOrder = async (
  table: TestTable,
  requests: readonly ModelRequest[],
  order: readonly number[],
): Promise<void> => {
  const agreed = ofOneAccount(requests);
  const states: string[][] = [];
  for (const sequence of [agreed, shuffled([...agreed, ...agreed.slice(0, order.length % 4)], order)]) {
    const world = modelClient(table, modelApplication(uuid()));
    // A request that names nobody yet is repeated at the end, as an app does at its next start.
    for (const pass of [sequence, sequence.filter(({ facts }) => facts.length === 0)])
      for (const [index, request] of pass.entries())
        expect(await world.submit(request, END + index)).not.toMatchObject({ outcome: "refused" });
    const items = (await table.items(world.application)).filter(({ pk }) =>
      String(pk).includes(world.application),
    );
    states.push(stateOf(items).map((state) => state.replaceAll(world.application, "")));
    expect(checkInvariants(items, { catalogOf: () => CATALOG })).toEqual([]);
  }
  expect(states[1]).toEqual(states[0]);
};
