import { generateKeyPairSync } from "node:crypto";
import { request as open } from "node:http";
import { text } from "node:stream/consumers";
import * as z from "zod";
import { fingerprintOf, makeChain } from "../../../sandbox/ios-store/signing.ts";
import { endpoints, GATEWAY_ERRORS } from "../../../lib/contract/endpoints.ts";
import { ERRORS, type ErrorCode } from "../../../lib/contract/errors.ts";
import { isRead, startFaultProxy, type FaultProxy } from "../fault-proxy.ts";
import { LONG, SEED } from "../../../testing/support/proof.ts";
import { startTestService, type TestService } from "../../../testing/support/service.ts";
import { bearer, requestTo, type Attack, type Target } from "./attack.ts";
import { attackOf, type NamedAttack } from "./attacks.ts";
import { diceFrom } from "../dice.ts";
import {
  AUDIENCE,
  SERVICE_ACCOUNT,
  startKeyServer,
  type KeyServer,
} from "../../../testing/support/stores/android-store.ts";

/**
 * Attacks on every endpoint, through the gateway. `SEED=…` repeats a run. With `CASE=<number>`, only that case is sent, the
 * same but for times, keys and signatures.
 */
const CASES = LONG ? 20_000 : 800;
const ONLY = process.env["CASE"] === undefined ? null : Number(process.env["CASE"]);
/** Rejected requests that are sent a second time, while nothing else changes the table. */
const SENT_AGAIN = LONG ? 2_000 : 150;

const STORE_ANSWER = "an answer of the Android store";

interface Answer {
  readonly status: number;
  readonly type: string;
  readonly text: string;
}

let service: TestService;
let proxy: FaultProxy;
let google: KeyServer;
let target: Target;
const chain = makeChain();

const googlesKey = generateKeyPairSync("rsa", { modulusLength: 2048 });
const PUSHED = { serviceAccount: SERVICE_ACCOUNT, audience: AUDIENCE } as const;
const OTHER = {
  packageName: "com.example.other",
  serviceAccount: "play-push@peaks.iam.gserviceaccount.com",
} as const;

beforeAll(async () => {
  proxy = await startFaultProxy(process.env["AWS_ENDPOINT_URL_DYNAMODB"] ?? "");
  const keyIdentifier = "google";
  const jwk = googlesKey.publicKey.export({ format: "jwk" });
  google = await startKeyServer({ jwk: { ...jwk, kid: keyIdentifier, alg: "RS256", use: "sig" } });
  service = await startTestService({
    GOOGLE_CERTIFICATES_URL: google.url,
    AWS_ENDPOINT_URL_DYNAMODB: proxy.endpoint,
    IOS_STORE_TRUSTED_ROOTS: fingerprintOf(chain.root),
  });
  const name = "com.example.target";
  const app = await service.application({ name, androidStore: { notifications: PUSHED } });
  await service.application({
    name: OTHER.packageName,
    androidStore: { notifications: { ...PUSHED, serviceAccount: OTHER.serviceAccount } },
  });
  const readOnly = await app.issue(["entitlements:read"]);
  const purchaseToken = "token.AO-J1Oknown";
  const stored = service.android.read(app.buyOnAndroid());
  if (stored === undefined) throw new Error("Nothing was bought.");
  service.android.put(purchaseToken, stored);
  const known = await app.linkAndroid(purchaseToken, "known");
  if (known.status !== 200)
    throw new Error(`The first link was answered with ${known.status}: ${service.log.join()}`);
  target = {
    bundleIdentifier: name,
    packageName: name,
    key: app.key,
    readOnlyKey: readOnly.apiKey,
    chain,
    purchaseToken,
    push: { ...PUSHED, key: googlesKey.privateKey, keyIdentifier, other: OTHER },
    putAnswer: (token, answer) =>
      service.android.put(token, {
        packageName: name,
        productKind: "subscription",
        answer: Object(answer),
      }),
  };
}, 90_000);
afterAll(async () => {
  await service.stop();
  await proxy.stop();
  await google.close();
});

/** Sends a request, on a connection of its own. */
const exchange = ({ method, path, headers, body }: Attack): Promise<Answer> =>
  new Promise((resolve, reject) => {
    const { hostname, port } = new URL(service.address);
    const fields = headers.flatMap(([name, value]) => [name, value]);
    const has = (wanted: string): boolean => headers.some(([name]) => name.toLowerCase() === wanted);
    if (!has("host")) fields.push("Host", `${hostname}:${port}`);
    if (body !== null && !has("transfer-encoding")) fields.push("Content-Length", String(body.length));
    const options = { hostname, port, agent: false, method, path, headers: fields };
    const request = open(options, (response) => {
      const { statusCode: status = 0, headers: answered } = response;
      text(response).then((text) => resolve({ status, type: answered["content-type"] ?? "", text }), reject);
    });
    request.on("error", reject);
    request.end(body ?? undefined);
  });

/** The answer, and the number of writes that the request caused. */
const counted = async (attack: Attack): Promise<Answer & { readonly writes: number }> => {
  proxy.plan();
  const answer = await exchange(attack);
  return { ...answer, writes: proxy.operations.filter((operation) => !isRead(operation)).length };
};

const errorBody = z.strictObject({
  error: z.string(),
  message: z.string().min(1),
  issues: z.array(z.strictObject({ path: z.string(), message: z.string() })).optional(),
});

const isCode = (code: string): code is ErrorCode => Object.hasOwn(ERRORS, code);

/** The answer's breaches of the contract; empty when there are none. */
const breaches = (attack: NamedAttack, { status, type, text }: Answer): string[] => {
  const endpoint = endpoints[attack.endpoint];
  if (attack.method === "HEAD") return status === 404 ? [] : [`${status} to HEAD`];
  if (!type.startsWith("application/json")) return [`the type is ${type}`];
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    // Compressed answers are not checked.
    return [];
  }
  if (status === 200) {
    if (attack.forged) return ["a forgery is accepted"];
    const parsed = endpoint.response().safeParse(body);
    return parsed.success ? [] : [`a body that is not the contract's: ${parsed.error.message}`];
  }
  const parsed = errorBody.safeParse(body);
  if (!parsed.success) return [`an error that is not the contract's: ${parsed.error.message}`];
  const { error } = parsed.data;
  if (!isCode(error)) return [`the unknown code ${error}`];
  const wrong: string[] = [];
  if (ERRORS[error].status !== status) wrong.push(`${error} with ${status}`);
  const documented: readonly ErrorCode[] = [...endpoint.errors, ...GATEWAY_ERRORS, "ROUTE_NOT_FOUND"];
  if (!documented.includes(error)) wrong.push(`${error}, which the endpoint does not document`);
  // The sandbox store was told to answer nonsense, which counts as no answer.
  const told = attack.kind === STORE_ANSWER && error === "STORE_UNAVAILABLE";
  if (status >= 500 && !told) wrong.push(`${status} ${error}`);
  if (/eyJ|cek_[0-9a-f]{16}_|\bat .+:\d+:\d+/.test(text)) wrong.push("a JWS, a key or a stack is shown");
  return wrong;
};

/** What is wrong with the account of an accepted request, and with sending the request once more. */
const afterwards = async (attack: NamedAttack, account: string): Promise<readonly string[]> => {
  const again = await counted(attack);
  const read: NamedAttack = {
    kind: attack.kind,
    ...requestTo("readAccountEntitlements", {
      note: attack.note,
      path: `/v1/customers/${encodeURIComponent(account)}/entitlements`,
      headers: [bearer(target.key)],
    }),
  };
  const answer = await exchange(read);
  return [
    ...(again.status === 200 && again.writes === 0 ? [] : [`${again.status}, ${again.writes} writes again`]),
    ...(answer.status === 200 ? [] : [`read afterwards: ${answer.status}`]),
    ...breaches(read, answer).map((what) => `read afterwards: ${what}`),
  ];
};

/** What is wrong with the writes of a rejected request. */
const writesOf = async (
  attack: NamedAttack,
  writes: number,
  keepsFacts: boolean,
): Promise<readonly string[]> => {
  if (writes === 0) return [];
  if (!keepsFacts) return [`${writes} writes of a rejected request`];
  const again = await counted(attack);
  return again.status === 409 && again.writes === 0 ? [] : [`${again.status}, ${again.writes} writes again`];
};

test(
  "every answer conforms to the contract, and no rejected request is stored",
  async () => {
    const failures: string[] = [];
    const rejected: number[] = [];
    const attackAt = (index: number) => attackOf(target, diceFrom(SEED + index * 7_919), index);
    for (const index of ONLY === null ? Array.from({ length: CASES }).keys() : [ONLY]) {
      const attack = attackAt(index);
      const answer = await counted(attack);
      const { status, writes } = answer;
      // Two attacks may name one linked purchase: the second link is refused, but the store's facts are kept, once.
      const keepsFacts = !attack.forged && answer.text.startsWith('{"error":"CUSTOMER_ALREADY_LINKED"');
      const wrong = [
        ...breaches(attack, answer),
        ...(status === 200 ? [] : await writesOf(attack, writes, keepsFacts)),
        ...(status === 200 && attack.reads !== null ? await afterwards(attack, attack.reads) : []),
      ];
      // A refused Android link asks the store anew: a minute later its answer is news, and is kept.
      const asksAnew = keepsFacts && attack.endpoint === "linkAndroidStoreCustomer";
      if (status !== 200 && !asksAnew && attack.kind !== STORE_ANSWER) rejected.push(index);
      if (wrong.length > 0)
        failures.push(`SEED=${SEED} CASE=${index} (${attack.kind}, ${attack.note}): ${wrong.join("; ")}`);
      // The log of successful requests is not needed: a megabyte for a thousand cases.
      service.output.length = 0;
    }
    const stored = JSON.stringify(await service.table.items());
    const step = Math.max(1, Math.floor(rejected.length / SENT_AGAIN));
    for (const index of rejected.filter((_, place) => place % step === 0)) await exchange(attackAt(index));
    expect(JSON.stringify(await service.table.items())).toBe(stored);
    expect(failures).toEqual([]);
    expect(service.log.join("\n")).not.toMatch(/eyJ|cek_[0-9a-f]{16}_/);
  },
  60 * 60_000,
);
