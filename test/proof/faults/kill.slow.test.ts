import { fork, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import * as z from "zod";
import type { Order } from "./calling-process.ts";
import { LONG } from "../../../testing/support/proof.ts";
import { isRead } from "../fault-proxy.ts";
import type { SandboxEndpoint } from "../../../sandbox/android-store/publisher.ts";
import {
  differences,
  inLanes,
  makeWorld,
  PENDING_ANSWER,
  readsTrue,
  referenceOf,
  scenario,
  SCENARIOS,
  startLane,
  type Lane,
  type Reference,
  type Scenario,
  type World,
} from "./scenarios.ts";

const PROCESS = fileURLToPath(new URL("calling-process.ts", import.meta.url));

let kills = 0;
const lanes: Lane[] = [];
beforeAll(async () => {
  lanes.push(...(await Promise.all(Array.from({ length: 4 }, () => startLane()))));
});
afterAll(async () => {
  await Promise.all(lanes.map((lane) => lane.stop()));
  process.stdout.write(`processes killed: ${kills}\n`);
});

/** A process that has loaded the use cases and waits for an order. */
const startProcess = async (): Promise<ChildProcess> => {
  const child = fork(PROCESS, { execArgv: ["--disable-warning=ExperimentalWarning"] });
  const [ready] = await once(child, "message");
  expect(ready).toBe("ready");
  return child;
};

/** Kills the process with SIGKILL, so that no code of it runs afterwards. */
const kill = async (child: ChildProcess): Promise<void> => {
  const ended = once(child, "exit");
  child.kill("SIGKILL");
  expect(await ended).toEqual([null, "SIGKILL"]);
  kills += 1;
};

const afterwards = async (world: World, given: Scenario, reference: Reference): Promise<string[]> => {
  world.lane.proxy.plan();
  world.lane.android.clearFaults();
  const wrong = await readsTrue(world, reference);
  const service = world.open(null);
  try {
    const answer = await service.perform(given.call);
    return [...wrong, ...(await differences(world, reference, answer))];
  } finally {
    service.close();
  }
};

const killedAt = async (lane: Lane, given: Scenario, reference: Reference, at: number): Promise<string[]> => {
  const world = await makeWorld(given, lane);
  const child = await startProcess();
  try {
    const reached = lane.proxy.haltAfter(at);
    child.send({ options: world.options, call: given.call } satisfies Order);
    await reached;
    await kill(child);
    const wrong = await afterwards(world, given, reference);
    return wrong.map((what) => `killed at request ${at} (${reference.operations[at - 1]}): ${what}`);
  } finally {
    child.kill("SIGKILL");
    await world.remove();
  }
};

const LINKING = SCENARIOS.filter(
  ({ short, call: { useCase } }) =>
    (LONG || short !== "none") && useCase !== "read" && useCase !== "authorize",
);

describe("a process that is killed", () => {
  test.each(LINKING)(
    "at any request of $name, a repeated call completes the rest",
    async (given) => {
      const [lane] = lanes;
      if (lane === undefined) throw new Error("There is no lane.");
      const reference = await referenceOf(given, lane);
      // Killed after the database has done request n and before its answer, so before request n + 1 is sent.
      const numbers = reference.operations.map((_, index) => index + 1);
      const writes = numbers.filter((number) => !isRead(reference.operations[number - 1] ?? ""));
      const at = LONG ? numbers : writes.length > 0 ? writes : numbers.slice(-1);
      const wrong = await inLanes(
        lanes,
        at,
        (at) => `killed at request ${at}`,
        (lane, at) => killedAt(lane, given, reference, at),
      );
      expect(wrong).toEqual([]);
    },
    900_000,
  );

  const given = scenario("an Android link with its acknowledgement");
  const looked = { status: 200, body: PENDING_ANSWER };
  test.each<[string, SandboxEndpoint, number]>([
    ["exchanging its credential", "token", 1],
    ["looking up a purchase", "publisher", 1],
    ["acknowledging a purchase", "publisher", 2],
  ])("while the store is %s, a repeated call completes the rest", async (_, endpoint, at) => {
    const [lane] = lanes;
    if (lane === undefined) throw new Error("There is no lane.");
    const reference = await referenceOf(given, lane);
    const world = await makeWorld(given, lane);
    const child = await startProcess();
    try {
      lane.proxy.plan();
      lane.android.calls.length = 0;
      lane.android.failNext(endpoint, ...Array.from({ length: at - 1 }, () => looked), "hang");
      child.send({ options: world.options, call: given.call } satisfies Order);
      const count = (): number => lane.android.calls.filter((call) => call.endpoint === endpoint).length;
      while (count() < at) await sleep(5);
      await kill(child);
      expect(await afterwards(world, given, reference)).toEqual([]);
    } finally {
      child.kill("SIGKILL");
      await world.remove();
    }
  });

  test("answers as usual when it is not killed", async () => {
    const [lane] = lanes;
    if (lane === undefined) throw new Error("There is no lane.");
    const reference = await referenceOf(given, lane);
    const world = await makeWorld(given, lane);
    const child = await startProcess();
    try {
      lane.proxy.plan();
      child.send({ options: world.options, call: given.call } satisfies Order);
      const [report] = await once(child, "message");
      const { answer } = z.object({ answer: z.unknown() }).parse(report);
      expect(await differences(world, reference, answer)).toEqual([]);
    } finally {
      child.kill("SIGKILL");
      await world.remove();
    }
  });
});
