import { createGateway } from "../../local/gateway/gateway.ts";
import { createAndroidPublisherSandbox } from "../../sandbox/android-store/publisher.ts";
import { fingerprintOf, makeChain } from "../../sandbox/ios-store/signing.ts";
import { createCredentialTable } from "../../lib/table/applications/credentials.ts";
import { assemblyOf, SERVICE_APP } from "./local-gateway.ts";
import { undocumented } from "./openapi.ts";
import { serve } from "./serve.ts";
import { applicationsOf, type Answer, type SendOptions } from "./service-application.ts";
import { startRoleGate } from "./table/role-gate.ts";
import { createTestTable } from "./table/table.ts";

export { PRODUCTS, type Answer, type TestApplication } from "./service-application.ts";

const ANDROID_PREFIX = "/sandbox/android-publisher";

/** The whole service on a table of its own, as `npm start` runs it, without the demo. */
export const startTestService = async (environment: Record<string, string> = {}) => {
  const table = await createTestTable();
  const assembly = await assemblyOf(SERVICE_APP);
  const roles = await startRoleGate(assembly, process.env["AWS_ENDPOINT_URL_DYNAMODB"] ?? "");
  const chain = makeChain();
  const android = createAndroidPublisherSandbox({ now: Date.now, prefix: ANDROID_PREFIX });
  const log: string[] = [];
  const output: string[] = [];
  const requests: string[] = [];
  const { address, stop } = await serve(async (request, response) => {
    if (!(await android.handle(request, response))) await gateway.handle(request, response);
  });
  const androidRoot = `${address}${ANDROID_PREFIX}`;
  const gateway = createGateway({
    assembly,
    region: "us-east-1",
    tableName: table.name,
    environment: {
      AWS_ENDPOINT_URL_DYNAMODB: roles.endpoint,
      ANDROID_PUBLISHER_URL: androidRoot,
      IOS_STORE_TRUSTED_ROOTS: fingerprintOf(chain.root),
      ...environment,
    },
    log: (line) => void log.push(line),
    output: (line) => void output.push(line),
    onRequest: (line) => void requests.push(line),
  });

  const send = async (
    method: string,
    path: string,
    { key, body, headers }: SendOptions = {},
  ): Promise<Answer> => {
    const response = await fetch(`${address}${path}`, {
      method,
      headers: {
        ...(key !== undefined && { Authorization: `Bearer ${key}` }),
        ...(body !== undefined && { "Content-Type": "application/json" }),
        ...headers,
      },
      ...(body !== undefined && {
        body: typeof body === "string" || body instanceof Uint8Array ? body : JSON.stringify(body),
      }),
    });
    const answered = JSON.parse(await response.text()) as Answer["body"];
    const wrong = undocumented(method, path, response.status, answered);
    if (wrong.length > 0) throw new Error(`The answer is not as documented: ${wrong.join("; ")}`);
    return { status: response.status, headers: response.headers, body: answered };
  };

  return {
    address,
    table,
    credentials: createCredentialTable(table),
    chain,
    android,
    /** Standard error of the functions. */
    log,
    /** Standard output of the functions: their log and metrics. */
    output,
    /** The readable line of each request. */
    requests,
    send,
    askGoogle: () => gateway.invoke("RefreshAndroidStorePurchases"),
    deliverMessages: () => gateway.invoke("DeliverMessages"),
    watchNotifications: () => gateway.invoke("WatchNotifications"),
    application: applicationsOf({
      table,
      chain,
      android,
      androidRoot,
      destinations: environment["DESTINATIONS"],
      send,
    }),
    stop: async () => {
      await stop();
      await gateway.stop();
      await roles.stop();
      await table.remove();
      // No function tried what its role does not allow.
      expect(roles.denied).toEqual([]);
    },
  };
};

export type TestService = Awaited<ReturnType<typeof startTestService>>;
