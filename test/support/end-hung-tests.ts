import { TIMEOUT } from "../../testing/support/proof.ts";

/** Longest time of one test, with its hooks. */
const SECONDS = Math.max(120, TIMEOUT / 1_000);

let current = "";
let seconds = 0;

// The light runner has no timeouts. The error ends the worker; Jest reports it as a failure of the test's file.
// A worker that waits for a file blocks its thread, so this time does not count.
setInterval(() => {
  const { testPath = "", currentTestName = "" } = expect.getState();
  const running = `${testPath}: ${currentTestName}`;
  seconds = running === current ? seconds + 1 : 0;
  current = running;
  if (seconds > SECONDS) throw new Error(`No end after ${SECONDS} s. ${running}`);
}, 1_000).unref();
