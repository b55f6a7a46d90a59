import { IncomingMessage, ServerResponse } from "node:http";
import { Socket } from "node:net";
import type { APIGatewayProxyEvent } from "aws-lambda";
import type { EndpointName } from "../../../lib/contract/endpoints.ts";
import type { Instant } from "../../../lib/entitlements/time.ts";
import { startTestStores, type TestStores } from "../../../testing/stores.ts";
import type { Mount } from "../../../sandbox/routes.ts";
import { randomFrom } from "../../../sandbox/exports/plan.ts";

/** A response that is kept instead of sent. */
class KeptResponse extends ServerResponse {
  readonly kept = Promise.withResolvers<Response>();
  readonly #head: { status: number; readonly headers: Headers } = { status: 200, headers: new Headers() };

  override writeHead(status: number, ...parts: readonly unknown[]): this {
    this.#head.status = status;
    for (const headers of parts)
      if (typeof headers === "object" && headers !== null)
        for (const [name, value] of Object.entries(headers)) this.#head.headers.set(name, String(value));
    return this;
  }

  override end(...parts: readonly unknown[]): this {
    const [body] = parts;
    const text = typeof body === "string" || Buffer.isBuffer(body) ? body.toString() : null;
    this.kept.resolve(new Response(text, this.#head));
    return this;
  }
}

/** A `fetch` that a mount answers in this process. No connection is opened. */
const fetchFrom =
  (mount: Mount): typeof fetch =>
  async (input, init) => {
    const asked = new Request(input, init);
    const { pathname, search } = new URL(asked.url);
    const request = new IncomingMessage(new Socket());
    request.method = asked.method;
    request.url = pathname + search;
    request.headers = Object.fromEntries(asked.headers);
    request.push(await asked.text());
    request.push(null);
    const response = new KeptResponse(request);
    if (!(await mount(request, response))) response.writeHead(404).end();
    return response.kept.promise;
  };

/** Failures of a request to a store. The clients give up a request that hangs by themselves: here, at once. */
const FAILURES: readonly ((url: string) => Response)[] = [
  () => new Response("Service Unavailable", { status: 503 }),
  () => new Response("{}", { status: 429, headers: { "retry-after": "30" } }),
  (url) => {
    throw new DOMException(`No answer from ${url}.`, "TimeoutError");
  },
  () => {
    throw new TypeError("fetch failed");
  },
  () => new Response("<!DOCTYPE html><title>Sorry</title>", { headers: { "content-type": "text/html" } }),
  () => new Response('{"kind": "andr', { headers: { "content-type": "application/json" } }),
];

/** Questions that fail at random during an outage. */
export interface Outage {
  /** Milliseconds, below the 30 days for which Google lists what is voided. */
  readonly lasts: number;
  /** Share of the questions that fail. */
  readonly share: number;
  readonly seed: number;
}

/** `fetch` through an outage. */
export const failingFetch = (
  { share, seed }: Outage,
  isOn: () => boolean,
  inner: typeof fetch,
): typeof fetch => {
  const random = randomFrom(seed).next;
  return async (input, init) => {
    const failed = isOn() && random() < share ? FAILURES[Math.floor(random() * FAILURES.length)] : undefined;
    return failed === undefined ? inner(input, init) : failed(new Request(input).url);
  };
};

export const PACKAGE_NAME = "com.example.trails";

/** Takes a store's notification, which is answered with success then. */
export type Receive = (endpoint: EndpointName, event: APIGatewayProxyEvent) => Promise<void>;

/** Both stores on one clock. */
export interface Stores extends TestStores {
  readonly clock: { now: Instant };
  receive: Receive;
  /** Answers requests to the stores in this process. */
  readonly fetch: typeof fetch;
  /** Moment of the stores' next event; `Infinity`: there is none. */
  nextEventAt(): Instant;
  /** Makes the events happen that are due, and pushes what the stores tell of them. */
  run(): Promise<void>;
  close(): Promise<void>;
}

export const openStores = async (start: Instant): Promise<Stores> => {
  const clock = { now: start };
  const created = await startTestStores(
    async (endpoint, event) => {
      await stores.receive(endpoint, event);
      return { statusCode: 200, body: "{}" };
    },
    () => clock.now,
    () => true,
  );
  const { ios, android } = created;
  const stores: Stores = {
    ...created,
    clock,
    receive: () => Promise.resolve(),
    fetch: fetchFrom(
      async (request, response) => (await ios.handle(request, response)) || android.handle(request, response),
    ),
    nextEventAt: () => Math.min(ios.nextEventAt() ?? Infinity, android.nextEventAt() ?? Infinity),
    run: async () => {
      await ios.runUntil(clock.now);
      await android.runUntil(clock.now);
      await android.pushed();
    },
    close: created.stop,
  };
  return stores;
};
