// Invokes a loaded function repeatedly, and records the time and CPU time per invocation. Plain JavaScript, for the same
// reason as first-answer.cjs.
"use strict";
const { readFileSync, writeFileSync } = require("node:fs");

const [bundle, eventFile, resultFile, warmUps, times] = process.argv.slice(2);
const events = JSON.parse(readFileSync(eventFile, "utf8"));
const context = { awsRequestId: "1", getRemainingTimeInMillis: () => 60_000 };
const { handler } = require(bundle);

// Discards the function's log.
process.stdout.write = () => true;
let next = 0;
const invoke = async () => {
  const { statusCode = 200, body } = await handler(events[next++ % events.length], context);
  if (statusCode !== 200) throw new Error(`${statusCode} ${body}`);
};

const main = async () => {
  for (let time = 0; time < Number(warmUps); time += 1) await invoke();
  const cpu = process.cpuUsage();
  const started = performance.now();
  for (let time = 0; time < Number(times); time += 1) await invoke();
  const { user, system } = process.cpuUsage(cpu);
  writeFileSync(
    resultFile,
    JSON.stringify({
      milliseconds: (performance.now() - started) / Number(times),
      cpuMilliseconds: (user + system) / 1000 / Number(times),
    }),
  );
  process.exit(0);
};
void main();
