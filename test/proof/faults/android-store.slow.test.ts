import type { Fault, SandboxEndpoint } from "../../../sandbox/android-store/publisher.ts";
import { ServiceError } from "../../../lib/contract/errors.ts";
import { LONG } from "../../../testing/support/proof.ts";
import { aGoogleError } from "../../../testing/support/stores/android-store.ts";
import {
  acknowledgeElsewhere,
  differences,
  inLanes,
  makeWorld,
  PENDING_ANSWER,
  readsTrue,
  referenceOf,
  scenario,
  startLane,
  type Lane,
  type Reference,
  type Scenario,
} from "./scenarios.ts";

const GIVEN = [
  scenario("an Android link with its acknowledgement"),
  scenario("an Android notification of a renewal, with its acknowledgement"),
] as const;

const answered = (status: number, reason?: string): Fault => ({ status, body: aGoogleError(status, reason) });

/** Failures of one call; the next call may succeed. */
const FAILURES: Readonly<Record<string, Fault>> = {
  "400 invalid": answered(400, "invalid"),
  "400 failedPrecondition": answered(400, "failedPrecondition"),
  "400 failedPrecondition, expired for too long": {
    status: 400,
    body: {
      error: {
        code: 400,
        message:
          "The subscription purchase is no longer available for query because it has been expired for too long.",
        errors: [{ domain: "global", reason: "failedPrecondition" }],
      },
    },
  },
  "401 authError": answered(401, "authError"),
  "403 permissionDenied": answered(403, "permissionDenied"),
  "403 without a body": { status: 403 },
  "403 rateLimitExceeded": answered(403, "rateLimitExceeded"),
  "404 applicationNotFound": answered(404, "applicationNotFound"),
  "404 purchaseTokenNotFound": answered(404, "purchaseTokenNotFound"),
  "404 of a proxy": { status: 404, body: "<html>Not Found</html>" },
  "408": { status: 408 },
  "409 conflict": answered(409, "concurrentUpdate"),
  "410 purchaseTokenNoLongerValid": answered(410, "purchaseTokenNoLongerValid"),
  "429": answered(429, "quotaExceeded"),
  "429 with Retry-After": { status: 429, headers: { "retry-after": "7" } },
  "500": answered(500, "backendError"),
  "502 of a proxy": { status: 502, body: "<html>Bad Gateway</html>" },
  "503": { status: 503 },
  "200 with text": { status: 200, body: "OK" },
  "200 with nothing": { status: 200 },
  "200 with null": { status: 200, body: null },
  "200 with an empty object": { status: 200, body: {} },
  "200 with an unknown state": {
    status: 200,
    body: { ...PENDING_ANSWER, subscriptionState: "SUBSCRIPTION_STATE_NEW" },
  },
  "a closed connection": "disconnect",
  "no answer": "hang",
};

const CALLS = ["the token exchange", "the look-up", "the acknowledgement"] as const;
type StoreCall = (typeof CALLS)[number];

const endpointOf = (call: StoreCall): SandboxEndpoint =>
  call === "the token exchange" ? "token" : "publisher";

interface Case {
  readonly call: StoreCall;
  readonly failure: string;
  /** Attempts in a row that fail: the store's client sends a call twice. */
  readonly times: number;
  /** Whether the store acknowledges the purchase although its answer fails. */
  readonly done: boolean;
}

const CASES: readonly Case[] = CALLS.flatMap((call) =>
  Object.keys(FAILURES).flatMap((failure) => [
    ...(failure === "no answer" ? [] : [{ call, failure, times: 1, done: false }]),
    { call, failure, times: 3, done: false },
    ...(call === "the acknowledgement" && failure !== "no answer"
      ? [{ call, failure, times: 1, done: true }]
      : []),
  ]),
);

/** The short form's share: every failure of a look-up, and half of the others. */
const isShort = ({ call, failure, times, done }: Case): boolean => {
  const turn = Object.keys(FAILURES).indexOf(failure);
  if (failure === "no answer") return false;
  if (call === "the look-up") return times === (turn % 2 === 0 ? 1 : 3);
  return turn % 4 === (times === 1 ? (done ? 0 : 2) : 3);
};

const lanes: Lane[] = [];
const outcomes = new Map<string, number>();
beforeAll(async () => {
  lanes.push(...(await Promise.all(Array.from({ length: 6 }, () => startLane()))));
});
afterAll(async () => {
  await Promise.all(lanes.map((lane) => lane.stop()));
  process.stdout.write(
    `failures of the store: ${JSON.stringify(Object.fromEntries([...outcomes].sort()), null, 1)}\n`,
  );
});

/** Codes that a failed look-up may answer with. A failed acknowledgement does not fail the request. */
const REFUSALS: ReadonlySet<string> = new Set([
  "STORE_UNAVAILABLE",
  "STORE_REJECTED_CREDENTIAL",
  "INVALID_PURCHASE",
  "PURCHASE_NO_LONGER_AVAILABLE",
]);

const outcomeOf = (error: unknown): string =>
  error instanceof ServiceError ? error.code : `failed with ${String(error)}`;

const tryOne = async (lane: Lane, given: Scenario, reference: Reference, one: Case): Promise<string[]> => {
  const world = await makeWorld(given, lane);
  const service = world.open(null);
  try {
    lane.proxy.plan();
    const fault = FAILURES[one.failure] ?? "disconnect";
    const faults = Array.from({ length: one.times }, () => fault);
    const looked = { status: 200, body: PENDING_ANSWER };
    lane.android.failNext(
      endpointOf(one.call),
      ...(one.call === "the acknowledgement" ? [looked] : []),
      ...faults,
    );
    if (one.done) acknowledgeElsewhere(lane);
    const outcome = await service.perform(given.call).then(() => "answered", outcomeOf);
    outcomes.set(`${one.call}: ${outcome}`, (outcomes.get(`${one.call}: ${outcome}`) ?? 0) + 1);
    const wrong: string[] = [];
    const expected =
      one.call === "the acknowledgement"
        ? outcome === "answered"
        : outcome === "answered" || REFUSALS.has(outcome);
    if (!expected) wrong.push(outcome);
    if (outcome !== "answered") {
      const { items } = await world.state();
      if (items !== reference.before.items) wrong.push(`stored ${items} though it failed`);
    }
    wrong.push(...(await readsTrue(world, reference)));
    lane.android.clearFaults();
    const answer = await service.perform(given.call);
    wrong.push(...(await differences(world, reference, answer)));
    return wrong.map(
      (what) => `${one.failure} at ${one.call}, ${one.times} times${one.done ? ", done" : ""}: ${what}`,
    );
  } finally {
    service.close();
    await world.remove();
  }
};

describe.each(GIVEN)("$name", (given) => {
  test.each(CALLS)(
    "ends as without a fault when it is repeated, however %s fails",
    async (call) => {
      const [lane] = lanes;
      if (lane === undefined) throw new Error("There is no lane.");
      const reference = await referenceOf(given, lane);
      expect(reference.after.acknowledged).toBe(true);
      // Slow cases begin first.
      const cases = CASES.filter((one) => one.call === call && (LONG || isShort(one))).sort(
        (a, b) => Number(b.failure === "no answer") - Number(a.failure === "no answer"),
      );
      const wrong = await inLanes(
        lanes,
        cases,
        ({ call, failure, times }) => `${failure} at ${call}, ${times} times`,
        (lane, one) => tryOne(lane, given, reference, one),
      );
      expect(wrong).toEqual([]);
    },
    120_000,
  );
});

const [, notification] = GIVEN;
test.each<[what: string, answer: Parameters<Lane["googleKeys"]["answer"]>[0]]>([
  ["are refused", (response) => void response.writeHead(403).end()],
  ["fail", (response) => void response.writeHead(500).end()],
  ["are no JSON", (response) => void response.end("<html>")],
  ["are none", (response) => void response.end('{"keys":[]}')],
  ["break off", (response) => void response.destroy()],
])("a push while Google's keys %s is refused, and succeeds when repeated", async (_, answer) => {
  const [lane] = lanes;
  if (lane === undefined) throw new Error("There is no lane.");
  const reference = await referenceOf(notification, lane);
  const world = await makeWorld(notification, lane);
  // A function that met the failure asks for the keys again only after a while.
  const [failing, other] = [world.open(null), world.open(null)];
  try {
    lane.proxy.plan();
    lane.googleKeys.answer(answer);
    await expect(failing.perform(notification.call)).rejects.toBeInstanceOf(ServiceError);
    expect((await world.state()).items).toBe(reference.before.items);
    lane.googleKeys.serve(lane.pushKey);
    expect(await differences(world, reference, await other.perform(notification.call))).toEqual([]);
  } finally {
    failing.close();
    other.close();
    await world.remove();
  }
});
