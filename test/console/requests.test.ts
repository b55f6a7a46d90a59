import { createServer } from "node:http";
import { connect, type Socket } from "node:net";
import { setImmediate as turn } from "node:timers/promises";
import { close, listen } from "../../local/server.ts";
import { connect as connectTable } from "../../operator/connection.ts";
import { openGuard } from "../../operator/console/guard.ts";
import { createConsole, createLiveLines, type LiveLines } from "../../operator/console/server.ts";

/** The requests of a local run, as a page follows them. */

/** Pages that follow now. */
let followers = 0;
const live = createLiveLines(3);
const lines: LiveLines = {
  ...live,
  follow: (take) => {
    followers += 1;
    const end = live.follow(take);
    return () => {
      followers -= 1;
      end();
    };
  },
};
const server = createServer();
const port = await listen(server, 0);
afterAll(() => close(server));
const pause = () => Promise.resolve();
const handle = createConsole({
  connection: await connectTable("none", { AWS_ENDPOINT_URL_DYNAMODB: "http://127.0.0.1:1" }),
  effects: { now: Date.now, wait: pause, waitForIndex: pause },
  guard: openGuard(port),
  sandbox: null,
  requests: lines,
  log: () => undefined,
});
server.on("request", handle);

const follow = (): Socket => {
  const socket = connect(port, "127.0.0.1");
  socket.write(`GET /console/api/requests HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n\r\n`);
  return socket;
};

const until = async (isSo: () => boolean): Promise<void> => {
  while (!isSo()) await turn();
};

test("a page gets the latest lines and each further one, until closed", async () => {
  for (const line of ["1", "2", "3", "4"]) lines.add(line);
  const socket = follow();
  let text = "";
  socket.on("data", (chunk) => void (text += String(chunk)));
  await until(() => followers === 1);
  lines.add("a\nline");
  await until(() => text.includes("line"));
  expect(text.match(/^data: .*$/gm)).toEqual(['data: "2"', 'data: "3"', 'data: "4"', 'data: "a\\nline"']);
  socket.destroy();
  await until(() => followers === 0);
});

test("a page that reads nothing is let go, and keeps no memory", async () => {
  const socket = follow();
  socket.pause();
  await until(() => followers === 1);
  const line = "x".repeat(1024 * 1024);
  let added = 0;
  await until(() => {
    lines.add(line);
    added += 1;
    return followers === 0 || added === 64;
  });
  expect(followers).toBe(0);
  socket.destroy();
});
