import type { ServerResponse } from "node:http";
import * as z from "zod";
import { isoTime, parsePeriod, plusPeriod, type Instant } from "../../lib/entitlements/time.ts";
import { answer, pathOf, type Mount } from "../../sandbox/mount.ts";
import { parseJson } from "../../lib/bounded-text.ts";
import { readText } from "../request-text.ts";
import type { MovedClock } from "./moved-clock.ts";
import { ImpossibleMove, type Timekeeper } from "./timekeeper.ts";

export const CLOCK_PATH = "/sandbox/clock";

export const moveRequest = z
  .strictObject({
    advance: z
      .string()
      .transform((text, context) => {
        const period = parsePeriod(text);
        if (period !== null) return period;
        context.addIssue({ code: "custom", message: "must be an ISO 8601 duration, such as P1M" });
        return z.NEVER;
      })
      .optional(),
    at: z.iso
      .datetime({ offset: true })
      .transform((text): Instant => Date.parse(text))
      .optional(),
    reset: z.literal(true).optional(),
  })
  .refine((moves) => Object.keys(moves).length === 1, {
    message: 'exactly one is expected of "advance", "at" and "reset"',
  });

export interface ClockEndpointOptions {
  readonly clock: MovedClock;
  readonly timekeeper: Timekeeper;
  /** Takes the whole service back to real time and to its first state. */
  readonly reset: () => Promise<void>;
  readonly log: (line: string) => void;
}

/**
 * The clock of the local run: `GET` reads it, `POST` moves it with `{"advance": "P1M"}`, `{"at": "<ISO time>"}` or
 * `{"reset": true}`. Both answer `{ "now": "<ISO time>" }`, a move once it is complete.
 */
export const createClockEndpoint = ({ clock, timekeeper, reset, log }: ClockEndpointOptions): Mount => {
  const send = (response: ServerResponse, status: number, body: object): void =>
    answer(response, status, "application/json", JSON.stringify(body));

  const move = async ({ advance, at }: z.output<typeof moveRequest>): Promise<void> => {
    if (advance !== undefined) return timekeeper.move((now) => plusPeriod(now, advance));
    if (at !== undefined) return timekeeper.move(() => at);
    return timekeeper.reset(reset);
  };

  return async (request, response) => {
    const { method } = request;
    if (pathOf(request) !== CLOCK_PATH || (method !== "GET" && method !== "POST")) return false;
    if (method === "POST") {
      const wanted = moveRequest.safeParse(parseJson(await readText(request)));
      if (!wanted.success) {
        send(response, 400, { message: z.prettifyError(wanted.error) });
        return true;
      }
      try {
        await move(wanted.data);
      } catch (error) {
        const isRefused = error instanceof ImpossibleMove;
        if (!isRefused) log(String(error));
        send(response, isRefused ? 400 : 500, {
          message: isRefused ? error.message : "The clock could not be moved; the service's output says why.",
        });
        return true;
      }
    }
    send(response, 200, { now: isoTime(clock.now()) });
    return true;
  };
};
