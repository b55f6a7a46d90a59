import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { DEMO } from "../../local/demo.ts";
import type { WholeService } from "../../testing/support/local-gateway.ts";
import type { RunCommand } from "../support/local-operator.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

/** Any JSON; reading a path that does not exist fails the test. */
export type Json = ReturnType<typeof JSON.parse>;

interface Answered {
  readonly status: number;
  readonly body: Json;
}

/** The demo's subscription of Google Play. */
export const SUBSCRIPTION = {
  packageName: DEMO.packageName,
  productKind: "subscription",
  productIdentifier: DEMO.androidSubscription,
  basePlanIdentifier: DEMO.androidBasePlan,
} as const;

/** Callers of a local run, with the demo application's key unless another is given. */
export const calling = ({ address, demo }: WholeService) => {
  const ask = async (path: string, init: RequestInit, apiKey = demo.apiKey): Promise<Answered> => {
    const headers = { Authorization: `Bearer ${apiKey}` };
    const response = await fetch(address + path, { ...init, headers });
    return { status: response.status, body: await response.json() };
  };
  const post = async (path: string, body: unknown, apiKey?: string): Promise<Answered> =>
    ask(path, { method: "POST", body: JSON.stringify(body) }, apiKey);
  const timeOf = ({ status, body }: Answered): number => {
    expect([status, body]).toEqual([200, { now: expect.any(String) }]);
    return Date.parse(body.now);
  };
  return {
    post,
    read: async (account: string, apiKey?: string): Promise<Answered> =>
      ask(`/v1/customers/${encodeURIComponent(account)}/entitlements`, {}, apiKey),
    now: async (): Promise<number> => timeOf(await ask("/sandbox/clock", {})),
    move: async (to: object): Promise<number> => timeOf(await post("/sandbox/clock", to)),
    /** Buys the demo's lifetime product; the answer is what the app sends. */
    buyOnIos: async (bought: object): Promise<Json> => {
      const transactions = [{ productIdentifier: DEMO.iosNonConsumable, type: "Non-Consumable" }];
      return (await post("/sandbox/ios-store/purchases", { transactions, ...bought })).body;
    },
    linkOnIos: async (request: Json): Promise<Answered> => post("/v1/customers/ios-store/link", request),
    /** @returns the purchase token */
    buyOnAndroid: async (product: object = {}): Promise<string> => {
      const sold = await post("/sandbox/android-publisher/purchases", { ...SUBSCRIPTION, ...product });
      return sold.body.purchaseToken;
    },
    linkOnAndroid: async (
      account: string,
      purchaseToken: string | null,
      { packageName = DEMO.packageName as string, apiKey }: { packageName?: string; apiKey?: string } = {},
    ): Promise<Answered> => {
      const purchase = { packageName, purchaseToken, productKind: "subscription" };
      const body = { ...purchase, applicationAccountIdentifier: account };
      return post("/v1/customers/android-store/link", body, apiKey);
    },
  };
};

const manifests = temporaryFolder();

export const BOAT_PRODUCT = { productIdentifier: "pro", basePlanIdentifier: "yearly" };

/** Issues an API key of an application. */
export const issueKey = async (operator: RunCommand, application: string, ...scope: readonly string[]) => {
  const words = ["credential", "issue", "--application", application, "--scope", ...scope];
  return (await operator(...words)).split("\n")[0] ?? "";
};

/** Applies an application whose Android package has the secret's credential, and issues an API key that may link. */
export const keyOfAnApplication = async (
  operator: RunCommand,
  packageName: string,
  secret: string,
): Promise<string> => {
  const file = join(manifests, "manifest.json");
  writeFileSync(
    file,
    JSON.stringify({
      application: { name: packageName },
      stores: { "android-store": [{ packageName, credential: { secret } }] },
      entitlements: { captain: { displayName: "Captain" } },
      products: [{ store: "android-store", ...BOAT_PRODUCT, grants: ["captain"] }],
    }),
  );
  await operator("application", "apply", file, "--yes");
  const application = (await operator("application", "find", packageName)).trim();
  return issueKey(operator, application, "customers:write");
};
