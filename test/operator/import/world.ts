import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text as textOf } from "node:stream/consumers";
import { v7 as uuid } from "uuid";
import { createCustomerTable } from "../../../lib/table/customers/customers.ts";
import { purchaseKeyOfToken } from "../../../lib/stores/android-store/purchase-token.ts";
import { applicationId, purchaseKey } from "../../../lib/identifiers.ts";
import { originOf } from "../../../lib/stores/android-store/workload-identity.ts";
import { close, listen } from "../../../local/server.ts";
import { createAndroidPublisherSandbox } from "../../../sandbox/android-store/publisher.ts";
import {
  sellPersons,
  writeExport,
  type ExportOptions,
  type Format,
  type Person,
} from "../../../sandbox/exports/exports.ts";
import type { PlanOptions } from "../../../sandbox/exports/persons.ts";
import { createIosStoreSandbox } from "../../../sandbox/ios-store/ios-store.ts";
import { fingerprintOf, makeChain } from "../../../sandbox/ios-store/signing.ts";
import { manifestFrom, saveApplication } from "../../../testing/application.ts";
import { APPLE_ID } from "../../../testing/support/ios-store.ts";
import { NOW } from "../../../testing/support/purchases.ts";
import { createTestTable } from "../../../testing/support/table.ts";
import { CATALOGS, PRODUCTS } from "./catalogs.ts";
import { operate } from "./run-operator.ts";

const chain = makeChain();
/** Who has each purchase, and what its store said of it, whenever that was. */
const stateOf = async (
  table: Awaited<ReturnType<typeof createTestTable>>,
  application: ReturnType<typeof applicationId>,
  persons: readonly Person[],
) => {
  const customers = createCustomerTable(table, async () => undefined);
  const references = persons.map(({ store, environment, ios, android }) => ({
    store,
    environment,
    key:
      ios === null
        ? purchaseKeyOfToken(android?.purchaseToken ?? "")
        : purchaseKey(ios.originalTransactionIdentifier),
  }));
  const { purchases } = await customers.findFacts(application, [], references, Date.now());
  const { living } = await customers.findCustomers(
    application,
    [...purchases.values()].map(({ customer }) => customer),
  );
  const said = [...purchases].map(([reference, { purchase, customer }]) => ({
    reference,
    account: living.get(customer)?.link?.account ?? null,
    assertedBy: living.get(customer)?.link?.assertedBy ?? null,
    lines: purchase.lines.map((line) => ({
      ...line,
      verifiedAt: 0,
      revokedSince: line.revokedSince === null ? null : 0,
    })),
  }));
  return said.sort((a, b) => (a.reference < b.reference ? -1 : 1));
};

const SECRET = "trails/app-store-key";

/** Sandbox stores that persons have bought in, an application that may ask them, and a folder for exports. */
export const createImportWorld = async (plan: Pick<PlanOptions, "count" | "seed"> & Partial<PlanOptions>) => {
  const { at = NOW } = plan;
  const startedAt = Date.now();
  const now = (): number => at + (Date.now() - startedAt);
  const table = await createTestTable();
  const folder = mkdtempSync(join(tmpdir(), "import-"));
  const identifier = applicationId(uuid());
  const app = `com.example.t${identifier.replaceAll("-", "")}`;
  const catalogs = {
    "ios-store": { ...CATALOGS["ios-store"], app },
    "android-store": { ...CATALOGS["android-store"], app },
  };
  const ios = createIosStoreSandbox({
    prefix: "/apple",
    signer: chain,
    bundleIdentifier: app,
    appAppleIdentifier: APPLE_ID,
    now,
    notificationUrl: null,
    saved: null,
  });
  const android = createAndroidPublisherSandbox({ now, prefix: "/google" });
  let secretsRead = 0;
  const server = createServer((request, response) => {
    void (async () => {
      if (await ios.handle(request, response)) return;
      if (await android.handle(request, response)) return;
      if (request.headers["x-amz-target"] !== "secretsmanager.GetSecretValue") {
        response.writeHead(404).end();
        return;
      }
      secretsRead += 1;
      const { SecretId } = JSON.parse(await textOf(request)) as { SecretId: string };
      const found = SecretId === SECRET;
      response.writeHead(found ? 200 : 400, { "content-type": "application/x-amz-json-1.1" });
      response.end(
        JSON.stringify(
          found ? { SecretString: ios.serverKey.privateKey } : { __type: "ResourceNotFoundException" },
        ),
      );
    })();
  });
  const address = `http://127.0.0.1:${await listen(server, 0)}`;
  const persons = await sellPersons({ ios, android }, { ...plan, at, catalogs });
  const { issuerIdentifier, keyIdentifier } = ios.serverKey;
  const manifest = manifestFrom(
    {
      // An import moves nobody all the same.
      application: { identifier, name: "Trails", transfers: "always" },
      stores: {
        "ios-store": [
          {
            bundleIdentifier: app,
            appAppleIdentifier: APPLE_ID,
            environments: ["production", "sandbox"],
            serverApi: { issuerIdentifier, keyIdentifier, secret: SECRET },
          },
        ],
        "android-store": [
          {
            packageName: app,
            environments: ["production", "sandbox"],
            credential: { workloadIdentity: android.externalAccount(`${address}/google`) },
          },
        ],
      },
      entitlements: { premium: {} },
      products: PRODUCTS,
    },
    originOf(`${address}/google`),
  );
  const environmentOf = ({ name }: Pick<typeof table, "name">) => ({
    TABLE_NAME: name,
    APP_STORE_SERVER_URL: `${address}/apple`,
    ANDROID_PUBLISHER_URL: `${address}/google`,
    IOS_STORE_TRUSTED_ROOTS: fingerprintOf(chain.root),
    AWS_ENDPOINT_URL_SECRETS_MANAGER: address,
    AWS_ENDPOINT_URL_STS: "",
  });
  /** The application on a table, and the import commands on it at a high rate. */
  const placeOn = async (place: typeof table) => {
    await saveApplication(place, manifest);
    const environment = environmentOf(place);
    return {
      environment,
      items: async () => place.items(identifier),
      state: async () => stateOf(place, identifier, persons),
      run: async (paths: readonly string[], ...words: readonly string[]) =>
        operate(
          ["import", "run", ...paths, "--application", identifier, "--rate", "1000", "--json", ...words],
          environment,
          now,
        ),
      operate: async (...words: readonly string[]) => operate(words, environment, now),
    };
  };
  const others: (typeof table)[] = [];
  let exports = 0;
  return {
    identifier,
    app,
    table,
    ios,
    android,
    persons,
    now,
    folder,
    ...(await placeOn(table)),
    /** The same application and stores, on an empty table. */
    onNewTable: async () => {
      const other = await createTestTable();
      others.push(other);
      return placeOn(other);
    },
    /** Writes an export of some persons into a folder of its own. */
    export: async (format: Format, options: Partial<ExportOptions> = {}, of: readonly Person[] = persons) => {
      exports += 1;
      return writeExport(join(folder, `export-${exports}`), of, format, { at, ...options });
    },
    /** Writes a file. */
    write: (name: string, content: string): string => {
      writeFileSync(join(folder, name), content);
      return join(folder, name);
    },
    secretsRead: () => secretsRead,
    read: (path: string): string => readFileSync(path, "utf8"),
    stop: async () => {
      await close(server);
      for (const one of [table, ...others]) await one.remove();
      rmSync(folder, { recursive: true });
    },
  };
};
export type ImportWorld = Awaited<ReturnType<typeof createImportWorld>>;
