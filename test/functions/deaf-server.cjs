// A database without processor time: while it is deaf it accepts no connection, and other clients fill the kernel's
// short queue. It runs in a thread of its own because it blocks, in plain JavaScript.
"use strict";
const { createServer } = require("node:http");
const { parentPort } = require("node:worker_threads");

let connections = 0;
const server = createServer((request, response) => {
  request.resume();
  request.on("end", () => {
    response.setHeader("content-type", "application/x-amz-json-1.0");
    response.end("{}");
  });
});
server.on("connection", () => (connections += 1));
server.listen({ port: 0, host: "127.0.0.1", backlog: 1 }, () =>
  parentPort.postMessage({ port: server.address().port }),
);

parentPort.on("message", (message) => {
  if (message === "count") return parentPort.postMessage({ connections });
  parentPort.postMessage({ deaf: true });
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, message);
});
