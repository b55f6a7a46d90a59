import { fork, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { SandboxEndpoint } from "../../../sandbox/android-store/publisher.ts";
import { LONG } from "../../../testing/support/proof.ts";
import { isRead } from "../fault-proxy.ts";
import type { Order } from "./calling-process.ts";
import { ANDROID_LINK, SCENARIOS, type Scenario } from "./scenarios.ts";
import { differences, inLanes, readsTrue, type Reference, referenceOf } from "./reference.ts";
import { makeWorld, PENDING_ANSWER, useLanes, type Lane } from "./world.ts";

const PROCESS = fileURLToPath(new URL("calling-process.ts", import.meta.url));

/** A process that has loaded the use cases and waits for an order. */
const startProcess = async (): Promise<ChildProcess> => {
  const child = fork(PROCESS, { execArgv: ["--disable-warning=ExperimentalWarning"] });
  expect(await once(child, "message")).toEqual(["ready", undefined]);
  return child;
};

/**
 * Lets a process make the call, kills it once `reached` resolves, so that no code of it runs afterwards, and repeats the
 * call in another one.
 */
const killed = async (
  lane: Lane,
  given: Scenario,
  reference: Reference,
  reached: () => Promise<void>,
): Promise<string[]> => {
  const world = await makeWorld(given, lane);
  const child = await startProcess();
  const service = world.open();
  try {
    lane.proxy.plan();
    const reaching = reached();
    child.send({ options: world.options, call: given.call } satisfies Order);
    await reaching;
    const ended = once(child, "exit");
    child.kill("SIGKILL");
    expect(await ended).toEqual([null, "SIGKILL"]);
    lane.proxy.plan();
    lane.store.sandbox.clearFaults();
    const meanwhile = await readsTrue(world, reference);
    const answer = await service.perform(given.call);
    return [...meanwhile, ...(await differences(world, reference, answer))];
  } finally {
    child.kill("SIGKILL");
    service.close();
    await world.remove();
  }
};

const lanes = useLanes(4);

describe("a process that is killed", () => {
  test.each(SCENARIOS)(
    "at any request of $name, a repeated call completes the rest",
    async (given) => {
      const reference = await referenceOf(given, lanes.first());
      // Killed after the database has done request n and before its answer, so before request n + 1 is sent.
      const numbers = reference.operations.map((_, index) => index + 1);
      const writes = numbers.filter((number) => !isRead(reference.operations[number - 1] ?? ""));
      const at = LONG ? numbers : writes.length > 0 ? writes : numbers.slice(-1);
      const wrong = await inLanes(lanes.all, at, (lane, at) =>
        killed(lane, given, reference, () => lane.proxy.haltAfter(at)),
      );
      expect(wrong).toEqual([]);
    },
    900_000,
  );

  test.each<[string, SandboxEndpoint, number]>([
    ["exchanging its credential", "token", 1],
    ["looking up a purchase", "publisher", 1],
    ["acknowledging a purchase", "publisher", 2],
  ])("while the store is %s, a repeated call completes the rest", async (_, endpoint, at) => {
    const lane = lanes.first();
    const { sandbox } = lane.store;
    const reference = await referenceOf(ANDROID_LINK, lane);
    const reached = async (): Promise<void> => {
      sandbox.calls.length = 0;
      const looked = { status: 200, body: PENDING_ANSWER };
      sandbox.failNext(endpoint, ...Array.from({ length: at - 1 }, () => looked), "hang");
      while (sandbox.calls.filter((call) => call.endpoint === endpoint).length < at) await sleep(5);
    };
    expect(await killed(lane, ANDROID_LINK, reference, reached)).toEqual([]);
  });
});
