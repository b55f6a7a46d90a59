import type { Scenario } from "./scenarios.ts";
import { makeWorld, type Lane, type State, type World } from "./world.ts";

/** A scenario without faults. */
export interface Reference {
  readonly before: State;
  readonly after: State;
  /** Items after the same call again: a notification of Google's that taught nothing is asked about once more. */
  readonly repeated: string;
  readonly answer: string;
  /** The operations that the call sends to the database, in order. */
  readonly operations: readonly string[];
}

export const referenceOf = async (given: Scenario, lane: Lane): Promise<Reference> => {
  const world = await makeWorld(given, lane);
  const service = world.open();
  try {
    const before = await world.state();
    lane.proxy.plan();
    const answer = await service.perform(given.call);
    const operations = lane.proxy.requests.map(({ operation }) => operation);
    const after = await world.state();
    await service.perform(given.call);
    const { items: repeated } = await world.state();
    return { before, after, repeated, answer: after.named(JSON.stringify(answer)), operations };
  } finally {
    service.close();
    await world.remove();
  }
};

/** Differences from the reference, in words; empty when there are none. */
export const differences = async (world: World, reference: Reference, answer: unknown): Promise<string[]> => {
  const { items, acknowledged, entitlements, named } = await world.state();
  const { after, repeated } = reference;
  const answered = named(JSON.stringify(answer));
  return [
    ...(answered === reference.answer ? [] : [`answered ${answered} for ${reference.answer}`]),
    ...(items === after.items || items === repeated ? [] : [`stored\n${items}\nfor\n${after.items}`]),
    ...(acknowledged === after.acknowledged ? [] : ["is not acknowledged alike"]),
    ...(entitlements === after.entitlements ? [] : [`reads ${entitlements} for ${after.entitlements}`]),
  ];
};

/**
 * Between failure and retry, an account shows nothing that it neither had nor gets by the retry, and lacks nothing that it
 * had and keeps.
 */
export const readsTrue = async (world: World, { before, after }: Reference): Promise<string[]> => {
  const { active } = await world.state();
  const given = active.filter((one) => !before.active.includes(one) && !after.active.includes(one));
  const lost = before.active.filter((one) => after.active.includes(one) && !active.includes(one));
  return [
    ...given.map((one) => `between failure and retry ${one} is given`),
    ...lost.map((one) => `between failure and retry ${one} is lost`),
  ];
};

/** Tries all cases, one at a time in each lane, and returns what went wrong. */
export const inLanes = async <Case>(
  lanes: readonly Lane[],
  cases: readonly Case[],
  attempt: (lane: Lane, one: Case) => Promise<readonly string[]>,
): Promise<string[]> => {
  const waiting = [...cases];
  const wrong: string[] = [];
  await Promise.all(
    lanes.map(async (lane) => {
      for (let one = waiting.shift(); one !== undefined; one = waiting.shift()) {
        const tried = attempt(lane, one).catch((error: unknown) => [String(error)]);
        wrong.push(...(await tried).map((what) => `${JSON.stringify(one)}: ${what}`));
      }
    }),
  );
  return wrong;
};
