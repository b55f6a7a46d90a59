import { once } from "node:events";
import { connect, Socket } from "node:net";
import { Worker } from "node:worker_threads";
import { jest } from "@jest/globals";
import { GetCommand } from "@aws-sdk/lib-dynamodb";
import * as z from "zod";
import { openTable } from "../../functions/environment/open-table.ts";

/**
 * A function's first requests open connections. On a busy machine this takes long: the function gets no processor time
 * while it connects, or the database gets none to accept the connection.
 */
const answered = z.object({
  port: z.number().optional(),
  connections: z.number().optional(),
  deaf: z.boolean().optional(),
});

// Other processes may take the processor for longer than the two seconds that a test takes it: then the test is tried again.
jest.retryTimes(2, { logErrorsBeforeRetry: true });

let server: Worker;
let port: number;
const others: Socket[] = [];

const ask = async (message: "count" | number) => {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
  server.postMessage(message);
  return answered.parse((await once(server, "message"))[0]);
};

const endpoint = process.env["AWS_ENDPOINT_URL_DYNAMODB"];
beforeEach(async () => {
  server = new Worker(new URL("./deaf-server.cjs", import.meta.url));
  port = answered.parse((await once(server, "message"))[0]).port ?? 0;
  process.env["AWS_ENDPOINT_URL_DYNAMODB"] = `http://127.0.0.1:${port}`;
});
afterEach(async () => {
  jest.restoreAllMocks();
  for (const socket of others.splice(0)) socket.destroy();
  await server.terminate();
  process.env["AWS_ENDPOINT_URL_DYNAMODB"] = endpoint;
});

const readNothing = async (): Promise<unknown> => {
  const { client } = openTable("table");
  try {
    return (await client.send(new GetCommand({ TableName: "table", Key: { pk: "a", sk: "b" } }))).Item;
  } finally {
    client.destroy();
  }
};

test("two seconds without processor time while connecting need no second attempt", async () => {
  const real = Socket.prototype.connect;
  jest.spyOn(Socket.prototype, "connect").mockImplementation(function (this: Socket, ...given: unknown[]) {
    setImmediate(() => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2_000));
    return Reflect.apply(real, this, given);
  });
  expect(await readNothing()).toBeUndefined();
  expect((await ask("count")).connections).toBe(1);
});

test("a function waits for a database that accepts no connection for seconds", async () => {
  await ask(4_000);
  // With a backlog of one, the kernel queues two connections and makes the next ones wait.
  for (let count = 0; count < 4; count += 1)
    others.push(connect(port, "127.0.0.1").on("error", () => undefined));
  expect(await readNothing()).toBeUndefined();
});
