import * as z from "zod";
import { isoTime, plusPeriod } from "../../lib/entitlements/time.ts";
import { period, time } from "../../sandbox/fields.ts";
import type { Mount } from "../../sandbox/mount.ts";
import { found, refusal, serveRoutes, withBody, type Answer } from "../../sandbox/routes.ts";
import type { MovedClock } from "./moved-clock.ts";
import { ImpossibleMove, type Timekeeper } from "./timekeeper.ts";

export const CLOCK_PATH = "/sandbox/clock";

export const moveRequest = z
  .strictObject({ advance: period.optional(), at: time.optional(), reset: z.literal(true).optional() })
  .refine((moves) => Object.keys(moves).length === 1, {
    message: 'exactly one is expected of "advance", "at" and "reset"',
  });

/**
 * The clock of the local run: `GET` reads it, `POST` moves it with `{"advance": "P1M"}`, `{"at": "<ISO time>"}` or
 * `{"reset": true}`. Both answer `{ "now": "<ISO time>" }`, a move once it is complete.
 *
 * @param options.reset takes the whole service back to real time and to its first state
 */
export const createClockEndpoint = ({
  clock,
  timekeeper,
  reset,
  log,
}: {
  readonly clock: MovedClock;
  readonly timekeeper: Timekeeper;
  readonly reset: () => Promise<void>;
  readonly log: (line: string) => void;
}): Mount => {
  const read = (): Answer => found({ now: isoTime(clock.now()) });
  const move = async ({ advance, at }: z.output<typeof moveRequest>): Promise<void> => {
    if (advance !== undefined) return timekeeper.move((now) => plusPeriod(now, advance));
    if (at !== undefined) return timekeeper.move(() => at);
    return timekeeper.reset(reset);
  };
  return serveRoutes("", {
    [`GET ${CLOCK_PATH}`]: read,
    [`POST ${CLOCK_PATH}`]: withBody(moveRequest, async (wanted) => {
      try {
        await move(wanted);
        return read();
      } catch (error) {
        if (error instanceof ImpossibleMove) return refusal(400, error.message);
        log(String(error));
        return refusal(500, "The clock could not be moved; the service's output says why.");
      }
    }),
  });
};
