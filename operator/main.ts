import { once } from "node:events";
import { createInterface } from "node:readline/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runOperator } from "./program.ts";
import { waitForIndex } from "./session.ts";

// An import takes hours, and keeps little: by default, the heap would grow to twice as much before it is collected.
setFlagsFromString("--semi-space-growth-factor=1");
setFlagsFromString("--heap-growing-percent=50");

// A reader that closes the pipe early, such as `head`, is not an error.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code !== "EPIPE") throw error;
  process.exit(0);
});

const ask = async (question: string): Promise<boolean> => {
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  try {
    return (await terminal.question(question)).trim().toLowerCase() === "yes";
  } finally {
    terminal.close();
  }
};

process.exitCode = await runOperator(process.argv.slice(2), {
  environment: process.env,
  now: Date.now,
  out: (text) => void process.stdout.write(text),
  err: (text) => void process.stderr.write(text),
  waitForIndex,
  wait: (milliseconds) => sleep(milliseconds),
  untilStopped: async () => {
    await Promise.race((["SIGINT", "SIGTERM", "SIGHUP"] as const).map((signal) => once(process, signal)));
  },
  ask: process.stdin.isTTY ? ask : null,
  isTerminal: process.stderr.isTTY,
});
