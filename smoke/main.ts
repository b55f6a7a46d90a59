import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import * as z from "zod";
import { endpoints, type EndpointName } from "../lib/contract/endpoints.ts";
import { runOperator } from "../operator/program.ts";
import { waitForIndex } from "../operator/session.ts";
import { createThrowAwayStore, PRODUCT, type ThrowAwayStore } from "./throw-away-store.ts";

/** A step, or a command of the operator, went wrong. */
class SmokeError extends Error {}

const jsonObject = z.record(z.string(), z.unknown());

/** Runs a command of the operator. Returns its JSON. */
const operate = async (...words: readonly string[]): Promise<z.infer<typeof jsonObject>> => {
  const [out, err] = [[] as string[], [] as string[]];
  const code = await runOperator([...words, "--json"], {
    environment: process.env,
    now: Date.now,
    out: (text) => void out.push(text),
    err: (text) => void err.push(text),
    waitForIndex,
    wait: (milliseconds) => sleep(milliseconds),
    ask: null,
  });
  if (code !== 0) throw new SmokeError(err.join("").trim());
  return jsonObject.parse(JSON.parse(out.join("")));
};

const apply = async (manifest: object): Promise<z.infer<typeof jsonObject>> => {
  const folder = mkdtempSync(join(tmpdir(), "smoke-"));
  try {
    const file = join(folder, "smoke.yaml");
    writeFileSync(file, JSON.stringify(manifest));
    return await operate("application", "apply", file, "--yes");
  } finally {
    rmSync(folder, { recursive: true });
  }
};

/** The application that stays in the table; each run gives it another certificate, whose key ends with the run. */
const BUNDLE = "invalid.customer-entitlements.smoke";
const ENTITLEMENT = "smoke";

/** The functions cache an application for a minute, and may still know the previous run's. */
const KNOWN_AFTER_MILLISECONDS = 75_000;
const PAUSE_MILLISECONDS = 3_000;

const ISSUE = "credential issue --scope customers:write --scope entitlements:read --expires PT15M".split(" ");

const manifestOf = ({ certificate }: ThrowAwayStore): object => ({
  application: { name: "Smoke test" },
  stores: {
    "ios-store": [{ bundleIdentifier: BUNDLE, environments: ["xcode"], xcodeCertificates: [certificate] }],
  },
  entitlements: { [ENTITLEMENT]: {} },
  products: [{ store: "ios-store", productIdentifier: PRODUCT, grants: [ENTITLEMENT] }],
});

/** A request, and its expected answer: a status, and the error's code or the entitlement's status. */
interface Step {
  readonly name: string;
  readonly method: "GET" | "POST";
  readonly path: string;
  readonly key?: string | undefined;
  readonly body?: object;
  readonly expected: readonly [status: number, word: string | null];
  /** Another answer that is right, by the stage's parameters. */
  readonly otherwise?: Step["expected"];
  /** Whether the functions may take a minute to know this run's application. */
  readonly mayWait?: true;
}

const ANSWERED_WITHIN_MILLISECONDS = 35_000;

const answerBody = z.object({
  error: z.string().nullish(),
  entitlements: z.array(z.object({ identifier: z.string(), status: z.string() })).default([]),
});

/** Asks the deployed service. An answer that is not its own JSON has the error `NOT_THE_SERVICE`. */
const ask = async (address: string, { method, path, key, body }: Step): Promise<Step["expected"]> => {
  const response = await fetch(`${address.replace(/\/$/, "")}${path}`, {
    method,
    headers: {
      ...(key !== undefined && { authorization: `Bearer ${key}` }),
      ...(body !== undefined && { "content-type": "application/json" }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(ANSWERED_WITHIN_MILLISECONDS),
  });
  const { data } = answerBody.safeParse(await response.json().catch(() => null));
  if (data === undefined) return [response.status, "NOT_THE_SERVICE"];
  const found = data.entitlements.find(({ identifier }) => identifier === ENTITLEMENT);
  return [response.status, data.error ?? found?.status ?? null];
};

const textOf = ([status, word]: Step["expected"]): string =>
  word === null ? String(status) : `${status} ${word}`;

const take = async (address: string, step: Step): Promise<void> => {
  const until = Date.now() + (step.mayWait ? KNOWN_AFTER_MILLISECONDS : 0);
  const right = [step.expected, step.otherwise ?? step.expected].map(textOf);
  for (;;) {
    const answer = textOf(await ask(address, step));
    if (right.includes(answer)) return void process.stdout.write(`  ok      ${step.name}: ${answer}\n`);
    if (Date.now() >= until)
      throw new SmokeError(`${step.name}: expected ${right[0]}, and was answered ${answer}.`);
    await sleep(PAUSE_MILLISECONDS);
  }
};

/** Every endpoint, once for a success and, if it has one, once for a refusal. */
const stepsOf = (store: ThrowAwayStore, account: string, key: string, revoked: string): readonly Step[] => {
  const path = endpoints.readAccountEntitlements.path.replace("{applicationAccountIdentifier}", account);
  const read = (key?: string) => ({ method: "GET", path, key }) as const;
  const post = (name: EndpointName, body: object, key?: string) =>
    ({ method: "POST", path: endpoints[name].path, body, key }) as const;
  const synchronize = (purchases: object) => post("synchronizeIosStorePurchases", purchases);
  const link = (applicationAccountIdentifier: string) =>
    post("linkIosStoreCustomer", { ...store.bought(), applicationAccountIdentifier }, key);
  const androidPurchase = {
    packageName: BUNDLE,
    purchaseToken: "smoke",
    productKind: "subscription",
    applicationAccountIdentifier: account,
  };
  const push = {
    message: { data: "e30=", messageId: "1" },
    subscription: "projects/none/subscriptions/none",
  };
  return [
    { name: "read without a key", ...read(), expected: [401, "INVALID_CREDENTIAL"] },
    { name: "read with a revoked key", ...read(revoked), expected: [401, "INVALID_CREDENTIAL"] },
    { name: "read before the link", ...read(key), expected: [200, null] },
    { name: "synchronize", ...synchronize(store.bought()), expected: [200, "active"], mayWait: true },
    {
      name: "synchronize a forged purchase",
      ...synchronize(store.forged()),
      expected: [400, "INVALID_TRANSACTION"],
    },
    { name: "link", ...link(account), expected: [200, "active"], mayWait: true },
    { name: "read", ...read(key), expected: [200, "active"], mayWait: true },
    {
      name: "link to another account",
      ...link(`${account}-other`),
      expected: [409, "CUSTOMER_ALREADY_LINKED"],
    },
    {
      name: "link an Android purchase of no package",
      ...post("linkAndroidStoreCustomer", androidPurchase, key),
      expected: [404, "STORE_CONFIGURATION_NOT_FOUND"],
    },
    {
      name: "an App Store notification that nobody signed",
      ...post("receiveIosStoreNotification", { signedPayload: "e30.e30.e30" }),
      expected: [400, "INVALID_NOTIFICATION"],
      // Where `iosNotificationsFromAppleOnly` is true, the route does not exist for others.
      otherwise: [404, "ROUTE_NOT_FOUND"],
    },
    {
      name: "a push without Google's token",
      ...post("receiveAndroidStoreNotification", push),
      expected: [401, "INVALID_CREDENTIAL"],
    },
    { name: "synchronize a refund", ...synchronize(store.refunded()), expected: [200, "revoked"] },
    { name: "read after the refund", ...read(key), expected: [200, "revoked"] },
  ];
};

const textIn = (answer: Readonly<Record<string, unknown>>, name: string): string => {
  const text = answer[name];
  if (typeof text !== "string") throw new SmokeError(`The operator's command answered no ${name}.`);
  return text;
};

/**
 * Tries a deployed service with purchases of StoreKit testing, which one application accepts because of a throw-away
 * certificate. Afterwards, even after a failure, the data is erased and the keys are revoked; the application stays.
 */
const runSmoke = async (address: string): Promise<void> => {
  const store = createThrowAwayStore(BUNDLE);
  const application = textIn(await apply(manifestOf(store)), "applicationIdentifier");
  const account = `smoke-${randomUUID()}`;
  const issued: string[] = [];
  const newKey = async (): Promise<{ readonly key: string; readonly identifier: string }> => {
    const answer = await operate(...ISSUE, "--label", "smoke test", "--application", application);
    const identifier = textIn(answer, "keyIdentifier");
    issued.push(identifier);
    return { key: textIn(answer, "apiKey"), identifier };
  };
  const revoke = (identifier: string) => operate("credential", "revoke", identifier);
  try {
    const [live, other] = [await newKey(), await newKey()];
    await revoke(other.identifier);
    for (const step of stepsOf(store, account, live.key, other.key)) await take(address, step);
  } finally {
    for (const identifier of issued) await revoke(identifier);
    await operate("account", "erase", application, account, "--reason", "smoke test", "--yes")
      // Nothing was linked before the failure.
      .catch(() => undefined);
  }
};

const USAGE =
  "Usage: npm run smoke -- <address>, with the output Address of the deployment, and TABLE_NAME and the credentials of the operator.\n";

/** `fetch` says only that it failed; its cause names the refused connection or the unknown host. */
const causeOf = (error: unknown): string =>
  (error instanceof Error && error.cause instanceof Error && error.cause.message) || String(error);

const main = async ([address, ...others]: readonly string[]): Promise<number> => {
  if (address === undefined || others.length > 0 || !/^https?:$/.test(URL.parse(address)?.protocol ?? "")) {
    process.stderr.write(USAGE);
    return 2;
  }
  try {
    process.stdout.write(`Trying ${address}\n`);
    await runSmoke(address);
    process.stdout.write("The service works.\n");
    return 0;
  } catch (error) {
    process.stderr.write(
      error instanceof SmokeError ? `${error.message}\n` : `${address} cannot be asked: ${causeOf(error)}\n`,
    );
    return 1;
  }
};

process.exitCode = await main(process.argv.slice(2));
