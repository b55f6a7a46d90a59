import { fork } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import pMap from "p-map";
import type { SandboxEndpoint } from "../../../sandbox/android-store/publisher.ts";
import { LONG } from "../../../testing/support/proof.ts";
import { isRead } from "../fault-proxy.ts";
import type { Order } from "./use-cases.ts";
import { ANDROID_LINK, SCENARIOS, type Scenario } from "./scenarios.ts";
import { openWorld, PENDING_ANSWER, startGoogle, type World } from "./world.ts";

const PROCESS = fileURLToPath(new URL("use-cases.ts", import.meta.url));

let google: Awaited<ReturnType<typeof startGoogle>>;
beforeAll(async () => {
  google = await startGoogle();
});
afterAll(() => google.close());

const inWorld = async <T>(given: Scenario, act: (world: World) => Promise<T>): Promise<T> => {
  const world = await openWorld(given, google);
  return act(world).finally(() => world.close());
};

type Reference = Awaited<ReturnType<typeof referenceOf>>;

/** A scenario without faults. */
const referenceOf = (given: Scenario) =>
  inWorld(given, async (world) => {
    const before = await world.state();
    world.proxy.plan();
    const answer = await world.perform(given.call);
    const operations = [...world.proxy.operations];
    const after = await world.state();
    // A notification of Google's that taught nothing is asked about once more.
    await world.perform(given.call);
    const { items: repeated } = await world.state();
    return { before, after, repeated, answer: after.named(JSON.stringify(answer)), operations };
  });

/** Differences from the reference after the repeated call, in words. */
const differences = async (world: World, reference: Reference, answer: unknown): Promise<string[]> => {
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
const untrue = async (world: World, { before, after }: Reference): Promise<string[]> => {
  const { active } = await world.state();
  const given = active.filter((one) => !before.active.includes(one) && !after.active.includes(one));
  const lost = before.active.filter((one) => after.active.includes(one) && !active.includes(one));
  return [...given.map((one) => `${one} is given`), ...lost.map((one) => `${one} is lost`)];
};

/**
 * Lets a process make the call, kills it once `reached` resolves, so that no code of it runs afterwards, and repeats the
 * call in another one. What is wrong then, in words.
 */
const killed = async (
  given: Scenario,
  reference: Reference,
  reached: (world: World) => Promise<void>,
): Promise<string[]> =>
  inWorld(given, async (world) => {
    const child = fork(PROCESS, { execArgv: ["--disable-warning=ExperimentalWarning"] });
    try {
      // It has loaded the use cases, and waits for an order.
      expect(await once(child, "message")).toEqual(["ready", undefined]);
      world.proxy.plan();
      const reaching = reached(world);
      child.send({ options: world.options, call: given.call } satisfies Order);
      await reaching;
      const ended = once(child, "exit");
      child.kill("SIGKILL");
      expect(await ended).toEqual([null, "SIGKILL"]);
    } finally {
      child.kill("SIGKILL");
    }
    world.proxy.plan();
    world.sandbox.clearFaults();
    const meanwhile = await untrue(world, reference);
    const answer = await world.perform(given.call);
    return [...meanwhile, ...(await differences(world, reference, answer))];
  });

describe("a process that is killed", () => {
  test.each(SCENARIOS)(
    "at any request of $name, a repeated call completes the rest",
    async (given) => {
      const reference = await referenceOf(given);
      // Killed after the database has done request n and before its answer, so before request n + 1 is sent.
      const numbers = reference.operations.map((_, index) => index + 1);
      const writes = numbers.filter((number) => !isRead(reference.operations[number - 1] ?? ""));
      const places = LONG ? numbers : writes.length > 0 ? writes : numbers.slice(-1);
      const wrong = await pMap(
        places,
        async (at) => ({ at, wrong: await killed(given, reference, ({ proxy }) => proxy.haltAfter(at)) }),
        { concurrency: 4 },
      );
      expect(wrong).toEqual(places.map((at) => ({ at, wrong: [] })));
    },
    900_000,
  );

  test.each<[string, SandboxEndpoint, number]>([
    ["exchanging its credential", "token", 1],
    ["looking up a purchase", "publisher", 1],
    ["acknowledging a purchase", "publisher", 2],
  ])("while the store is %s, a repeated call completes the rest", async (_, endpoint, at) => {
    const reached = async ({ sandbox }: World): Promise<void> => {
      sandbox.calls.length = 0;
      const looked = { status: 200, body: PENDING_ANSWER };
      sandbox.failNext(endpoint, ...Array.from({ length: at - 1 }, () => looked), "hang");
      while (sandbox.calls.filter((call) => call.endpoint === endpoint).length < at) await sleep(5);
    };
    expect(await killed(ANDROID_LINK, await referenceOf(ANDROID_LINK), reached)).toEqual([]);
  });
});
