import { gzipSync } from "node:zlib";
import { issueCredential } from "../../lib/applications/credential.ts";
import { ERRORS, type ErrorCode } from "../../lib/contract/errors.ts";
import type { Scope } from "../../lib/contract/schemas.ts";
import { keyId } from "../../lib/identifiers.ts";
import type { Fault } from "../../sandbox/android-store/publisher.ts";
import { makeChain } from "../../sandbox/ios-store/signing.ts";
import {
  PRODUCTS,
  type Answer,
  type ApplicationOptions,
  type TestApplication,
} from "../../testing/support/service.ts";
import { serviceForFile } from "../support/service-for-file.ts";

const READ = "/v1/customers/user-1/entitlements";
const LINK = "/v1/customers/ios-store/link";
const SYNCHRONIZE = "/v1/customers/ios-store/synchronize";

const { service, app: other, log } = serviceForFile();

const outcome = ({ status, body }: Answer): [number, string | undefined] => [status, body.error];
const refusal = (code: ErrorCode): [number, string] => [ERRORS[code].status, code];
const tableText = async (): Promise<string> => JSON.stringify(await service.table.items());

const MAPS = {
  productKind: "one_time_product",
  productIdentifier: "maps",
  basePlanIdentifier: undefined,
} as const;
const [IOS_ONLY, ANDROID_ONLY] = [{ products: [PRODUCTS[0]] }, { products: [PRODUCTS[3]] }];
type Act = (app: TestApplication) => Promise<Answer>;

/** Synchronizes an app transaction with these transactions. */
const synchronizing =
  (signedTransactions: (app: TestApplication) => readonly string[]): Act =>
  (app) =>
    app.synchronize({ ...app.device().request(), signedTransactions: signedTransactions(app) });
const linkingOnAndroid =
  (tokenOf: (app: TestApplication) => string, changes: object = {}): Act =>
  (app) =>
    app.linkAndroid(tokenOf(app), "user-1", changes);
const dropped = (app: TestApplication): string => {
  const token = app.buyOnAndroid();
  service.android.drop(token);
  return token;
};
/** Links a purchase while the store answers so. */
const failing =
  (fault: Fault): Act =>
  (app) => {
    service.android.failNext("publisher", fault, fault);
    return app.linkAndroid(app.buyOnAndroid(), "user-1");
  };
const unknown = () => "unknown";
const broken: Act = (app) => {
  const { signedTransactions, ...request } = app.device().request({}, {});
  return app.link({ ...request, signedTransactions: [...signedTransactions, "a.b.c"] }, "user-1");
};
const UNREGISTERED = { bundleIdentifier: "com.example.unknown" };
const signedBy = (app: TestApplication): string => app.device().request({}).signedTransactions[0] ?? "";

/** A regular expression for the end of the request's readable line. */
type Because = string | ((app: TestApplication) => string) | null;
type Row = [rule: string, act: Act, because?: Because, options?: ApplicationOptions];
const REFUSED: Readonly<Partial<Record<ErrorCode, readonly Row[]>>> = {
  INVALID_REQUEST: [
    ["the body's shape first", (app) => app.synchronize({}), "signedAppTransaction is required"],
    ["an account .", (app) => app.link(app.device().request({}), ".")],
    ["an account ..", (app) => app.linkAndroid(app.buyOnAndroid(), "..")],
  ],
  INVALID_APP_TRANSACTION: [
    ["a signature before the application", (app) => app.synchronize({ signedAppTransaction: "a.b.c" })],
    ["a stranger's chain", (app) => app.link(app.device({}, makeChain()).request({}), "a")],
    ["a transaction for an app transaction", (app) => app.link({ signedAppTransaction: signedBy(app) }, "a")],
    [
      "another app's Apple ID",
      (app) => app.synchronize(app.device({ appAppleIdentifier: 5 }).request({})),
      "the app's Apple ID is 5, the manifest says 1234567890",
    ],
  ],
  APPLICATION_NOT_FOUND: [
    [
      "a bundle that nobody has",
      (app) => app.synchronize(app.device(UNREGISTERED).request({})),
      "no application has the bundle com.example.unknown",
    ],
  ],
  STORE_CONFIGURATION_NOT_FOUND: [
    [
      "another application's bundle",
      (app) => app.link(other.device().request({}), "user-1"),
      ({ bundleIdentifier }) => `the manifest has only the bundles ${bundleIdentifier}`,
    ],
    [
      "another application's package, which is not repeated",
      (app) => app.linkAndroid(other.buyOnAndroid(), "user-1", { packageName: other.packageName }),
      ({ packageName }) => `the manifest has only the packages ${packageName}`,
    ],
  ],
  ENVIRONMENT_NOT_ACCEPTED: [
    [
      "of an iOS purchase",
      (app) => app.synchronize(app.device({ environment: "Sandbox" }).request({})),
      null,
      { iosStore: { appAppleIdentifier: 1_234_567_890, environments: ["production"] } },
    ],
    [
      "of an Android purchase",
      linkingOnAndroid((app) => app.buyOnAndroid({ test: true })),
      null,
      { androidStore: { environments: ["production"] } },
    ],
  ],
  INVALID_TRANSACTION: [
    ["one that does not verify, at any place", broken],
    ["one of another Apple Account", synchronizing((app) => app.device().request({}).signedTransactions)],
    [
      "one of another environment",
      synchronizing((app) => app.device({ environment: "Sandbox" }).request({}).signedTransactions),
    ],
    ["transactions before the paywall", synchronizing(() => ["a.b.c"]), null, ANDROID_ONLY],
  ],
  INVALID_RENEWAL_INFO: [
    [
      "a transaction in its place",
      (app) => app.link({ ...app.device().request(), signedRenewalInfos: [signedBy(app)] }, "a"),
    ],
  ],
  PAYWALL_NOT_FOUND: [
    ["no product in the iOS store", (app) => app.synchronize(app.device().request({})), null, ANDROID_ONLY],
    ["the paywall before the store's answer", linkingOnAndroid(unknown), null, IOS_ONLY],
  ],
  INVALID_PURCHASE: [
    ["an unknown token", linkingOnAndroid(unknown), "the store answered \\d{3}(?: \\w+)?"],
    ["another kind", linkingOnAndroid((app) => app.buyOnAndroid(), { productKind: "one_time_product" })],
    [
      "another product",
      linkingOnAndroid((app) => app.buyOnAndroid(MAPS), { ...MAPS, productIdentifier: "other" }),
    ],
  ],
  PURCHASE_NO_LONGER_AVAILABLE: [["a dropped, unknown purchase", linkingOnAndroid(dropped)]],
  STORE_UNAVAILABLE: [["a store that does not answer", failing({ status: 503 })]],
  STORE_REJECTED_CREDENTIAL: [
    [
      "a credential without permission",
      failing({ status: 403, body: { error: { errors: [{ reason: "permissionDenied" }] } } }),
    ],
  ],
};

describe("a refusal changes nothing, comes in the contract's order, and is one line that says why:", () => {
  describe.each(Object.entries(REFUSED))("%s", (code, rows) => {
    test.each<Row>(rows)("%s", async (_, act, because = null, options = {}) => {
      const app = await service.application(options);
      const before = await tableText();
      const answer = await act(app);
      expect(outcome(answer)).toEqual(refusal(code as ErrorCode));
      const text = typeof because === "function" ? because(app) : (because ?? ".*");
      await log.requestWith(new RegExp(`^POST /v1/\\S+ ${answer.status} \\d+ ms ${code}: ${text}$`));
      expect(await tableText()).toBe(before);
      service.android.clearFaults();
    });
  });

  test("a second account is refused, and no link changes", async () => {
    const app = await service.application();
    const request = app.device().request({});
    const token = app.buyOnAndroid();
    await app.link(request, "user-1");
    await app.linkAndroid(token, "user-1");
    const before = await tableText();
    const again = [await app.link(request, "user-2"), await app.synchronize(request, "user-2")];
    expect(await tableText()).toBe(before);
    for (const answer of [...again, await app.linkAndroid(token, "user-2")])
      expect(outcome(answer)).toEqual([409, "CUSTOMER_ALREADY_LINKED"]);
    expect((await app.read("user-2")).body.customerIdentifiers).toEqual([]);
    expect((await app.read("user-1")).body.customerIdentifiers).toHaveLength(2);
  });
});

describe("a key", () => {
  const keyFor = async (how: string, scopes: readonly Scope[] = ["entitlements:read"]) => {
    if (how === "missing") return undefined;
    if (how === "malformed") return "abc";
    const application = other.identifier;
    if (how === "unknown")
      return issueCredential({ application, label: null, scopes, expiresAt: null }, Date.now()).apiKey;
    const { apiKey, keyIdentifier } = await other.issue(scopes, how === "expired" ? Date.now() - 1 : null);
    if (how === "revoked") await service.credentials.revoke(keyId(keyIdentifier), Date.now());
    return apiKey;
  };
  const callWith = async (key: string | undefined) => {
    const body = { ...other.device().request({}), applicationAccountIdentifier: "user-1" };
    return [
      await service.send("GET", READ, { key }),
      await service.send("POST", LINK, { key, body }),
      await service.send("POST", "/v1/customers/android-store/link", { key, body: {} }),
    ];
  };

  test.each(["missing", "malformed", "unknown", "revoked", "expired"])(
    "that is %s is 401 with the same body",
    async (how) => {
      for (const answer of await callWith(await keyFor(how))) {
        expect(answer.status).toBe(401);
        const { message } = ERRORS.INVALID_CREDENTIAL;
        expect(answer.body).toEqual({ error: "INVALID_CREDENTIAL", message });
      }
    },
  );

  test.each<[scopes: readonly Scope[], statuses: readonly number[]]>([
    [["entitlements:read"], [200, 403, 403]],
    [["customers:write"], [403, 200, 400]],
    [
      ["entitlements:read", "customers:write"],
      [200, 200, 400],
    ],
  ])("with the scopes %j serves their endpoints alone", async (scopes, expected) => {
    const answers = await callWith(await keyFor("valid", scopes));
    expect(answers.map(({ status }) => status)).toEqual(expected);
    for (const { body } of answers.filter(({ status }) => status === 403))
      expect(body).toMatchObject({
        error: "INSUFFICIENT_SCOPE",
        message: expect.stringContaining("The key has"),
      });
  });

  test("of one application never shows another's accounts", async () => {
    const app = await service.application();
    await app.link(app.device().request({}), "somebody");
    expect((await app.read("somebody")).body.customerIdentifiers).toHaveLength(1);
    const nobody = { applicationIdentifier: other.identifier, customerIdentifiers: [], entitlements: [] };
    expect((await other.read("somebody")).body).toMatchObject(nobody);
  });

  test.each(["Bearer nonsense", "Basic abc"])("%s is ignored by synchronize", async (Authorization) => {
    const sent = { body: other.device().request({}), headers: { Authorization } };
    expect((await service.send("POST", SYNCHRONIZE, sent)).status).toBe(200);
  });
});

describe("a request", () => {
  test.each<[string, (text: string) => string | Uint8Array, Record<string, string>]>([
    ["of another type", (text) => text, { "Content-Type": "application/x-www-form-urlencoded" }],
    ["that is compressed", gzipSync, { "Content-Encoding": "gzip" }],
  ])("%s is read as JSON", async (_, encode, headers) => {
    const body = encode(JSON.stringify(other.device().request({})));
    expect((await service.send("POST", SYNCHRONIZE, { body, headers })).status).toBe(200);
  });

  test("leaves no token, key or JWS in a log", () => {
    expect(service.log.join("\n")).not.toMatch(/eyJ|cek_[0-9a-f]{16}_|tok/);
  });
});
