import type { IncomingMessage, ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import {
  createEntitlementsClient,
  EntitlementsError,
  type AccountChangeData,
  type Clock,
  type CustomerEntitlement,
} from "../../client/source/index.ts";
import { serve } from "../../testing/server.ts";

export const NOW = Date.UTC(2026, 5, 15, 12);
const APPLICATION = "0198c0de-0000-7000-8000-000000000001";
export const KEY = "cek_0000000000000000_secret";

/** Answer to the next request: a status and a body, or a handler. */
export type StubAnswer =
  | { readonly status: number; readonly body?: unknown; readonly headers?: Readonly<Record<string, string>> }
  | ((request: IncomingMessage, response: ServerResponse) => void);

/** A server with given answers, one for each request; the last one stays. */
const startStubService = async () => {
  const requests: { method: string; url: string; authorization: string | undefined; body: string }[] = [];
  let answers: readonly StubAnswer[] = [];
  const served = await serve(async (request, response) => {
    const body = await text(request);
    const { method = "", url = "", headers } = request;
    requests.push({ method, url, authorization: headers.authorization, body });
    const [next, ...others] = answers;
    if (others.length > 0) answers = others;
    if (typeof next === "function") return next(request, response);
    const { status = 500, body: answer, headers: sent = {} } = next ?? {};
    response.writeHead(status, { "Content-Type": "application/json", ...sent });
    response.end(typeof answer === "string" ? answer : JSON.stringify(answer));
  });
  return {
    ...served,
    requests,
    answer: (...next: readonly StubAnswer[]): void => {
      answers = next;
    },
  };
};

/** A clock that only waits move, and its waits so far. */
class StubClock implements Clock {
  current = NOW;
  readonly waits: number[] = [];
  readonly now = () => this.current;
  readonly wait = async (milliseconds: number, signal?: AbortSignal) => {
    signal?.throwIfAborted();
    this.waits.push(milliseconds);
    this.current += milliseconds;
  };
}

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
    applicationIdentifier: APPLICATION,
    entitlements,
  },
});

export const aChange = (fields: Partial<AccountChangeData> = {}): AccountChangeData => ({
  applicationIdentifier: APPLICATION,
  applicationAccountIdentifier: "user-1",
  version: 1,
  changed: ["premium"],
  customerIdentifiers: [],
  entitlements: [],
  ...fields,
});

export const aRefusal = (status: number, error: string, headers: Record<string, string> = {}) => ({
  status,
  body: { error, message: "A sentence." },
  headers,
});

/** A stub for all tests of the file, and a clock for each. */
export const withStub = () => {
  const given = {
    service: {} as Awaited<ReturnType<typeof startStubService>>,
    clock: new StubClock(),
    aClient: (options: Partial<Parameters<typeof createEntitlementsClient>[0]> = {}) => {
      const { service, clock } = given;
      return createEntitlementsClient({ baseUrl: service.address, apiKey: KEY, clock, ...options });
    },
  };
  beforeAll(async () => {
    given.service = await startStubService();
  });
  beforeEach(() => {
    given.clock = new StubClock();
    given.service.requests.length = 0;
  });
  afterAll(() => given.service.stop());
  return given;
};

export const failureOf = async (promise: Promise<unknown>): Promise<EntitlementsError> => {
  const error: unknown = await promise.then(
    () => null,
    (reason: unknown) => reason,
  );
  if (error instanceof EntitlementsError) return error;
  throw new Error("It did not fail as expected.", { cause: error });
};
