import { composeAccountReport } from "../../lib/service.ts";
import { runOperator } from "./program.ts";

// A reader that has seen enough, such as `head`, is no failure.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code !== "EPIPE") throw error;
  process.exit(0);
});

process.exitCode = await runOperator(process.argv.slice(2), {
  environment: process.env,
  now: Date.now,
  out: (text) => void process.stdout.write(text),
  err: (text) => void process.stderr.write(text),
  composeAccountReport,
});
