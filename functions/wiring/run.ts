import { setTimeout as sleep } from "node:timers/promises";
import { v7 as uuid } from "uuid";
import type { Upkeep } from "./service.ts";

/** Time after which a run that a slow store or destination holds up looks at the others again. */
const HELD_UP_MILLISECONDS = 1000;

/** Clock, waits and worker names of a run that works off queues. */
export const runOf = ({ now, onFailure }: Upkeep) => ({
  newWorker: uuid,
  now,
  wait: async (milliseconds: number) => sleep(milliseconds),
  untilNextLook: async () => sleep(HELD_UP_MILLISECONDS),
  onFailure,
});
