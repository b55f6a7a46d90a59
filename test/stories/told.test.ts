import getPort from "get-port";
import { spawn, type ChildProcess } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parse } from "yaml";
import { storeRequest, type StoreRequest } from "../../lib/contract/messages.ts";
import { HOUR } from "../../lib/duration.ts";
import { close, listen } from "../../local/server.ts";
import { startKit, type Kit } from "../../testing/kit.ts";
import type { TestApplication } from "../../testing/application.ts";
import { operate } from "../operator/run-operator.ts";
import { subscribersOf, subscriptionManifest, type Subscribers } from "./subscriber.ts";

/** The tutorial's receiver, and another destination that takes every message. */

let kit: Kit;
let app: TestApplication;
let subscribers: Subscribers;
let folder: string;
let port: number;
let secret: string;
const receivers: ChildProcess[] = [];

/** Bodies of the messages that the other destination got. */
const messages: { readonly type: string; readonly data: Record<string, unknown> }[] = [];
const other = createServer((request, response) => {
  void (async () => {
    messages.push(JSON.parse(Buffer.concat(await request.toArray()).toString()));
    response.writeHead(204).end();
  })();
});

const [, RECEIVER = ""] =
  /^cat > receiver\.mjs <<'END'\n([^]*?)^END$/m.exec(readFileSync("docs/tutorial.md", "utf8")) ?? [];

/** Runs a command of the operator on the kit's table; expects that it is done. */
const operator = async (...words: readonly string[]): Promise<string> => {
  const { code, out, err } = await operate(words, { now: kit.clock.now });
  expect([words, code, code === 0 ? "" : err]).toEqual([words, 0, ""]);
  return out;
};

/** Starts the receiver, and returns its lines. */
const receive = async (): Promise<{ readonly lines: string[]; readonly process: ChildProcess }> => {
  const lines: string[] = [];
  const receiver = spawn(process.execPath, [join(folder, "receiver.mjs"), secret], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  receivers.push(receiver);
  receiver.stdout
    ?.setEncoding("utf8")
    .on("data", (text: string) => void lines.push(...text.trim().split("\n")));
  for (let tries = 0; tries < 100; tries += 1) {
    const isThere = await fetch(`http://127.0.0.1:${port}`, { method: "POST", body: "{}" }).then(
      ({ status }) => status === 401,
      () => false,
    );
    if (isThere) return { lines, process: receiver };
    await sleep(100);
  }
  throw new Error("The receiver does not start.");
};

const tell = async (): Promise<void> => {
  await kit.run("tell-changes");
  await kit.run("deliver-messages");
};

/** Moves the clock, and tells what has changed. */
const advance = async (duration: string): Promise<void> => {
  await kit.clock.advance(duration);
  await tell();
};

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "receiver-"));
  port = await getPort();
  writeFileSync(join(folder, "receiver.mjs"), RECEIVER.replace("listen(4000)", `listen(${port})`));
  kit = await startKit({ notifies: true, environment: { DESTINATIONS: "any" } });
  app = await kit.application(subscriptionManifest());
  subscribers = subscribersOf(kit, app);
  const manifest = join(folder, "trails.yaml");
  writeFileSync(
    manifest,
    JSON.stringify({
      ...parse(await operator("application", "show", app.identifier)),
      destinations: [
        { name: "backend", url: `http://127.0.0.1:${port}` },
        { name: "other", url: `http://127.0.0.1:${await listen(other, 0)}` },
      ],
    }),
  );
  await operator("application", "apply", manifest, "--yes");
  ({ secret } = JSON.parse(await operator("destination", "rotate", app.identifier, "backend", "--json")));
  // The functions know an application for up to a minute.
  await kit.clock.advance("PT2M");
});
afterAll(async () => {
  for (const receiver of receivers) receiver.kill();
  await close(other);
  await kit?.stop();
  rmSync(folder, { recursive: true, force: true });
});

test("the tutorial's receiver follows; after a day down it gets the newest", async () => {
  const { lines, process: first } = await receive();
  const change = await subscribers.onIos("user-1");
  await advance("PT1M");
  await advance("P1M");
  expect(lines).toEqual(["user-1: version 1, premium on", "user-1: version 2, premium on"]);

  first.kill();
  await advance("P1M");
  await change({ change: "refund" });
  await advance("P1D");
  const back = await receive();
  await advance("P1D");
  // A renewal and a refund were missed; the newest state is told.
  expect(back.lines).toEqual(["user-1: version 4, premium off"]);
  expect(messages.map(({ data }) => data["version"])).toEqual([1, 2, 3, 4]);
});

test("the feed has every version of the last 30 days", async () => {
  const { status, body } = await kit.call("readChanges", { key: app.key, query: { limit: "1000" } });
  expect([status, body.changes?.map(({ version }) => version)]).toEqual([200, [3, 4]]);
});

test.each(["0", "1001", "1.5", "many"])("a page of the feed has 1 to 1000 changes, not %s", async (limit) => {
  const { status, body } = await kit.call("readChanges", { key: app.key, query: { limit } });
  const message = "must be a whole number from 1 to 1000";
  expect([status, body.issues]).toEqual([400, [{ path: "limit", message }]]);
});

test("what stores ask of the application reaches its destination", async () => {
  const onIos = await subscribers.onIos("asked-ios");
  const onAndroid = await subscribers.onAndroid("asked-android");
  await onIos({ change: "consumption-request", reason: "LEGAL" });
  await onIos({ change: "rescind-consent" });
  onAndroid({ change: "refund-review" });
  await advance("PT1M");
  const requests: StoreRequest[] = messages
    .filter(({ type }) => type === "store.request")
    .map(({ data }) => storeRequest().parse(data))
    .sort((a, b) => a.kind.localeCompare(b.kind));
  const application = { applicationIdentifier: app.identifier };
  const person = { applicationAccountIdentifier: "asked-ios", customerIdentifier: expect.any(String) };
  const nobody = { applicationAccountIdentifier: null, customerIdentifier: null, productIdentifier: null };
  const bought = { productIdentifier: "monthly", transactionIdentifier: expect.any(String) };
  expect(requests).toMatchObject([
    { ...application, ...person, ...bought, kind: "CONSUMPTION_REQUEST", reason: "LEGAL" },
    {
      ...application,
      ...nobody,
      kind: "pendingRefundReviewNotification",
      packageName: app.packageName,
      orderIdentifier: expect.stringMatching(/^GPA/),
      pendingRefundToken: expect.any(String),
    },
    { ...application, ...person, kind: "RESCIND_CONSENT", productIdentifier: null, answerBy: null },
  ]);
  const hoursLeft = requests.map(({ answerBy }) =>
    answerBy === null ? null : Math.round((Date.parse(answerBy) - kit.clock.now()) / HOUR),
  );
  expect(hoursLeft).toEqual([12, 24, null]);
});
