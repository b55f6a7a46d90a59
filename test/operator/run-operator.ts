import { setTimeout as sleep } from "node:timers/promises";
import { runOperator, type World } from "../../operator/program.ts";

/** Runs a command of the operator, in a shell with these variables, and resolves to its exit code and its output. */
export const operate = async (
  words: readonly string[],
  { environment = {}, ...world }: Partial<World> = {},
) => {
  let [out, err] = ["", ""];
  const code = await runOperator(words, {
    now: Date.now,
    waitForIndex: async () => undefined,
    wait: async (milliseconds) => sleep(milliseconds),
    ask: null,
    ...world,
    environment: { ...process.env, ...environment },
    out: (text) => {
      out += text;
      world.out?.(text);
    },
    err: (text) => void (err += text),
  });
  return { code, out, err, json: <Shape = Record<string, unknown>>(): Shape => JSON.parse(out) };
};

/** Identifier that no application and no customer has. */
export const UNKNOWN = "0198c0de-0000-7000-8000-00000000ffff";

/** A command that was refused with these words. */
export const refusedWith = (words: string) => ({ code: 1, err: expect.stringContaining(words) });
