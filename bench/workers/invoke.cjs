// Loads a function in a fresh process, as Lambda does, and invokes it: records the time and the CPU time (all threads) until it
// is loaded, until its first answer, and per invocation after the warm-ups. Plain JavaScript, so that nothing has to be compiled
// before it.
"use strict";
const { readFileSync, writeFileSync } = require("node:fs");

const [bundle, eventFile, resultFile, warmUps, times] = process.argv.slice(2);
const events = JSON.parse(readFileSync(eventFile, "utf8"));
const context = { awsRequestId: "1", getRemainingTimeInMillis: () => 60_000 };

const stopwatch = () => {
  const cpu = process.cpuUsage();
  const started = performance.now();
  return () => {
    const milliseconds = performance.now() - started;
    const { user, system } = process.cpuUsage(cpu);
    return [milliseconds, (user + system) / 1000];
  };
};

const main = async () => {
  const sinceStart = stopwatch();
  const { handler } = require(bundle);
  const [load, loadCpu] = sinceStart();
  let next = 0;
  const invoke = async () => {
    const { statusCode = 200, body } = await handler(events[next++ % events.length], context);
    if (statusCode !== 200) throw new Error(`${statusCode} ${body}`);
  };
  await invoke();
  const [answer, answerCpu] = sinceStart();
  // Discards the function's log.
  process.stdout.write = () => true;
  for (let time = 0; time < Number(warmUps); time += 1) await invoke();
  const sinceWarm = stopwatch();
  for (let time = 0; time < Number(times); time += 1) await invoke();
  const [milliseconds, cpuMilliseconds] = sinceWarm().map((total) => total / Math.max(1, Number(times)));
  const timings = { load, loadCpu, answer, answerCpu, milliseconds, cpuMilliseconds };
  writeFileSync(resultFile, JSON.stringify(timings));
  process.exit(0);
};
void main();
