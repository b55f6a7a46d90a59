import { generateKeyPairSync, type KeyObject } from "node:crypto";
import { createServer, type ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import type { Instant } from "../../../../lib/entitlements/time.ts";
import {
  createAppStoreServer,
  type AppStoreAnswer,
  type AppStoreApp,
} from "../../../../lib/stores/ios-store/app-store-server.ts";
import type { StoreClientOptions } from "../../../../lib/stores/store-client.ts";
import { close, listen } from "../../../../local/server.ts";

export const NOW: Instant = Date.UTC(2026, 0, 15, 12);
export const TRANSACTION = "2000000123456789";
export const AN_APP_TRANSACTION = {
  status: 200,
  body: { signedAppTransactionInfo: "an.app-transaction.jws" },
};
/** Short, for requests that hang on purpose. */
export const HASTY = { request: 300, pause: 10, total: 1_500 };

export const pemOf = (key: KeyObject): string => key.export({ type: "pkcs8", format: "pem" }).toString();
export const aKey = (namedCurve = "P-256") => generateKeyPairSync("ec", { namedCurve });

export const KEY = aKey();
export const KEY_LINES = pemOf(KEY.privateKey)
  .split("\n")
  .filter((line) => line !== "" && !line.startsWith("-"));

export const APP: AppStoreApp = {
  bundleIdentifier: "com.example.trails",
  environment: "production",
  key: {
    issuerIdentifier: "57246542-96fe-1a63-e053-0824d011072a",
    keyIdentifier: "2X9R4HXF34",
    secret: "trails/app-store-key",
  },
};

/** An answer, or how the connection fails: without one, after its head, or never. */
export type Scripted =
  | { readonly status: number; readonly headers?: Record<string, string>; readonly body?: unknown }
  | "disconnect"
  | "disconnect-in-body"
  | "hang"
  | "hang-in-body";

const respond = (response: ServerResponse, scripted: Scripted): void => {
  if (scripted === "hang") return;
  if (scripted === "disconnect") {
    response.destroy();
  } else if (typeof scripted === "string") {
    response.writeHead(200, { "content-type": "application/json", "content-length": "1000" });
    response.write('{"signed', () => scripted === "disconnect-in-body" && response.destroy());
  } else {
    const { status, headers = {}, body = "" } = scripted;
    response.writeHead(status, headers);
    response.end(typeof body === "string" ? body : JSON.stringify(body));
  }
};

/** An App Store Server API whose answers each test writes. */
export const scriptedAppStore = () => {
  let rootUrl = "";
  const server = createServer((request, response) => {
    const { method, url, headers } = request;
    const answer = (body: string): void => {
      const types = [headers["content-type"], headers.accept];
      const token = (headers.authorization ?? "").replace("Bearer ", "");
      store.received.push({ request: `${method} ${url}`, token, types, body });
      respond(response, store.script.shift() ?? store.otherwise);
    };
    text(request).then(answer, () => response.destroy());
  });
  beforeAll(async () => {
    rootUrl = `http://127.0.0.1:${await listen(server, 0)}/apple`;
  });
  afterAll(() => close(server));
  beforeEach(() => {
    Object.assign(store, { received: [], script: [], otherwise: { status: 500 } });
  });

  /** A client with empty caches, and the names of the secrets that it has read. */
  const aClient = ({
    secret = async () => pemOf(KEY.privateKey),
    ...options
  }: Partial<StoreClientOptions> & { secret?: () => Promise<string | null> } = {}) => {
    const secretsRead: string[] = [];
    const readSecret = (name: string) => {
      secretsRead.push(name);
      return secret();
    };
    // Long enough for a busy machine, so that only deliberate faults time out.
    const timing = { request: 5_000, pause: 10, total: 15_000 };
    const client = createAppStoreServer({ rootUrl, readSecret, now: () => NOW, timing, ...options });
    return { client, secretsRead };
  };

  const store = {
    /** `types`: media types of the body, and those that may be answered. */
    received: [] as { request: string; token: string; types: (string | undefined)[]; body: string }[],
    /** The next answers. */
    script: [] as Scripted[],
    /** Every answer after those. */
    otherwise: { status: 500 } as Scripted,
    aClient,
    /** Asks for one app transaction; the last of the answers repeats. */
    met: async (...answers: Scripted[]) => {
      store.script = answers;
      store.otherwise = answers.at(-1) ?? store.otherwise;
      const hangs = answers.some((answer) => typeof answer === "string" && answer.startsWith("hang"));
      const answer = await aClient(hangs ? { timing: HASTY } : {}).client.appTransaction(APP, TRANSACTION);
      store.expectNoSecrets(answer);
      return { answer, requests: store.received.length };
    },
    tokensUsed: (): number => new Set(store.received.map(({ token }) => token)).size,
    expectNoSecrets: (answer: AppStoreAnswer<unknown>): void => {
      const tokens = store.received.map(({ token }) => token || "none");
      for (const secret of [...tokens, ...KEY_LINES, APP.key.secret, "MESSAGE"])
        expect(JSON.stringify(answer)).not.toContain(secret);
    },
  };
  return store;
};
