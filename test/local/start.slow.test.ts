import { DynamoDBClient, ListTablesCommand } from "@aws-sdk/client-dynamodb";
import getPort from "get-port";
import { spawn, type ChildProcess } from "node:child_process";
import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import { connect } from "node:net";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { ANY_CREDENTIALS, ANY_REGION } from "../../local/database/dynamodb-local.ts";
import { close, listen } from "../../local/server.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const START = fileURLToPath(new URL("../../local/start.ts", import.meta.url));

const running = new Set<ChildProcess>();
afterAll(() => {
  for (const child of running) child.kill("SIGKILL");
});
const folder = temporaryFolder();

interface Ended {
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

interface Run {
  readonly child: ChildProcess;
  readonly ended: Promise<Ended>;
  /** Its standard output up to the line that says it is ready. */
  readonly ready: Promise<string>;
}

/** Variables of this process that a run is given: where programs are, and what makes them start faster. */
const OWN = ["PATH", "JDK_JAVA_OPTIONS", "NODE_COMPILE_CACHE"];

/** Runs what `npm start` runs, with a temporary folder of its own. */
const start = (environment: Readonly<Record<string, string>>, ...args: string[]): Run => {
  const child = spawn(process.execPath, [START, ...args], {
    env: {
      ...Object.fromEntries(OWN.map((name) => [name, process.env[name]])),
      TMPDIR: folder,
      ...environment,
    },
    stdio: ["ignore", "pipe", "pipe"],
  });
  running.add(child);
  let stdout = "";
  let stderr = "";
  const { promise: ready, resolve, reject } = Promise.withResolvers<string>();
  ready.catch(() => undefined);
  child.stdout?.on("data", (chunk: Buffer) => {
    stdout += chunk.toString();
    if (/^ready /m.test(stdout)) resolve(stdout);
  });
  child.stderr?.on("data", (chunk: Buffer) => (stderr += chunk.toString()));
  const ended = new Promise<Ended>((settle) =>
    child.once("close", (exitCode) => {
      running.delete(child);
      reject(new Error(`It ended before it was ready: ${stderr}`));
      settle({ exitCode, stdout, stderr });
    }),
  );
  return { child, ended, ready };
};

const answers = async (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1");
    socket.once("connect", () => {
      socket.destroy();
      resolve(true);
    });
    socket.once("error", () => resolve(false));
  });

const ports = async () => ({ PORT: String(await getPort()), DYNAMODB_PORT: String(await getPort()) });

/** Leftovers of a run: ports that answer, and temporary folders. */
const leftBy = async (environment: Readonly<Record<"PORT" | "DYNAMODB_PORT", string>>): Promise<string[]> => {
  const answering = await Promise.all(
    Object.values(environment).map(async (port) => ((await answers(Number(port))) ? [port] : [])),
  );
  const folders = readdirSync(folder).filter((name) => name.startsWith("entitlements-"));
  return [...answering.flat(), ...folders];
};

/** The value after a word at the start of a line. */
const printed = (output: string, word: string): string =>
  new RegExp(`^${word} +(\\S+)`, "m").exec(output)?.[1] ?? "";

const endOf = async ({ ended }: Run) => {
  const { exitCode, stderr } = await ended;
  return { exitCode, sentences: stderr.trimEnd().split("\n") };
};

const refusal = (sentence: RegExp) => ({ exitCode: 1, sentences: [expect.stringMatching(sentence)] });

test("it serves, stops with exit code 0, and restarts with its data", async () => {
  const environment = await ports();
  const data = join(folder, "data");

  const first = start(environment, "--data", data);
  const output = await first.ready;
  const address = `http://127.0.0.1:${environment.PORT}`;
  expect(output.trimEnd().split("\n").at(-1)).toBe(`ready ${address}`);
  expect(printed(output, "Table")).toBe("customer-entitlements");
  expect(statSync(join(data, "sandbox-ios-store.json")).mode & 0o077).toBe(0);
  const apiKey = printed(output, "API key");
  const ask = async (path: string, body?: object): Promise<ReturnType<typeof JSON.parse>> => {
    const headers = { Authorization: `Bearer ${apiKey}` };
    const sent = body && { method: "POST", body: JSON.stringify(body) };
    return (await fetch(address + path, { headers, ...sent })).json();
  };
  const bought = await ask("/sandbox/ios-store/purchases", {
    applicationAccountIdentifier: "somebody",
    transactions: [{ productIdentifier: "com.example.demo.offline_maps", type: "Non-Consumable" }],
  });
  const link = async () => ask("/v1/customers/ios-store/link", bought);
  const linked = await link();
  expect(linked.entitlements).toHaveLength(1);
  const soldOnAndroid = async (): Promise<string[]> => {
    const { purchases } = await ask("/sandbox/android-publisher/purchases");
    return purchases.map(({ purchaseToken }: { purchaseToken: string }) => purchaseToken);
  };
  const sold = await soldOnAndroid();
  expect(sold).toHaveLength(1);
  first.child.kill("SIGTERM");
  expect(await first.ended).toMatchObject({ exitCode: 0, stderr: "" });
  expect(await leftBy(environment)).toEqual([]);

  const second = start(environment, `--data=${data}`);
  expect(printed(await second.ready, "API key")).toBe(apiKey);
  const third = await ports();
  expect(await endOf(start(third, "--data", data))).toEqual(
    refusal(
      new RegExp(
        `^The data folder ${data} is in use by process ${second.child.pid}\\. Stop it, or pass another --data\\. If that process is not this service, delete ${data}/\\.in-use-by\\.$`,
      ),
    ),
  );
  expect(await answers(Number(third.DYNAMODB_PORT))).toBe(false);
  expect(await soldOnAndroid()).toEqual(expect.arrayContaining(sold));
  expect(statSync(join(data, "sandbox-android-store-purchases.json")).mode & 0o077).toBe(0);
  const { customerIdentifier } = linked;
  expect(await link()).toMatchObject({ customerIdentifier });
  expect(await ask("/v1/customers/somebody/entitlements")).toMatchObject({
    customerIdentifiers: [customerIdentifier],
  });
  second.child.kill("SIGINT");
  expect(await second.ended).toMatchObject({
    exitCode: 0,
    stderr: "",
    stdout: expect.stringMatching(/^GET \/v1\/customers\/somebody\/entitlements 200 \d+ ms$/m),
  });
  expect(await leftBy(environment)).toEqual([]);
}, 240_000);

const leftovers = temporaryFolder();

/** Process of the database that a data folder's lock names. */
const databaseOf = (data: string): number =>
  Number(readFileSync(join(data, ".in-use-by"), "utf8").split("\n")[1]);

test("an exported address is used; a killed run's database is found", async () => {
  // What a killed run leaves besides is not looked for: its temporary folder.
  const own = { ...(await ports()), TMPDIR: leftovers };
  const environment = { ...own, AWS_ENDPOINT_URL_DYNAMODB: `http://127.0.0.1:${own.DYNAMODB_PORT}` };
  const data = join(folder, "killed");
  const first = start(environment, "--data", data);
  expect(printed(await first.ready, "Table")).toBe("customer-entitlements");
  first.child.kill("SIGKILL");
  await first.ended;
  const database = databaseOf(data);
  expect(await answers(Number(own.DYNAMODB_PORT))).toBe(true);

  expect(await endOf(start(await ports(), "--data", data))).toEqual(
    refusal(
      new RegExp(
        `^An earlier run was killed, and its DynamoDB Local \\(process ${database}\\) still uses the data folder ${data}; end it with kill ${database}, and start again\\.$`,
      ),
    ),
  );
  process.kill(database);
  while (await answers(Number(own.DYNAMODB_PORT))) await sleep(50);
  const next = start(environment, "--data", data);
  await next.ready;
  expect(databaseOf(data)).not.toBe(database);
  next.child.kill("SIGTERM");
  await next.ended;

  writeFileSync(join(data, "dynamodb", "shared-local-instance.db"), "no database");
  expect(await endOf(start(own, "--data", data))).toEqual(
    refusal(new RegExp(`^The database in ${data}/dynamodb is damaged; restore it, remove that folder `)),
  );
  expect(readdirSync(data)).not.toContain(".in-use-by");
}, 240_000);

const hasTable = async (port: number): Promise<boolean> => {
  const client = new DynamoDBClient({
    endpoint: `http://127.0.0.1:${port}`,
    region: ANY_REGION,
    credentials: ANY_CREDENTIALS,
  });
  const listing = client.send(new ListTablesCommand({})).finally(() => client.destroy());
  return listing.then(
    ({ TableNames = [] }) => TableNames.length > 0,
    () => false,
  );
};

test.each([
  ["database answers", answers],
  ["table is made", hasTable],
])(
  "Ctrl-C before it is ready, when its %s, stops everything it started",
  async (_, isSo) => {
    const environment = await ports();
    const { child, ended } = start(environment);
    while (!(await isSo(Number(environment.DYNAMODB_PORT)))) expect(child.exitCode).toBeNull();
    child.kill("SIGINT");
    expect((await ended).exitCode).toBe(0);
    expect(await leftBy(environment)).toEqual([]);
  },
  60_000,
);

/** A server on a free port, until the test ends. */
const serving = async (server: Server): Promise<number> => {
  const port = await listen(server, 0);
  servers.push(server);
  return port;
};
const servers: Server[] = [];
afterEach(() => Promise.all(servers.splice(0).map(close)));

/** A DynamoDB that lists its tables, and denies everything else. */
const denying = createServer((request, response) => {
  const isListing = request.headers["x-amz-target"]?.toString().endsWith(".ListTables");
  const denied = JSON.stringify({ __type: "com.amazon.coral.service#AccessDeniedException" });
  response.writeHead(isListing ? 200 : 400, { "Content-Type": "application/x-amz-json-1.0" });
  response.end(isListing ? '{"TableNames":[]}' : denied);
});

const databaseAt = (port: number) => ({ AWS_ENDPOINT_URL_DYNAMODB: `http://127.0.0.1:${port}` });
const inAFile = join(folder, "a-file", "data");

test.each<[obstacle: string, () => Promise<Record<string, string>>, sentence: RegExp, args?: string[]]>([
  [
    "PORT is taken",
    async () => ({ PORT: String(await serving(createServer())) }),
    /^Port \d+ is taken; stop what uses it, or choose another with PORT=<port>\./,
  ],
  [
    "DYNAMODB_PORT is taken",
    async () => ({ DYNAMODB_PORT: String(await serving(createServer())) }),
    /^Port \d+ is taken; stop what uses it \(.+\), or choose another with DYNAMODB_PORT=<port>\./,
  ],
  [
    "the data folder cannot be written",
    async () => {
      writeFileSync(dirname(inAFile), "");
      return {};
    },
    /^The data folder .+ cannot be written \(ENOTDIR\); choose another with --data <folder>\.$/m,
    ["--data", inAFile],
  ],
  [
    "neither Java nor Docker",
    async () => ({ PATH: folder }),
    /^DynamoDB Local needs Java 17 or later, or a running Docker; neither was found\. Install .+, or set AWS_ENDPOINT_URL_DYNAMODB /,
  ],
  [
    "the given DynamoDB does not answer",
    async () => databaseAt(await getPort()),
    /^No DynamoDB answers at http:\/\/127\.0\.0\.1:\d+ \(ECONNREFUSED\); start it, /,
  ],
  [
    "the given DynamoDB does not allow creating a table",
    async () => databaseAt(await serving(denying)),
    /^The DynamoDB at http:\/\/127\.0\.0\.1:\d+ did not let the table be prepared \(AccessDeniedException\); /,
  ],
])("%s: it ends with exit code 1 and one sentence", async (_, obstacle, sentence, args = []) => {
  const own = await ports();
  expect(await endOf(start({ ...own, ...(await obstacle()) }, ...args))).toEqual(refusal(sentence));
  expect(await leftBy(own)).toEqual([]);
});
