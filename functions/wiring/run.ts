import { setTimeout as sleep } from "node:timers/promises";
import { v7 as uuid } from "uuid";
import type { Upkeep } from "./service.ts";

/** Time after which a run that a slow store or destination holds up looks at the others again. */
const HELD_UP_MILLISECONDS = 1000;

/** What every run that works off queues waits and names its workers with. */
export const runOf = ({ now, onFailure }: Upkeep) => ({
  newWorker: uuid,
  now,
  wait: async (milliseconds: number) => sleep(milliseconds),
  untilNextLook: async () => sleep(HELD_UP_MILLISECONDS),
  onFailure,
});
