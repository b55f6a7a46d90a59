import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import {
  createEntitlementsClient,
  EntitlementsError,
  type Clock,
  type CustomerEntitlement,
} from "../../client/source/index.ts";
import { close, listen } from "../../local/server.ts";

/** Answer to the next request: a status and a body, or a handler. */
export type StubAnswer =
  | { readonly status: number; readonly body?: unknown; readonly headers?: Readonly<Record<string, string>> }
  | ((request: IncomingMessage, response: ServerResponse) => void);

/** A server with given answers, one for each request; the last one stays. */
const startStubService = async () => {
  const requests: { method: string; url: string; authorization: string | undefined; body: string }[] = [];
  let answers: readonly StubAnswer[] = [];
  const server = createServer((request, response) => {
    void (async () => {
      const body = Buffer.concat(await request.toArray()).toString("utf8");
      const { method = "", url = "", headers } = request;
      requests.push({ method, url, authorization: headers.authorization, body });
      const [next, ...others] = answers;
      if (others.length > 0) answers = others;
      if (typeof next === "function") return next(request, response);
      const { status = 500, body: answer, headers: sent = {} } = next ?? {};
      response.writeHead(status, { "Content-Type": "application/json", ...sent });
      response.end(typeof answer === "string" ? answer : JSON.stringify(answer));
    })();
  });
  return {
    address: `http://127.0.0.1:${await listen(server, 0)}`,
    requests,
    answer: (...next: readonly StubAnswer[]): void => {
      answers = next;
    },
    stop: async () => close(server),
  };
};

/** A clock that only waits move, and its waits so far. */
const aClock = (start: number): Clock & { current: number; readonly waits: number[] } => {
  const clock = {
    current: start,
    waits: [] as number[],
    now: () => clock.current,
    wait: (milliseconds: number, signal?: AbortSignal) => {
      signal?.throwIfAborted();
      clock.waits.push(milliseconds);
      clock.current += milliseconds;
      return Promise.resolve();
    },
  };
  return clock;
};

export const anEntitlement = (fields: Partial<CustomerEntitlement> = {}): CustomerEntitlement => ({
  identifier: "premium",
  displayName: "Premium",
  productIdentifier: "monthly",
  environment: "production",
  status: "active",
  active: true,
  startsAt: "2026-06-01T00:00:00.000Z",
  expiresAt: null,
  revokedAt: null,
  lastVerifiedAt: "2026-06-15T00:00:00.000Z",
  store: "ios-store",
  productKind: "subscription",
  customerIdentifier: "0198c0de-4a1b-7c3d-9e2f-000000000001",
  willRenew: null,
  ...fields,
});

export const anAnswer = (...entitlements: readonly CustomerEntitlement[]) => ({
  status: 200,
  body: {
    applicationAccountIdentifier: "user-1",
    customerIdentifiers: [],
    applicationIdentifier: "0198c0de-0000-7000-8000-000000000001",
    entitlements,
  },
});

export const aRefusal = (status: number, error: string, headers: Record<string, string> = {}) => ({
  status,
  body: { error, message: "A sentence." },
  headers,
});

export const NOW = Date.UTC(2026, 5, 15, 12);
export const KEY = "cek_0000000000000000_secret";

/** A stub for all tests of the file, and a clock for each. */
export const withStub = () => {
  let service: Awaited<ReturnType<typeof startStubService>>;
  let clock: ReturnType<typeof aClock>;
  beforeAll(async () => {
    service = await startStubService();
  });
  beforeEach(() => {
    clock = aClock(NOW);
    service.requests.length = 0;
  });
  afterAll(() => service.stop());
  return {
    get service() {
      return service;
    },
    get clock() {
      return clock;
    },
    aClient: (options: Partial<Parameters<typeof createEntitlementsClient>[0]> = {}) =>
      createEntitlementsClient({ baseUrl: service.address, apiKey: KEY, clock, ...options }),
  };
};

export const failureOf = async (promise: Promise<unknown>): Promise<EntitlementsError> => {
  const error: unknown = await promise.then(
    () => null,
    (reason: unknown) => reason,
  );
  if (error instanceof EntitlementsError) return error;
  throw new Error("It did not fail as expected.", { cause: error });
};
