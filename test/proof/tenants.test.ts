import fc from "fast-check";
import { v7 as uuid } from "uuid";
import { cases, TIMEOUT } from "../../testing/support/proof.ts";
import { checkInvariants } from "../../testing/support/table/invariants.ts";
import { createMemoryTable, type MemoryTable } from "../../testing/support/table/memory-table.ts";
import { END } from "./model/histories/choices.ts";
import { modelApplication, modelClient } from "./model/model-client.ts";
import type { ModelRequest } from "./model/stated-facts.ts";
import { ACCOUNTS, trafficOf } from "./model/traffic.ts";

type TwoIdentifiers = readonly [string, string];

/** Names of accounts, of which some look like keys of their own application or of the other. */
const nameOf = (account: string, applications: TwoIdentifiers): string => {
  if (account === "b") return "a#CUSTOMER#00000000-0000-7000-8000-000000000001";
  if (account !== "c") return account;
  return applications.map((one) => `APPLICATION#${one}#ACCOUNT#a`).join("#CUSTOMER#");
};

/** Sends requests one after the other, and returns the bytes of every answer. */
const answersOf = async (
  table: MemoryTable,
  applications: TwoIdentifiers,
  place: 0 | 1,
  requests: readonly ModelRequest[],
): Promise<readonly string[]> => {
  const name = ["com.example.trails", "com.example.peaks"][place];
  // The customers of both are numbered alike.
  const world = modelClient(table, modelApplication(applications[place], {}, name));
  const send = async (request: ModelRequest, moment: number): Promise<string> => {
    if (request.isNotification) return JSON.stringify(await world.receive(request, moment));
    const { claim } = request;
    const answer = await world.submit(
      { ...request, claim: claim && { ...claim, account: nameOf(claim.account, applications) } },
      moment,
    );
    return JSON.stringify([answer, answer.outcome === "stored" && answer.entitlements(moment)]);
  };
  const bytes: string[] = [];
  for (const [index, request] of requests.entries()) {
    bytes.push(await send(request, END + index));
    for (const account of ACCOUNTS)
      bytes.push(JSON.stringify(await world.account(nameOf(account, applications), END + index)));
  }
  return bytes;
};

const itemsOf = async (table: MemoryTable, identifier: string): Promise<readonly object[]> =>
  (await table.items()).filter(({ pk }) => String(pk).startsWith(`APPLICATION#${identifier}`));

/** Two lists of requests about the same persons, identities, products and accounts. */
const trafficOfTwo = fc
  .record({ traffic: trafficOf({ minLength: 2, maxLength: 20 }), at: fc.nat(19), overlap: fc.nat(6) })
  .map(({ traffic: { requests }, at, overlap }) => {
    const middle = at % requests.length;
    return [requests.slice(0, middle + overlap), requests.slice(Math.max(0, middle - overlap))] as const;
  });

test(
  "two applications with the same names get the same answers as each alone",
  () =>
    fc.assert(
      fc.asyncProperty(trafficOfTwo, async (traffic) => {
        const applications = [uuid(), uuid()] as const;
        const together = createMemoryTable();
        const answers = await Promise.all(
          ([0, 1] as const).map((place) => answersOf(together, applications, place, traffic[place])),
        );
        for (const place of [0, 1] as const) {
          const alone = createMemoryTable();
          expect(answers[place]).toEqual(await answersOf(alone, applications, place, traffic[place]));
          const identifier = applications[place];
          expect(await itemsOf(together, identifier)).toEqual(await itemsOf(alone, identifier));
        }
        // Both applications number their customers alike here, so this one rule does not apply.
        const violations = checkInvariants(await together.items());
        expect(violations.filter((violation) => !violation.includes("is a customer of"))).toEqual([]);
      }),
      cases(50, 4_000),
    ),
  TIMEOUT,
);
