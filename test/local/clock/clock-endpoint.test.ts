import type { Instant } from "../../../lib/entitlements/time.ts";
import { createMovedClock } from "../../../local/clock/moved-clock.ts";
import { createClockEndpoint, ImpossibleMove } from "../../../local/clock/timekeeper.ts";
import { serve } from "../../../testing/server.ts";

const NOW = Date.parse("2026-01-31T12:00:00Z");

/** Targets of the moves, and resets, that the endpoint has asked for. */
const asked: (Instant | "reset")[] = [];
const logged: string[] = [];
let failure: Error | null = null;

const endpoint = createClockEndpoint({
  clock: createMovedClock(),
  timekeeper: {
    move: async (targetFrom) => {
      if (failure !== null) throw failure;
      asked.push(targetFrom(NOW));
    },
    reset: async (work) => work(),
  },
  reset: async () => void asked.push("reset"),
  log: (line) => void logged.push(line),
});

const { address, stop } = await serve(endpoint);
afterAll(stop);
beforeEach(() => {
  asked.length = 0;
  logged.length = 0;
  failure = null;
});

/** Moves the clock, or reads it. */
const send = async (...move: readonly unknown[]) => {
  const sent = move.length > 0 && { method: "POST", body: JSON.stringify(move[0]) };
  const response = await fetch(`${address}/sandbox/clock`, { ...sent });
  const body: ReturnType<typeof JSON.parse> = await response.json();
  return { status: response.status, body };
};

test.each<[what: string, body: unknown, message?: RegExp]>([
  ["no JSON", undefined],
  ["two moves", { advance: "P1D", at: "2999-01-01T00:00:00Z" }],
  ["no duration", { advance: "a month" }, /ISO 8601 duration[^]*at advance/],
  ["no time", { at: "tomorrow" }],
  ["no reset", { reset: false }],
  ["too much", { advance: "P1D", by: "x".repeat(70_000) }],
])("%s: 400 with a message, and the clock stays", async (_, body, message = /./) => {
  const refused = { status: 400, body: { message: expect.stringMatching(message) } };
  expect(await send(body)).toEqual(refused);
  expect(asked).toEqual([]);
});

test.each([
  ["a duration is a calendar period", { advance: "P1M" }, Date.parse("2026-02-28T12:00:00Z")],
  ["a time is that time", { at: "2026-07-01T02:00:00+02:00" }, Date.parse("2026-07-01T00:00:00Z")],
  ["a reset is no move", { reset: true }, "reset"],
])("%s, and the answer is the clock's time", async (_, body, target) => {
  expect(await send(body)).toEqual({ status: 200, body: { now: expect.stringMatching(/Z$/) } });
  expect(asked).toEqual([target]);
});

test("the clock can be read", async () => {
  const { status, body } = await send();
  expect([status, Math.abs(Date.parse(body.now) - Date.now()) < 60_000]).toEqual([200, true]);
});

test("an impossible move is 400 with its reason, another failure 500 without", async () => {
  failure = new ImpossibleMove("Only forwards.");
  const refused = { status: 400, body: { message: "Only forwards." } };
  expect(await send({ advance: "P1D" })).toEqual(refused);
  expect(logged).toEqual([]);
  failure = new Error("secret");
  const { status, body } = await send({ advance: "P1D" });
  expect([status, body.message.includes("secret"), logged]).toEqual([500, false, ["Error: secret"]]);
});
