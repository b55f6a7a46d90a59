import { spawn, type ChildProcess } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parse } from "yaml";
import { DEMO } from "../../local/demo.ts";
import { freePort } from "../../local/dynamodb-local.ts";
import { followPurchases, type FollowedPurchases } from "../support/followed-purchases.ts";
import { startWholeService, type WholeService } from "../../testing/support/local-gateway.ts";
import { operatorOf, type RunCommand } from "../support/local-operator.ts";

/** The tutorial's receiver, told by the whole service. */

let service: WholeService;
let followed: FollowedPurchases;
let folder: string;
let port: number;
let secret: string;
const printed: string[] = [];
const receivers: ChildProcess[] = [];

const [, RECEIVER = ""] =
  /^cat > receiver\.mjs <<'END'\n([^]*?)^END$/m.exec(readFileSync("docs/tutorial.md", "utf8")) ?? [];

let operator: RunCommand;

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

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "receiver-"));
  port = await freePort();
  writeFileSync(join(folder, "receiver.mjs"), RECEIVER.replace("listen(4000)", `listen(${port})`));
  service = await startWholeService({ destinations: "any", tell: (line) => void printed.push(line) });
  followed = followPurchases(service);
  operator = operatorOf(service, { DESTINATIONS: "any" });
  const shown = parse(await operator("application", "show", DEMO.applicationIdentifier));
  const manifest = join(folder, "demo.yaml");
  writeFileSync(
    manifest,
    JSON.stringify({
      ...shown,
      destinations: [...shown.destinations, { name: "backend", url: `http://127.0.0.1:${port}` }],
    }),
  );
  await operator("application", "apply", manifest, "--yes");
  ({ secret } = JSON.parse(
    await operator("destination", "rotate", DEMO.applicationIdentifier, "backend", "--json"),
  ));
  // The functions know an application for up to a minute.
  await followed.move({ advance: "PT2M" });
}, 120_000);

afterAll(async () => {
  for (const receiver of receivers) receiver.kill();
  await service?.stop();
  rmSync(folder, { recursive: true, force: true });
});

test("the tutorial's receiver gates a feature through purchase, renewal and refund; down for a day, it gets the newest", async () => {
  const { lines, process: first } = await receive();
  const change = await followed.onIos("user-1");
  await followed.move({ advance: "PT1M" });
  expect(lines).toEqual(["user-1: version 1, premium on"]);
  await followed.move({ advance: "P1M" });
  expect(lines).toEqual(["user-1: version 1, premium on", "user-1: version 2, premium on"]);

  first.kill();
  await followed.move({ advance: "P1M" });
  await change("refund");
  await followed.move({ advance: "P1D" });
  const back = await receive();
  await followed.move({ advance: "P1D" });
  // A renewal and a refund were missed; the newest state is told.
  expect(back.lines).toEqual(["user-1: version 4, premium off"]);
  // The demo's own destination got every version.
  expect(printed.filter((line) => line.includes("user-1"))).toHaveLength(4);
}, 180_000);

test("the feed has every version of the last 30 days", async () => {
  const response = await fetch(`${service.address}/v1/changes?limit=1000`, {
    headers: { Authorization: `Bearer ${service.demo.apiKey}` },
  });
  const { changes } = (await response.json()) as { changes: { version: number }[] };
  expect(response.status).toBe(200);
  expect(changes.map(({ version }) => version)).toEqual([3, 4]);
});
