import { LONG } from "../../../testing/support/proof.ts";
import { checkInvariants } from "../../../testing/support/table/invariants.ts";
import { canMeet, FAULTS, isRead, type Fault } from "../fault-proxy.ts";
import {
  differences,
  inLanes,
  isClean,
  makeWorld,
  readsTrue,
  referenceOf,
  SCENARIOS,
  startLane,
  type Lane,
  type Reference,
  type Scenario,
} from "./scenarios.ts";

/** A client that sees every fault, and one that retries by itself like the deployed client. */
const CLIENTS = [
  { name: "a client without retries", attempts: 1 },
  { name: "a client with retries", attempts: null },
] as const;
type Client = (typeof CLIENTS)[number];

interface Case {
  readonly given: Scenario;
  readonly client: Client;
  readonly at: number;
  readonly fault: Fault;
}

/**
 * The short form tries some faults at every request, and all faults at every write of some scenarios with the client
 * that sees them.
 */
const casesOf = (given: Scenario, { operations }: Reference, client: Client): Case[] =>
  operations.flatMap((operation, index) => {
    const possible = FAULTS.filter((fault) => canMeet(fault, operation));
    const bare = client.attempts === 1;
    const all = LONG || (bare && given.short === "all" && !isRead(operation));
    const few = bare ? (given.short === "all" ? 2 : 1) : Number(!isRead(operation));
    const some = new Set(
      Array.from({ length: few }, (_, turn) => possible[(index * 4 + turn * 3) % possible.length]),
    );
    return possible
      .filter((fault) => all || some.has(fault))
      .map((fault) => ({ given, client, at: index + 1, fault }));
  });

const lanes: Lane[] = [];
const counts = new Map<string, number>();
beforeAll(async () => {
  lanes.push(...(await Promise.all(Array.from({ length: 6 }, () => startLane()))));
});
afterAll(async () => {
  await Promise.all(lanes.map((lane) => lane.stop()));
  process.stdout.write(
    `faults of the database: ${JSON.stringify(Object.fromEntries([...counts].sort()), null, 1)}\n`,
  );
});

const count = (what: string): void => void counts.set(what, (counts.get(what) ?? 0) + 1);

const tryOne = async (lane: Lane, reference: Reference, one: Case): Promise<string[]> => {
  const { given, client, at, fault } = one;
  const world = await makeWorld(given, lane);
  const late = fault === "request-late" || fault === "response-late";
  const service = world.open(client.attempts, late ? given.patience : undefined);
  try {
    lane.proxy.plan({ at, fault });
    const wrong: string[] = [];
    const outcome = await service.perform(given.call).then(
      () => "answered",
      (error: unknown) => {
        if (!isClean(error)) wrong.push(`failed with ${String(error)}`);
        return "failed";
      },
    );
    count(`${client.attempts === 1 ? "sent once" : "sent again"}: ${fault}: ${outcome}`);
    wrong.push(...(await readsTrue(world, reference)));
    // Everything written so far is consistent, except for a move, which takes two transactions.
    wrong.push(...checkInvariants(await world.table.items(), { crashedMoves: true }));
    lane.proxy.heal();
    service.waitLong();
    // A late request still waits at the proxy. The retry overtakes it, then it arrives.
    const answer = await service.perform(given.call);
    await lane.proxy.release();
    wrong.push(...(await differences(world, reference, answer)));
    return wrong.map((what) => `${fault} at request ${at} (${reference.operations[at - 1]}): ${what}`);
  } finally {
    await lane.proxy.release();
    service.close();
    await world.remove();
  }
};

describe.each(SCENARIOS.filter(({ short }) => LONG || short !== "none"))("$name", (given) => {
  test.each(CLIENTS)(
    "repeated, ends as without a fault at any request, with $name",
    async (client) => {
      const [lane] = lanes;
      if (lane === undefined) throw new Error("There is no lane.");
      const reference = await referenceOf(given, lane);
      const wrong = await inLanes(
        lanes,
        casesOf(given, reference, client),
        ({ at, fault }) => `${fault} at request ${at}`,
        (lane, one) => tryOne(lane, reference, one),
      );
      expect(wrong).toEqual([]);
      expect(reference.operations.length).toBeGreaterThan(0);
    },
    1_800_000,
  );
});
