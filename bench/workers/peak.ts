import { writeFileSync } from "node:fs";

/** Preloaded before a command: writes the peak of its memory, in bytes, to the file that `BENCH_PEAK` names. */
process.once("exit", () =>
  writeFileSync(process.env["BENCH_PEAK"] ?? "", String(process.resourceUsage().maxRSS * 1024)),
);
