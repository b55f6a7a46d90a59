// Invokes deployed bundles in rounds and reports the heap after each, in bytes after garbage collection. Plain
// JavaScript without the service's code, so that only the bundles hold memory.
"use strict";
const { readFileSync } = require("node:fs");

const [file] = process.argv.slice(2);
const { bundles, rounds } = JSON.parse(readFileSync(file, "utf8"));

const write = process.stdout.write.bind(process.stdout);
// Standard output is for the report, so the functions' log is dropped.
process.stdout.write = () => true;

const handlers = new Map();
for (const [name, bundle] of Object.entries(bundles)) handlers.set(name, require(bundle).handler);
const context = { awsRequestId: "1", getRemainingTimeInMillis: () => 60_000 };

const main = async () => {
  const heaps = [];
  const answers = {};
  for (const round of rounds) {
    for (const { name, event } of JSON.parse(readFileSync(round, "utf8"))) {
      const answer = await handlers
        .get(name)(event, context)
        .catch((error) => ({ statusCode: error.message }));
      const status = answer.statusCode ?? "allowed or refused";
      answers[status] = (answers[status] ?? 0) + 1;
    }
    for (let time = 0; time < 3; time += 1) {
      global.gc();
      await new Promise(setImmediate);
    }
    heaps.push(process.memoryUsage().heapUsed);
  }
  write(JSON.stringify({ heaps, answers }));
  process.exit(0);
};
void main();
