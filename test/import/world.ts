import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text as textOf } from "node:stream/consumers";
import { v7 as uuid } from "uuid";
import { applicationId } from "../../lib/identifiers.ts";
import { originOf } from "../../lib/stores/android-store/workload-identity.ts";
import { close, listen } from "../../local/server.ts";
import { createAndroidPublisherSandbox } from "../../sandbox/android-store/publisher.ts";
import { sellPersons, writeExport, type ExportOptions, type Format, type Person } from "../../sandbox/exports/exports.ts";
import type { PlanOptions } from "../../sandbox/exports/persons.ts";
import { createIosStoreSandbox } from "../../sandbox/ios-store/ios-store.ts";
import { fingerprintOf, makeChain } from "../../sandbox/ios-store/signing.ts";
import { manifestFrom, saveApplication } from "../../testing/application.ts";
import { APPLE_ID } from "../../testing/support/ios-store.ts";
import { NOW } from "../../testing/support/purchases.ts";
import { createTestTable } from "../../testing/support/table.ts";
import { CATALOGS, PRODUCTS } from "./catalogs.ts";
import { operate } from "./run-operator.ts";

const chain = makeChain();
const SECRET = "trails/app-store-key";

/** Sandbox stores that persons have bought in, an application that may ask them, and a folder for exports. */
export const createImportWorld = async (plan: Pick<PlanOptions, "count" | "seed"> & Partial<PlanOptions>) => {
  const startedAt = Date.now();
  const now = (): number => NOW + (Date.now() - startedAt);
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
        JSON.stringify(found ? { SecretString: ios.serverKey.privateKey } : { __type: "ResourceNotFoundException" }),
      );
    })();
  });
  const address = `http://127.0.0.1:${await listen(server, 0)}`;
  const persons = await sellPersons({ ios, android }, { at: NOW, catalogs, ...plan });
  const { issuerIdentifier, keyIdentifier } = ios.serverKey;
  await saveApplication(
    table,
    manifestFrom(
      {
        application: { identifier, name: "Trails" },
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
    ),
  );
  const environment = {
    TABLE_NAME: table.name,
    APP_STORE_SERVER_URL: `${address}/apple`,
    ANDROID_PUBLISHER_URL: `${address}/google`,
    IOS_STORE_TRUSTED_ROOTS: fingerprintOf(chain.root),
    AWS_ENDPOINT_URL_SECRETS_MANAGER: address,
    AWS_ENDPOINT_URL_STS: "",
  };
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
    environment,
    /** Items of the application, without what every run has of its own. */
    items: async () => table.items(identifier),
    /** Writes an export of some persons into a folder of its own. */
    export: async (format: Format, options: Partial<ExportOptions> = {}, of: readonly Person[] = persons) => {
      exports += 1;
      return writeExport(join(folder, `export-${exports}`), of, format, { at: NOW, ...options });
    },
    /** Runs an import command at a high rate. */
    run: async (paths: readonly string[], ...words: readonly string[]) =>
      operate(
        ["import", "run", ...paths, "--application", identifier, "--rate", "1000", "--json", ...words],
        environment,
        now,
      ),
    operate: async (...words: readonly string[]) => operate(words, environment, now),
    secretsRead: () => secretsRead,
    read: (path: string): string => readFileSync(path, "utf8"),
    stop: async () => {
      await close(server);
      await table.remove();
      rmSync(folder, { recursive: true });
    },
  };
};
export type ImportWorld = Awaited<ReturnType<typeof createImportWorld>>;
