import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { v7 as uuid } from "uuid";
import { DAY, HOUR } from "../../lib/duration.ts";
import { isWebhook } from "../../lib/applications/application.ts";
import type { Delivery } from "../../lib/delivery/delivery-queue.ts";
import type { QueueHealth } from "../../lib/queues/health.ts";
import type { Instant } from "../../lib/entitlements/time.ts";
import { applicationId, type ApplicationId } from "../../lib/identifiers.ts";
import { createApplicationTable } from "../../lib/table/applications/applications.ts";
import { write } from "../../lib/table/dynamodb/writes.ts";
import { createDeliveryQueue, requestDelivery } from "../../lib/table/telling/delivery-queue.ts";
import { createTestTable, type TestTable } from "../../testing/support/table/table.ts";
import { masterSecretName, keyedHash } from "../../lib/delivery/webhook-secret.ts";
import { tellChanges } from "../../lib/telling/tell-changes.ts";
import { createSecretsManager } from "../../local/aws.ts";
import { close, listen } from "../../local/server.ts";
import type { EnvironmentVariables } from "../../operator/connection.ts";
import type { World } from "../../operator/program.ts";
import { byCredential, createWorld, owned, tellingOf } from "../../testing/support/world.ts";
import { NOW } from "../../testing/support/stores/purchases.ts";
import { operate } from "./run-operator.ts";

export const MASTER = "a master secret that only these tests have";
const master = new TextEncoder().encode(MASTER);

export const BACKEND = { name: "backend", url: "https://api.example.com/hooks" };
export const BUS = {
  name: "bus",
  eventBus: "arn:aws:events:eu-central-1:123456789012:event-bus/entitlements",
};

const pause = () => Promise.resolve();

/** The operator's program on a table, with a Secrets Manager that holds the table's master secret. */
const startOperator = async (table: TestTable) => {
  const secrets = new Map([
    [masterSecretName(table.name), MASTER],
    ["short", "short"],
    ["elsewhere", `${MASTER} of another stage`],
  ]);
  const secretsManager = createSecretsManager(null, "us-east-1", (name) => secrets.get(name));
  const server = createServer((request, response) => {
    void secretsManager(request, response).then((isAnswered) => isAnswered || response.writeHead(404).end());
  });
  const endpoint = `http://127.0.0.1:${await listen(server, 0)}`;
  const folder = await mkdtemp(join(tmpdir(), "operator-"));
  const own = { TABLE_NAME: table.name, AWS_ENDPOINT_URL_SECRETS_MANAGER: endpoint };
  /** @param line a command line whose words have no spaces, or its words */
  const run = (
    line: string | readonly string[],
    { environment, moment = NOW, ...world }: Partial<World> & { readonly moment?: Instant } = {},
  ) =>
    operate(typeof line === "string" ? line.split(" ") : line, {
      environment: { ...own, ...environment },
      now: () => moment,
      wait: pause,
      ...world,
    });
  return {
    /** Its endpoint. */
    secretsManager: endpoint,
    run,
    /** Applies a manifest: its fields, or its text. */
    apply: async (
      manifest: object | string,
      environment: EnvironmentVariables = {},
      words: readonly string[] = ["--yes"],
    ) => {
      const file = join(folder, `${uuid()}.yaml`);
      await writeFile(file, typeof manifest === "string" ? manifest : JSON.stringify(manifest));
      return run(["application", "apply", file, ...words], { environment });
    },
    stop: async () => {
      await close(server);
      await rm(folder, { recursive: true });
    },
  };
};

/** Sets up one table and operator for all tests of the file, and removes them afterwards. Read the fields in tests only. */
export const withOperator = () => {
  let table: TestTable;
  let operator: Awaited<ReturnType<typeof startOperator>>;
  beforeAll(async () => {
    table = await createTestTable();
    operator = await startOperator(table);
  });
  afterAll(async () => {
    await operator.stop();
    await table.remove();
  });
  return {
    get table() {
      return table;
    },
    get operator() {
      return operator;
    },
  };
};

/** One table and the operator's program on it, for all tests of a file. */
export type Given = ReturnType<typeof withOperator>;

export const PRODUCTS = [{ store: "ios-store", productIdentifier: "monthly", grants: ["premium"] }];

/** An entry of the audit, as `--json` shows it. */
interface Entry {
  readonly action: string;
  readonly moment: string;
  readonly caller: string | null;
  readonly customer: string | null;
  readonly what: readonly string[];
  readonly accounts: readonly string[];
}

/** An application of the table that is told of changes, as an operator has applied it. */
export const anApplication = async (
  { operator: { apply, run: operate }, table }: Given,
  destinations: readonly object[] = [BACKEND],
) => {
  const identifier = applicationId(uuid());
  const applications = createApplicationTable(table);
  const queue = createDeliveryQueue(table);
  const reference = (destination = "backend") => ({ application: identifier, destination });
  /** What waits for a destination. */
  const deliveries = async (destination?: string): Promise<readonly Delivery[]> => {
    const all: Delivery[] = [];
    for await (const page of queue.waiting(reference(destination), 100)) all.push(...page);
    return all;
  };
  const configure = (
    configured: readonly object[],
    {
      keepsChanges = false,
      products = PRODUCTS,
    }: { keepsChanges?: boolean; products?: readonly object[] } = {},
  ) =>
    apply({
      application: { identifier, name: "Trails", keepsChanges },
      destinations: configured,
      stores: { "ios-store": [{ bundleIdentifier: `com.example.${identifier}`, environments: ["sandbox"] }] },
      entitlements: { premium: {}, gold: {} },
      products,
    });
  const applied = await configure(destinations);
  if (applied.code !== 0) throw new Error(applied.err);
  const load = async () => {
    const application = await applications.load(identifier);
    if (application === null) throw new Error("no application");
    return application;
  };
  /** Runs a command line, in which APPLICATION stands for its identifier. */
  const run = (line: string, options: Parameters<typeof operate>[1] = {}) =>
    operate(line.replaceAll("APPLICATION", identifier), options);
  const json = async (line: string, options: Parameters<typeof operate>[1] = {}) =>
    (await run(`${line} --json`, options)).json();
  const tell = async (moment: Instant = NOW): Promise<void> => {
    const hash = async (of: ApplicationId, account: string) => keyedHash(master, of, account);
    await tellChanges({ ...tellingOf(table, identifier, load, hash), now: () => moment }, Infinity);
  };
  /** With what the table says of it now. */
  const world = async () => createWorld(table, { application: await load() });
  return {
    identifier,
    configure,
    run,
    world,
    /** Tells what is due at the moment. */
    tell,
    /** Each account buys a purchase of its name, and is told of it, an hour after the one before. */
    sellTo: async (...accounts: readonly string[]) => {
      const selling = await world();
      for (const [index, account] of accounts.entries()) {
        await selling.store({ purchases: [owned(account)] }, byCredential(account));
        await tell(NOW + index * HOUR);
      }
      return selling;
    },
    /** Stores a destination's health as a deliverer does. */
    heal: async (health: QueueHealth, destination?: string): Promise<void> => {
      await queue.take(reference(destination), { worker: "worker", until: NOW + 1 }, NOW);
      await queue.release(reference(destination), { worker: "worker" }, health);
    },
    queue,
    reference,
    deliveries,
    /** Versions that wait for a destination, by account. */
    waiting: async (destination?: string) =>
      Object.fromEntries(
        (await deliveries(destination)).flatMap((one) =>
          one.kind === "account" ? [[one.account, one.version]] : [],
        ),
      ),
    /** Lets a store's request wait for the destinations. */
    request: async (request: string, data: object, ...destinations: readonly string[]): Promise<void> => {
      const message = { identifier: request, type: "store.request", timestamp: NOW, data };
      for (const destination of destinations)
        await write(table, requestDelivery(reference(destination), { message, until: NOW + DAY }));
    },
    json,
    /** The audit, the oldest entry first. */
    audit: async () => (await json("application audit APPLICATION"))["audit"] as readonly Entry[],
    /** The destination `backend`. */
    webhook: async () => {
      const webhook = (await load()).destinations.find(isWebhook);
      if (webhook === undefined) throw new Error("no webhook");
      return webhook;
    },
    /** Items of the application whose partition key contains the text. */
    itemsOf: async (text: string) =>
      (await table.items()).filter(({ pk }) => String(pk).includes(identifier) && String(pk).includes(text)),
  };
};

export type ToldApplication = Awaited<ReturnType<typeof anApplication>>;

/** An application, and a customer of its account a with a current purchase. */
export const sold = async (given: Given, destinations: readonly object[] = [BACKEND]) => {
  const application = await anApplication(given, destinations);
  const world = await application.world();
  const customer = await world.store({ purchases: [owned("1")] }, byCredential("a"));
  return { application, world, customer };
};
