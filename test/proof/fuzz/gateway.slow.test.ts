import { Agent, request as send } from "node:http";
import * as z from "zod";
import { fingerprintOf } from "../../../sandbox/ios-store/signing.ts";
import { endpoints, GATEWAY_ERRORS } from "../../../lib/contract/endpoints.ts";
import { ERRORS, type ErrorCode } from "../../../lib/contract/errors.ts";
import { isRead, startFaultProxy, type FaultProxy } from "../fault-proxy.ts";
import { LONG, SEED } from "../../../testing/support/proof.ts";
import { startTestService, type TestService } from "../../../testing/support/service.ts";
import type { Attack, Target } from "./attack.ts";
import { APPLE_ID, attackOf, type NamedAttack } from "./attacks.ts";
import { choicesFrom } from "./choices.ts";
import { PUSHED, PUSHED_OTHER, startGoogle } from "./google.ts";
import { chainNamed } from "./signing.ts";

/**
 * Attacks on every endpoint, through the gateway. `SEED=…` repeats a run. With `CASE=<number>`, only that case is sent,
 * byte for byte the same but for the times and signatures of push tokens, and shown.
 */
const CASES = LONG ? 20_000 : 800;
const ONLY = process.env["CASE"] === undefined ? null : Number(process.env["CASE"]);
/** Rejected requests that are sent a second time, while nothing else changes the table. */
const SENT_AGAIN = LONG ? 2_000 : 150;

interface Answer {
  readonly status: number;
  readonly type: string;
  readonly text: string;
  readonly milliseconds: number;
}

let service: TestService;
let proxy: FaultProxy;
let google: Awaited<ReturnType<typeof startGoogle>>;
let target: Target;
const agent = new Agent({ keepAlive: true, maxSockets: 4 });
const chain = chainNamed("store");

beforeAll(async () => {
  proxy = await startFaultProxy(process.env["AWS_ENDPOINT_URL_DYNAMODB"] ?? "");
  google = await startGoogle("com.example.other");
  service = await startTestService({
    GOOGLE_CERTIFICATES_URL: google.keys.url,
    AWS_ENDPOINT_URL_DYNAMODB: proxy.endpoint,
    IOS_STORE_TRUSTED_ROOTS: fingerprintOf(chain.root),
  });
  const name = "com.example.target";
  const app = await service.application({
    bundleIdentifier: name,
    packageName: name,
    iosStore: { appAppleIdentifier: APPLE_ID },
    androidNotifications: PUSHED,
  });
  const { packageName } = google.push.other;
  await service.application({
    bundleIdentifier: packageName,
    packageName,
    androidNotifications: PUSHED_OTHER,
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
    push: google.push,
    putAnswer: (token, answer) =>
      service.android.put(token, {
        packageName: name,
        productKind: "subscription",
        answer: Object(answer),
      }),
  };
}, 90_000);
afterAll(async () => {
  agent.destroy();
  await service.stop();
  await proxy.stop();
  await google.keys.close();
});

/** Sends a request, and again where the server closed an idle connection just as it was used again. */
const exchange = (attack: Attack): Promise<Answer> => {
  const { method, path, headers, body } = attack;
  return new Promise((resolve, reject) => {
    const { hostname, port } = new URL(service.address);
    const begin = performance.now();
    const fields = headers.flatMap(([name, value]) => [name, value]);
    const has = (wanted: string): boolean => headers.some(([name]) => name.toLowerCase() === wanted);
    if (!has("host")) fields.push("Host", `${hostname}:${port}`);
    if (body !== null && !has("transfer-encoding")) fields.push("Content-Length", String(body.length));
    const request = send({ hostname, port, agent, method, path, headers: fields }, (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => void chunks.push(chunk));
      response.on("error", reject);
      response.on("end", () =>
        resolve({
          status: response.statusCode ?? 0,
          type: response.headers["content-type"] ?? "",
          text: Buffer.concat(chunks).toString(),
          milliseconds: performance.now() - begin,
        }),
      );
    });
    // https://nodejs.org/api/http.html#requestreusedsocket
    request.on("error", (error: Error & { code?: string }) => {
      if (request.reusedSocket && error.code === "ECONNRESET") resolve(exchange(attack));
      else reject(error);
    });
    request.end(body ?? undefined);
  });
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
  const told = attack.kind === "an answer of the Android store" && error === "STORE_UNAVAILABLE";
  if (status >= 500 && !told) wrong.push(`${status} ${error}`);
  if (/eyJ|cek_[0-9a-f]{16}_|\bat .+:\d+:\d+/.test(text)) wrong.push("a JWS, a key or a stack is shown");
  return wrong;
};

const answerText = ({ status, text }: Answer): string => {
  const code = /^\{"error":"([A-Z_]+)"/.exec(text)?.[1];
  return code === undefined ? String(status) : `${status} ${code}`;
};

const tableText = async (): Promise<string> => JSON.stringify(await service.table.items());

const increase = (counts: Map<string, number>, name: string, by = 1): void =>
  void counts.set(name, (counts.get(name) ?? 0) + by);

const shown = (counts: ReadonlyMap<string, number>): string =>
  [...counts]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, count]) => `  ${String(count).padStart(6)}  ${name}`)
    .join("\n");

/** Faults of the repetition of a refused link whose facts are kept. */
const whenRefusedAgain = async (attack: NamedAttack): Promise<string[]> => {
  proxy.plan();
  const answer = await exchange(attack);
  const written = proxy.requests.filter(({ operation }) => !isRead(operation)).length;
  return [
    ...(answer.status === 409 ? [] : [`${answer.status} when the refused link is sent again`]),
    ...(written > 0 ? [`${written} writes when the refused link is sent again`] : []),
  ];
};

const percentile = (values: readonly number[], part: number): number =>
  values.toSorted((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * part))] ?? 0;

/** Memory of the process, garbage included. heap.test.ts measures the functions' part. */
const megabytes = (): number => Math.round(process.memoryUsage().rss / 1024 / 1024);

const show = ({ body, ...attack }: NamedAttack): string =>
  `${JSON.stringify(attack)}\n${
    body === null
      ? ""
      : body
          .toString("latin1")
          .replaceAll(/eyJ[\w.-]{500,}/g, "(a JWS)")
          .slice(0, 4_000)
  }`;

test(
  "every answer conforms to the contract, and no rejected request is stored",
  async () => {
    const failures: string[] = [];
    const perKind = new Map<string, number>();
    const perAnswer = new Map<string, number>();
    const perKindAnswer = new Map<string, number>();
    const times: number[] = [];
    const perKilobyte: number[] = [];
    let slowest = { milliseconds: 0, index: -1, bytes: 0 };
    const rejected: number[] = [];
    const before = megabytes();
    let most = before;

    const send = async (attack: NamedAttack, index: number): Promise<void> => {
      proxy.plan();
      const answer = await exchange(attack);
      const wrong = breaches(attack, answer);
      const written = proxy.requests.filter(({ operation }) => !isRead(operation)).length;
      // Two attacks may name one linked purchase: the second link is refused, but the store's facts are kept, once.
      const keepsFacts = !attack.forged && answerText(answer) === "409 CUSTOMER_ALREADY_LINKED";
      if (answer.status !== 200 && written > 0) {
        if (!keepsFacts) wrong.push(`${written} writes of a rejected request`);
        else wrong.push(...(await whenRefusedAgain(attack)));
      }
      increase(perKind, attack.kind);
      increase(perAnswer, answerText(answer));
      increase(perKindAnswer, `${attack.kind}: ${answerText(answer)}`);
      const bytes = attack.path.length + (attack.body?.length ?? 0);
      times.push(answer.milliseconds);
      if (bytes >= 1024) perKilobyte.push(answer.milliseconds / (bytes / 1024));
      if (answer.milliseconds > slowest.milliseconds)
        slowest = { milliseconds: answer.milliseconds, index, bytes };
      if (answer.status === 200 && attack.reads !== null) {
        proxy.plan();
        const replayed = await exchange(attack);
        if (replayed.status !== 200) wrong.push(`${replayed.status} when sent again`);
        const rewritten = proxy.requests.filter(({ operation }) => !isRead(operation)).length;
        if (rewritten > 0) wrong.push(`${rewritten} writes when sent again`);
        const read: NamedAttack = {
          ...attack,
          endpoint: "readAccountEntitlements",
          method: "GET",
          path: `/v1/customers/${encodeURIComponent(attack.reads)}/entitlements`,
          headers: [["Authorization", `Bearer ${target.key}`]],
          body: null,
          forged: false,
        };
        const answered = await exchange(read);
        wrong.push(...breaches(read, answered).map((what) => `read afterwards: ${what}`));
        if (answered.status !== 200) wrong.push(`read afterwards: ${answered.status}`);
      }
      // A refused Android link asks the store anew: a minute later its answer is news, and is kept.
      const asksAnew = keepsFacts && attack.endpoint === "linkAndroidStoreCustomer";
      if (answer.status !== 200 && !asksAnew && attack.kind !== "an answer of the Android store")
        rejected.push(index);
      if (ONLY !== null)
        process.stdout.write(`${show(attack)}\n${answer.status} ${answer.text}\n${service.log.join("\n")}\n`);
      if (wrong.length > 0)
        failures.push(`SEED=${SEED} CASE=${index} (${attack.kind}, ${attack.note}): ${wrong.join("; ")}`);
    };

    const attackAt = (index: number) => attackOf(target, choicesFrom(SEED + index * 7_919), index);
    for (let index = ONLY ?? 0; index < (ONLY === null ? CASES : ONLY + 1); index += 1) {
      await send(attackAt(index), index);
      most = Math.max(most, index % 50 === 0 ? megabytes() : 0);
      // The log of successful requests is not needed: a megabyte for a thousand cases.
      service.output.length = 0;
    }
    const stored = await tableText();
    const step = Math.max(1, Math.floor(rejected.length / SENT_AGAIN));
    const again = rejected.filter((_, place) => place % step === 0);
    for (const index of again) await exchange(attackAt(index));
    if ((await tableText()) !== stored) failures.push(`SEED=${SEED}: a rejected request was stored`);

    process.stdout.write(
      [
        `fuzz: SEED=${SEED}, ${times.length} cases`,
        "by kind:",
        shown(perKind),
        "by answer:",
        shown(perAnswer),
        ...(LONG ? ["by kind and answer:", shown(perKindAnswer)] : []),
        `milliseconds: median ${percentile(times, 0.5).toFixed(1)}, 99th ${percentile(times, 0.99).toFixed(1)}, most ${slowest.milliseconds.toFixed(0)} (case ${slowest.index}, ${slowest.bytes} bytes)`,
        `milliseconds for each kilobyte (of 1 KB and more): median ${percentile(perKilobyte, 0.5).toFixed(2)}, 99th ${percentile(perKilobyte, 0.99).toFixed(2)}, most ${percentile(perKilobyte, 1).toFixed(2)}`,
        `rejected requests sent again, after which the table is the same byte for byte: ${again.length}`,
        `memory (MB, all functions and their garbage within): ${before} before, ${most} at most, ${megabytes()} after`,
        "",
      ].join("\n"),
    );
    expect(failures).toEqual([]);
    expect(service.log.join("\n")).not.toMatch(/eyJ|cek_[0-9a-f]{16}_/);
  },
  60 * 60_000,
);
