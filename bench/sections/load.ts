import { join } from "node:path";
import autocannon from "autocannon";
import { v7 as uuid } from "uuid";
import { bundle, entryOf, type FunctionFolder } from "../bundles.ts";
import { newDevice, signedRequest, subscription } from "../../testing/support/stores/signed-purchases.ts";
import { eventsOf, inFolder, invoke, runChain, serve, type BenchService } from "../service.ts";

const CONNECTIONS = [1, 4, 16, 64];
const SECONDS = 4;
const WARM_UP_CONNECTIONS = [1, 2, 4, 6, 8, 10, 16];
/** Per connection. */
const WARM_UP_REQUESTS = 6;
const NEW_CUSTOMERS = 1500;

type Request = Pick<autocannon.Request, "method" | "path" | "body" | "headers">;

const JSON_TYPE = { "Content-Type": "application/json" };

/** Body of a link for an unknown customer. */
const firstLinkBody = (): object => ({
  ...signedRequest(newDevice(), [subscription()], runChain()),
  applicationAccountIdentifier: uuid(),
});

const requestsOf = ({ apiKey, account, request }: BenchService): Record<string, () => Request[]> => {
  const authorized = { Authorization: `Bearer ${apiKey}` };
  return {
    read: () => [{ method: "GET", path: `/v1/customers/${account}/entitlements`, headers: authorized }],
    "synchronize, replayed": () => [
      {
        method: "POST",
        path: "/v1/customers/ios-store/synchronize",
        headers: JSON_TYPE,
        body: JSON.stringify(request),
      },
    ],
    "link, first time": () =>
      Array.from({ length: NEW_CUSTOMERS }, () => ({
        method: "POST",
        path: "/v1/customers/ios-store/link",
        headers: { ...JSON_TYPE, ...authorized },
        body: JSON.stringify(firstLinkBody()),
      })),
  };
};

const fire = async (
  address: string,
  requests: Request[],
  connections: number,
  until: { readonly duration: number } | { readonly amount: number },
): Promise<autocannon.Result> => {
  let next = 0;
  return autocannon({
    url: address,
    connections,
    ...until,
    timeout: 30,
    // All connections share one list, so that none sends a request again before all have been sent.
    requests: [{ setupRequest: (request) => ({ ...request, ...requests[next++ % requests.length] }) }],
  });
};

/** Starts all of the gateway's function environments, a few at a time, and waits until they answer. */
const warmUp = async (address: string, requests: Request[]): Promise<void> => {
  for (const connections of WARM_UP_CONNECTIONS)
    await fire(address, requests, connections, { amount: connections * WARM_UP_REQUESTS });
};

/** Latencies are in milliseconds. Errors are responses other than 2xx, timeouts, and broken connections. */
const loadRows = async (service: BenchService) => {
  const rows = [];
  for (const [name, requests] of Object.entries(requestsOf(service))) {
    await warmUp(service.address, requests());
    for (const connections of CONNECTIONS) {
      const result = await fire(service.address, requests(), connections, { duration: SECONDS });
      rows.push({
        request: name,
        connections,
        perSecond: result.requests.average,
        latency: { p50: result.latency.p50, p90: result.latency.p90, p99: result.latency.p99 },
        requests: result.requests.total,
        errors: result.errors + result.timeouts + result.non2xx,
      });
    }
  }
  return rows;
};

const HANDLERS: readonly {
  readonly request: string;
  readonly folder: FunctionFolder;
  readonly invocations: number;
  /** Makes each invocation's body; unset: all have the same. */
  readonly bodyOf?: () => object;
}[] = [
  { request: "authorize", folder: "authorize-credential", invocations: 1000 },
  { request: "read", folder: "read-account-entitlements", invocations: 2500 },
  { request: "synchronize, replayed", folder: "synchronize-ios-store-purchases", invocations: 1000 },
  { request: "link, first time", folder: "link-ios-store-customer", invocations: 600, bodyOf: firstLinkBody },
];
const WARM_UPS = 200;

/** One invocation from event to answer, including DynamoDB Local's responses; the CPU time is of all threads. */
const handlerRows = async (service: BenchService, folder: string) => {
  const rows = [];
  for (const { request, folder: name, invocations, bodyOf } of HANDLERS) {
    const { file } = await bundle(entryOf(name), join(folder, `${name}.cjs`));
    const event = eventsOf(service)[name];
    const sent = Array.from({ length: bodyOf === undefined ? 1 : 1 + WARM_UPS + invocations }, () => ({
      ...event,
      ...(bodyOf !== undefined && { body: JSON.stringify(bodyOf()) }),
    }));
    const timings = await invoke(service, { name, file }, sent, [WARM_UPS, invocations]);
    const { milliseconds, cpuMilliseconds } = timings;
    rows.push({ request, invocations, milliseconds, cpuMilliseconds });
  }
  return rows;
};

/** The service under load on the local gateway, and its functions without the gateway. */
export const measureLoad = () =>
  inFolder(async (folder) => {
    const service = await serve();
    try {
      const rows = await loadRows(service);
      return { seconds: SECONDS, rows, handlers: await handlerRows(service, folder) };
    } finally {
      await service.stop();
    }
  });
