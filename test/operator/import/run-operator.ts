import { runOperator } from "../../../operator/program.ts";

/** Runs a command of the operator, and resolves to its exit code and its output. */
export const operate = async (
  words: readonly string[],
  environment: Readonly<Record<string, string>> = {},
  now: () => number = Date.now,
) => {
  let [out, err] = ["", ""];
  const code = await runOperator(words, {
    environment: { ...process.env, ...environment },
    now,
    out: (text) => void (out += text),
    err: (text) => void (err += text),
    waitForIndex: async () => undefined,
    wait: async (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds)),
    ask: null,
  });
  return { code, out, err, json: (): unknown => JSON.parse(out) };
};
