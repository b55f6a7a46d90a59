// Loads a function in a fresh process, as Lambda does, and records the time to load it and to its first answer.
// Plain JavaScript, so that nothing has to be compiled before it.
"use strict";
const { readFileSync, writeFileSync } = require("node:fs");

const [bundle, eventFile, resultFile] = process.argv.slice(2);
const event = JSON.parse(readFileSync(eventFile, "utf8"));
const context = { awsRequestId: "1", getRemainingTimeInMillis: () => 60_000 };

const cpuBefore = process.cpuUsage();
const started = performance.now();
const { handler } = require(bundle);
const loaded = performance.now();
const cpuLoaded = process.cpuUsage(cpuBefore);
handler(event, context).then(
  (answer) => {
    const answered = performance.now();
    const cpuAnswered = process.cpuUsage(cpuBefore);
    const milliseconds = ({ user, system }) => (user + system) / 1000;
    writeFileSync(
      resultFile,
      JSON.stringify({
        status: answer.statusCode ?? 200,
        load: loaded - started,
        answer: answered - started,
        loadCpu: milliseconds(cpuLoaded),
        answerCpu: milliseconds(cpuAnswered),
      }),
    );
    process.exit(0);
  },
  (error) => {
    process.stderr.write(`${error.stack}\n`);
    process.exit(1);
  },
);
