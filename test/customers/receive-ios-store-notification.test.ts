import { NotificationTypeV2 } from "@apple/app-store-server-library";
import { v7 as uuid } from "uuid";
import { createIosStoreVerifier } from "../../lib/stores/ios-store/verifier.ts";
import type { Application } from "../../lib/applications/application.ts";
import type { Destination } from "../../lib/applications/destination.ts";
import type { ErrorCode } from "../../lib/contract/errors.ts";
import type { AccountEntitlements } from "../../lib/contract/schemas.ts";
import { storeRequest } from "../../lib/contract/store-request.ts";
import { linkIosStoreCustomer } from "../../lib/customers/link-ios-store-customer.ts";
import {
  receiveIosStoreNotification,
  type IosStoreReception,
} from "../../lib/customers/receive-ios-store-notification.ts";
import type { ReceivedNotification } from "../../lib/customers/notifications/notification-use.ts";
import { synchronizeIosStorePurchases } from "../../lib/customers/synchronize-ios-store-purchases.ts";
import { createDeliveryQueue } from "../../lib/table/telling/delivery-queue.ts";
import { createStoreRequestQueue } from "../../lib/table/telling/store-requests.ts";
import {
  makeChain,
  makeXcodeSigner,
  signJws,
  signerWith,
  fingerprintOf,
} from "../../sandbox/ios-store/signing.ts";
import { assertInvariants } from "../../testing/support/invariants.ts";
import {
  aBundle,
  anApp,
  anAppTransaction,
  anEnvelope,
  aNotification,
  APPLE_ID,
  aRenewalInfo,
  aTransaction,
  BUNDLE,
  type Payload,
} from "../../testing/support/ios-store.ts";
import { aCatalog, aProduct, DAY, NOW } from "../../testing/support/purchases.ts";
import type { TestTable } from "../../testing/support/table.ts";
import { createUseCaseTable } from "../../testing/support/use-case-table.ts";
import {
  byClient,
  byCredential,
  createWorld,
  device,
  owned,
  refusal,
  requests as requestsTo,
  type World,
} from "../../testing/support/world.ts";
import { anApplication } from "../../testing/support/application.ts";

const PRODUCT = "com.example.trails.premium.monthly";
const chain = makeChain();

let table: TestTable;
beforeAll(async () => {
  table = await createUseCaseTable();
});
afterAll(async () => {
  await assertInvariants(table);
  await table.remove();
});

const aNotifiedApplication = (changes: Partial<Application> = {}): Application =>
  anApplication({
    iosStore: [aBundle({ environments: ["production", "sandbox"] })],
    catalog: aCatalog([aProduct({ productIdentifier: PRODUCT })]),
    ...changes,
  });

/** An application that the App Store notifies. */
const aNotifiedApp = (
  changes: Partial<IosStoreReception> = {},
  application = aNotifiedApplication(),
  moment = NOW,
) => {
  const world: World = createWorld(table, { application, now: () => moment });
  const received: ReceivedNotification[] = [];
  const noted: unknown[] = [];
  const reception: IosStoreReception = {
    ...world.factStore,
    directory: world.directory,
    verifier: createIosStoreVerifier(),
    trustedRoots: new Set([fingerprintOf(chain.root)]),
    note: (store, signedAt) => {
      noted.push([store.bundleOrPackage, store.environment, signedAt]);
      return Promise.resolve();
    },
    requests: createStoreRequestQueue(table),
    onReceived: (one) => void received.push(one),
    ...changes,
  };
  const send = (payload: object | string): Promise<object> =>
    receiveIosStoreNotification(reception, { signedPayload: signJws(payload, chain) });
  const app = {
    signedAppTransaction: signJws(anAppTransaction(), chain),
  };
  const signed = (...transactions: Payload[]) => ({
    ...app,
    signedTransactions: transactions.map((one) => signJws(one, chain)),
  });
  return {
    world,
    reception,
    received,
    noted,
    send,
    /** Sends a notification about a purchase; null: without that part. */
    notify: (transaction: Payload | null = {}, renewalInfo: Payload | null = null, fields: Payload = {}) =>
      send(
        aNotification(
          chain,
          {
            transaction: transaction && aTransaction(transaction),
            renewalInfo: renewalInfo && aRenewalInfo(renewalInfo),
          },
          fields,
        ),
      ),
    link: (account: string, ...transactions: Payload[]) =>
      linkIosStoreCustomer(reception, application.identifier, {
        ...signed(...transactions.map(aTransaction)),
        applicationAccountIdentifier: account,
      }),
    synchronize: (...transactions: Payload[]) =>
      synchronizeIosStorePurchases(reception, signed(...transactions.map(aTransaction))),
    statusAt: async (account: string, at = moment) => statusOf(await world.at(at).read(account)),
    at: (later: number) => aNotifiedApp(changes, application, later),
  };
};

const statusOf = ({ entitlements }: AccountEntitlements) =>
  entitlements.map(({ status, active, willRenew, expiresAt }) => ({
    status,
    active,
    willRenew,
    expiresAt,
  }))[0];

const requests = (act: () => Promise<unknown>): Promise<string[]> => requestsTo(table, act);

const REFUND: Payload = { revocationDate: NOW - 3 * DAY, revocationReason: 1, signedDate: NOW - 2 * DAY };

describe("a notification", () => {
  test("of an unknown purchase makes a customer that a later link finds", async () => {
    const app = aNotifiedApp();
    expect(await app.notify({}, {})).toEqual({});
    expect(app.received).toEqual([{ outcome: "STORED", type: "DID_RENEW" }]);
    const items = await app.world.items();
    expect(items.filter(({ sk }) => sk === "CUSTOMER").map(({ link }) => link)).toEqual([null]);
    expect(items.filter(({ pk }) => String(pk).includes("#ACCOUNT#"))).toEqual([]);
    await app.link("a");
    expect(await app.statusAt("a")).toMatchObject({ status: "active", willRenew: true });
  });

  test("of a known purchase is two reads and one transaction", async () => {
    const app = aNotifiedApp();
    const linked = await app.link("a", {});
    const renewed = {
      transactionId: "700000000000003",
      webOrderLineItemId: "700000000000003",
      purchaseDate: NOW + 20 * DAY,
      expiresDate: NOW + 50 * DAY,
      signedDate: NOW,
    };
    expect(await requests(() => app.notify(renewed, { renewalDate: NOW + 50 * DAY }))).toEqual([
      "BatchGetItem",
      "BatchGetItem",
      "TransactWriteItems",
    ]);
    expect(await app.statusAt("a", NOW + 30 * DAY)).toMatchObject({ active: true, willRenew: true });
    expect((await app.world.read("a")).customerIdentifiers).toEqual([linked.customerIdentifier]);
  });

  test("is stored without a paywall", async () => {
    const app = aNotifiedApp({}, aNotifiedApplication({ catalog: aCatalog([]) }));
    await app.notify({});
    expect(app.received).toEqual([{ outcome: "STORED", type: "DID_RENEW" }]);
  });

  test("that comes again writes nothing, however often and late", async () => {
    const app = aNotifiedApp();
    await app.link("a", {});
    await app.notify({ signedDate: NOW - 500 }, {});
    const before = await app.world.items();
    const again = app.at(NOW + 100 * DAY);
    expect(await requests(() => again.notify({ signedDate: NOW - 500 }, {}))).toEqual([
      "BatchGetItem",
      "BatchGetItem",
    ]);
    expect(await app.world.items()).toEqual(before);
    expect(again.received).toEqual([{ outcome: "STORED", type: "DID_RENEW" }]);
  });
});

describe("what was signed last counts, whoever says it:", () => {
  test("an old transaction after its refund, by notification, revives nothing", async () => {
    const app = aNotifiedApp();
    await app.link("a", {});
    await app.notify(REFUND, null, { notificationType: "REFUND" });
    expect(await app.statusAt("a")).toMatchObject({ status: "active" });
    await app.notify({ ...REFUND, signedDate: NOW - 500 }, null, { notificationType: "REFUND" });
    expect(await app.statusAt("a")).toMatchObject({ status: "revoked" });
    await app.notify({ signedDate: NOW - 1000 }, {}, { notificationType: "DID_RENEW" });
    await app.notify({ signedDate: NOW - 5 * DAY }, {}, { notificationType: "SUBSCRIBED" });
    expect(await app.statusAt("a")).toMatchObject({ status: "revoked", active: false });
  });

  test("an old transaction after its refund, by a device, revives nothing", async () => {
    const app = aNotifiedApp();
    await app.link("a", {});
    await app.notify({ ...REFUND, signedDate: NOW - 500 }, null, { notificationType: "REFUND" });
    await app.synchronize({ signedDate: NOW - 1000 });
    await app.link("a", { signedDate: NOW - 1000 });
    expect(await app.statusAt("a")).toMatchObject({ status: "revoked", active: false });
  });

  test("a refund before any link counts once the purchase is linked", async () => {
    const app = aNotifiedApp();
    await app.notify({ ...REFUND, signedDate: NOW - 500 }, null, { notificationType: "REFUND" });
    const { entitlements } = await app.link("a", { signedDate: NOW - 1000 });
    expect(entitlements).toMatchObject([{ status: "revoked", active: false }]);
  });

  test("a status signed before a refund does not bring access back", async () => {
    const app = aNotifiedApp();
    await app.link("a", { signedDate: NOW - 3 * DAY });
    await app.notify({ ...REFUND, signedDate: NOW - DAY }, null, { notificationType: "REFUND" });
    await app.notify(
      { signedDate: NOW - 2 * DAY },
      { signedDate: NOW - 2 * DAY },
      { notificationType: "DID_CHANGE_RENEWAL_STATUS", subtype: "AUTO_RENEW_ENABLED" },
    );
    expect(await app.statusAt("a")).toMatchObject({ status: "revoked", active: false });
  });

  test("a reversed refund, signed later, brings access back", async () => {
    const app = aNotifiedApp();
    await app.link("a", { signedDate: NOW - 3 * DAY });
    await app.notify({ ...REFUND, signedDate: NOW - 2 * DAY }, null, { notificationType: "REFUND" });
    await app.notify({ signedDate: NOW - DAY }, null, { notificationType: "REFUND_REVERSED" });
    expect(await app.statusAt("a")).toMatchObject({ status: "active" });
  });

  test("in any order and repetition the end is the same", async () => {
    const said: [Payload | null, Payload | null][] = [
      [{ signedDate: NOW - 5 * DAY }, { signedDate: NOW - 5 * DAY }],
      [null, { signedDate: NOW - 4 * DAY, autoRenewStatus: 0 }],
      [
        { ...REFUND, signedDate: NOW - 3 * DAY },
        { signedDate: NOW - 3 * DAY, autoRenewStatus: 0, expirationIntent: 1 },
      ],
      [{ signedDate: NOW - 2 * DAY }, { signedDate: NOW - 2 * DAY }],
    ];
    const orders = [
      [0, 1, 2, 3],
      [3, 2, 1, 0],
      [2, 0, 3, 1, 2, 0],
      [1, 3, 1, 0, 2, 2],
    ];
    const ends = await Promise.all(
      orders.map(async (order) => {
        const app = aNotifiedApp();
        await app.link("a", { signedDate: NOW - 9 * DAY });
        for (const index of order) {
          const [transaction, renewalInfo] = said[index] ?? [null, null];
          await app.notify(transaction, renewalInfo);
        }
        const { entitlements } = await app.world.read("a");
        return entitlements.map((entry) => ({ ...entry, customerIdentifier: "" }));
      }),
    );
    expect(ends[0]).toMatchObject([{ status: "active", willRenew: true }]);
    for (const end of ends) expect(end).toEqual(ends[0]);
  });
});

describe("a payment that fails", () => {
  const END = NOW + 20 * DAY;
  const failing = {
    signedDate: END + 1000,
    autoRenewStatus: 1,
    isInBillingRetryPeriod: true,
    expirationIntent: 2,
  };

  test("keeps access in the grace period, and shows the retry later", async () => {
    const app = aNotifiedApp();
    await app.link("a", {});
    const then = app.at(END + 2000);
    await then.notify(
      { signedDate: END + 1000 },
      { ...failing, gracePeriodExpiresDate: END + 16 * DAY },
      { notificationType: "DID_FAIL_TO_RENEW", subtype: "GRACE_PERIOD", signedDate: END + 1500 },
    );
    expect(await app.statusAt("a", END + DAY)).toMatchObject({
      status: "grace_period",
      active: true,
      expiresAt: new Date(END + 16 * DAY).toISOString(),
    });
    expect(await app.statusAt("a", END + 17 * DAY)).toMatchObject({ status: "billing_retry", active: false });
    expect(await app.statusAt("a", END + 61 * DAY)).toMatchObject({ status: "expired", active: false });
  });

  test.each([
    ["whatever its renewal date", { isInBillingRetryPeriod: true, renewalDate: END + 16 * DAY }],
    ["where the store does not call it a retry", { isInBillingRetryPeriod: false }],
  ])("keeps access in the grace period %s", async (_, fields) => {
    const app = aNotifiedApp();
    await app.link("a", {});
    const graceEnds = END + 16 * DAY;
    await app
      .at(END + 2000)
      .notify(null, { ...failing, ...fields, gracePeriodExpiresDate: graceEnds }, { signedDate: END + 1500 });
    expect(await app.statusAt("a", graceEnds - 1)).toMatchObject({ status: "grace_period", active: true });
    expect(await app.statusAt("a", graceEnds)).toMatchObject({ active: false });
  });

  test("keeps access in a grace period of which only the status tells", async () => {
    const app = aNotifiedApp();
    await app.link("a", {});
    const then = app.at(END + 2000);
    const parts = {
      transaction: aTransaction({ signedDate: END + 1000 }),
      renewalInfo: aRenewalInfo(failing),
    };
    const notification = (status: number) =>
      aNotification(
        chain,
        parts,
        { notificationType: "DID_FAIL_TO_RENEW", signedDate: END + 1500 },
        { status },
      );
    await then.send(notification(3));
    expect(await app.statusAt("a", END + DAY)).toMatchObject({ status: "billing_retry", active: false });
    await then.send(notification(4));
    // The same renewal info, from a device or with another status, takes nothing back.
    await then.send(notification(3));
    expect(await app.statusAt("a", END + DAY)).toMatchObject({ status: "grace_period", active: true });
    await app.at(END + 3 * DAY).notify(null, { ...failing, signedDate: END + 2 * DAY }, {});
    expect(await app.statusAt("a", END + 3 * DAY)).toMatchObject({ status: "billing_retry", active: false });
  });

  test("is over once recovered, and stale news ends nothing", async () => {
    const app = aNotifiedApp();
    await app.link("a", {});
    const then = app.at(END + 3 * DAY);
    await then.notify(
      {
        transactionId: "700000000000003",
        webOrderLineItemId: "700000000000003",
        purchaseDate: END + 2 * DAY,
        expiresDate: END + 32 * DAY,
        signedDate: END + 2 * DAY,
      },
      { renewalDate: END + 32 * DAY, signedDate: END + 2 * DAY },
      { notificationType: "DID_RENEW", subtype: "BILLING_RECOVERY", signedDate: END + 2 * DAY },
    );
    await then.notify({ signedDate: END + 1000 }, failing, { notificationType: "DID_FAIL_TO_RENEW" });
    expect(await app.statusAt("a", END + 3 * DAY)).toMatchObject({ status: "active", willRenew: true });
  });
});

describe("is authentic and unused:", () => {
  test.each<[string, Payload]>([
    ["a TEST", anEnvelope({ notificationType: "TEST", data: anApp() })],
    [
      "a summary",
      anEnvelope({ notificationType: "RENEWAL_EXTENSION", subtype: "SUMMARY", summary: anApp() }),
    ],
    [
      "an external purchase token",
      anEnvelope({
        notificationType: "EXTERNAL_PURCHASE_TOKEN",
        externalPurchaseToken: { externalPurchaseId: "4f", bundleId: BUNDLE, appAppleId: APPLE_ID },
      }),
    ],
    [
      "a rescinded consent",
      anEnvelope({
        notificationType: "RESCIND_CONSENT",
        appData: anApp({ signedAppTransactionInfo: signJws(anAppTransaction(), chain) }),
      }),
    ],
  ])("%s", async (_, payload) => {
    const app = aNotifiedApp();
    expect(await requests(() => app.send(payload))).toEqual([]);
    expect(app.received.map(({ outcome }) => outcome)).toEqual(["UNUSED"]);
    expect(app.noted).toEqual([[BUNDLE, "production", NOW - 500]]);
  });

  test("one of the sandbox, which is noted as such", async () => {
    const app = aNotifiedApp();
    await app.send(anEnvelope({ notificationType: "TEST", data: anApp({ environment: "Sandbox" }) }));
    expect(app.noted).toEqual([[BUNDLE, "sandbox", NOW - 500]]);
  });

  test("one of an environment that is not accepted, which leaves no time", async () => {
    const application = aNotifiedApplication();
    const [configuration] = application.iosStore;
    if (configuration === undefined) throw new Error("There is a configuration.");
    const only = (changes: Partial<typeof configuration>) =>
      aNotifiedApp({}, { ...application, iosStore: [{ ...configuration, ...changes }] });
    const sandboxed = aNotification(
      chain,
      { transaction: aTransaction({ environment: "Sandbox" }), renewalInfo: null },
      {},
      { environment: "Sandbox" },
    );
    for (const [app, payload] of [
      [only({ environments: ["production"] }), sandboxed],
      [only({ environments: ["sandbox"] }), aNotification(chain)],
      [only({ appAppleIdentifier: null }), aNotification(chain)],
    ] as const) {
      expect(await requests(() => app.send(payload))).toEqual([]);
      expect([app.received, app.noted]).toEqual([[{ outcome: "UNUSED", type: "DID_RENEW" }], []]);
    }
  });

  test("one of an erased customer, and it lifts nothing", async () => {
    const app = aNotifiedApp();
    await app.link("a", {});
    const customer = await app.world.store({ identities: [device("704000000000001")] });
    await app.world.erase(customer);
    await app.notify({ signedDate: NOW }, {});
    expect(app.received).toEqual([{ outcome: "UNUSED", type: "DID_RENEW" }]);
    expect((await app.world.read("a")).entitlements).toEqual([]);
  });
});

test("renewal info alone counts for a known lineage only", async () => {
  const app = aNotifiedApp();
  await app.notify(null, { autoRenewStatus: 0 });
  expect(await app.world.items()).toEqual([]);
  await app.link("a", {});
  await app.notify(null, { autoRenewStatus: 0 });
  expect(await app.statusAt("a")).toMatchObject({ status: "active", willRenew: false });
});

test("each of several owners keeps its own facts", async () => {
  const app = aNotifiedApp();
  await app.world.store(
    { identities: [device("704000000000001")], purchases: [owned("9")] },
    byCredential("a"),
  );
  await app.world.store(
    { purchases: [owned("700000000000001", { productIdentifier: PRODUCT })] },
    byCredential("b"),
  );
  await app.notify(
    { ...REFUND, signedDate: NOW, transactionId: "700000000000001" },
    {},
    { notificationType: "REFUND" },
  );
  expect(app.received).toEqual([{ outcome: "STORED", type: "REFUND" }]);
  const keys = async (account: string) => (await app.world.read(account)).customerIdentifiers.length;
  expect([await keys("a"), await keys("b")]).toEqual([1, 1]);
  const items = await app.world.items();
  const refunded = items.find(({ pk }) => String(pk).endsWith("#700000000000001"));
  expect(JSON.stringify(refunded)).toContain(String(REFUND["revocationDate"]));
});

test("counts each part alone: a new form loses nothing else", async () => {
  const app = aNotifiedApp();
  const renewal = aRenewalInfo({ autoRenewStatus: undefined });
  expect(await app.notify({ signedDate: NOW + 240_000 }, renewal)).toEqual({});
  expect(app.received).toEqual([{ outcome: "PARTLY_UNDERSTOOD", type: "DID_RENEW" }]);
  expect((await app.world.items()).some(({ sk }) => sk === "PURCHASE")).toBe(true);
});

describe("is refused:", () => {
  const strangers = makeChain();
  test.each<[string, object, ErrorCode]>([
    [
      "another tenant's bundle",
      aNotification(chain, {}, {}, { bundleId: "com.example.other" }),
      "APPLICATION_NOT_FOUND",
    ],
    ["another app's Apple ID", aNotification(chain, {}, {}, { appAppleId: 7 }), "INVALID_NOTIFICATION"],
    [
      "a transaction of another bundle",
      aNotification(chain, { transaction: aTransaction({ bundleId: "com.example.other" }) }),
      "INVALID_NOTIFICATION",
    ],
    [
      "a transaction of the sandbox in production",
      aNotification(chain, { transaction: aTransaction({ environment: "Sandbox" }) }),
      "INVALID_NOTIFICATION",
    ],
    [
      "renewal info of another lineage",
      aNotification(chain, { renewalInfo: aRenewalInfo({ originalTransactionId: "9" }) }),
      "INVALID_NOTIFICATION",
    ],
    ["parts that a stranger signed", aNotification(strangers), "INVALID_NOTIFICATION"],
    ["a transaction in its place", aTransaction(), "INVALID_NOTIFICATION"],
  ])("%s", async (_, payload, code) => {
    const app = aNotifiedApp();
    expect(await requests(async () => expect(await refusal(app.send(payload))).toBe(code))).toEqual([]);
    expect([app.received.map(({ outcome }) => outcome), app.noted]).toEqual([[code], []]);
    expect(await app.world.items()).toEqual([]);
  });

  test("what Xcode signed, even where the bundle's configuration names its certificate", async () => {
    const xcode = makeXcodeSigner();
    const application = aNotifiedApplication();
    const app = aNotifiedApp(
      {},
      {
        ...application,
        iosStore: application.iosStore.map((one) => ({
          ...one,
          environments: ["xcode"] as const,
          xcodeCertificates: [fingerprintOf(xcode.certificate)],
        })),
      },
    );
    const compact = signJws(aNotification(xcode, {}, {}, { environment: "Xcode" }), xcode);
    const sent = receiveIosStoreNotification(app.reception, { signedPayload: compact });
    expect(await refusal(sent)).toBe("INVALID_NOTIFICATION");
    expect(app.received).toEqual([{ outcome: "FORGED", type: null }]);
  });

  const [header = "", payload = "", signature = ""] = signJws(aNotification(chain), chain).split(".");
  const otherPayload = Buffer.from(JSON.stringify(aNotification(chain, {}, { subtype: "OTHER" })));
  test.each<[string, string, ReceivedNotification]>([
    ["no JWS", "a.b.c", { outcome: "FORGED", type: null }],
    ["a stranger's signature", signJws(aNotification(chain), strangers), { outcome: "FORGED", type: null }],
    [
      "a stranger's signature under the App Store's certificates",
      signJws(aNotification(chain), { x5c: chain.x5c, privateKey: strangers.privateKey }),
      { outcome: "FORGED", type: null },
    ],
    [
      "a genuine signature of another payload",
      `${header}.${otherPayload.toString("base64url")}.${signature}`,
      { outcome: "FORGED", type: null },
    ],
    [
      "a genuine header without certificates",
      `${Buffer.from('{"alg":"ES256"}').toString("base64url")}.${payload}.${signature}`,
      { outcome: "FORGED", type: null },
    ],
    [
      "the trusted root alone, which is public, in place of all certificates",
      signJws(
        aNotification(chain),
        signerWith({ ...chain.root, privateKey: strangers.privateKey }, chain.root, chain.root),
      ),
      { outcome: "FORGED", type: null },
    ],
    [
      "another algorithm",
      `${Buffer.from('{"alg":"none"}').toString("base64url")}.${payload}.${signature}`,
      { outcome: "FORGED", type: null },
    ],
    ["another kind", signJws(aTransaction(), chain), { outcome: "INVALID_NOTIFICATION", type: null }],
    [
      "another shape",
      signJws(anEnvelope({ data: { ...anApp(), bundleId: 7 } }), chain),
      { outcome: "INVALID_NOTIFICATION", type: null },
    ],
    [
      "a time to come",
      signJws(aNotification(chain, {}, { signedDate: NOW + DAY }), chain),
      { outcome: "INVALID_NOTIFICATION", type: null },
    ],
    [
      "a time before the certificates",
      signJws(aNotification(chain, {}, { signedDate: 0 }), chain),
      { outcome: "INVALID_NOTIFICATION", type: null },
    ],
    [
      "parts that are no JWS",
      signJws(anEnvelope({ data: anApp({ signedTransactionInfo: "a.b.c" }) }), chain),
      { outcome: "INVALID_NOTIFICATION", type: "DID_RENEW" },
    ],
  ])("%s, counted apart where the App Store did not sign it", async (_, signedPayload, received) => {
    const app = aNotifiedApp();
    const sent = receiveIosStoreNotification(app.reception, { signedPayload });
    expect(await refusal(sent)).toBe("INVALID_NOTIFICATION");
    expect([app.received, app.noted]).toEqual([[received], []]);
  });
});

describe("is sent again later:", () => {
  test("what meets a failure of the table", async () => {
    const app = aNotifiedApp();
    const failing = aNotifiedApp({
      write: () => Promise.reject(new Error("the table is down")),
    });
    expect(await refusal(failing.notify({}, {}))).toBe("STORE_UNAVAILABLE");
    expect(failing.received).toEqual([{ outcome: "INTERNAL_ERROR", type: "DID_RENEW" }]);
    expect(await app.notify({}, {})).toEqual({});
  });
  test("what meets a failure to find the application", async () => {
    const directory = {
      byIdentifier: () => Promise.resolve(null),
      byBundle: () => Promise.reject(new Error("the table is down")),
      byPackage: () => Promise.resolve(null),
    };
    const app = aNotifiedApp({ directory });
    expect(await refusal(app.notify())).toBe("STORE_UNAVAILABLE");
  });
  test("what conflicts in every attempt", async () => {
    const app = aNotifiedApp({ write: () => Promise.resolve("conflict"), pause: () => Promise.resolve() });
    expect(await refusal(app.notify())).toBe("STORE_UNAVAILABLE");
    expect(app.received).toEqual([{ outcome: "TOO_MANY_REQUESTS", type: "DID_RENEW" }]);
  });
});

describe("every type of Apple's, and an unknown one, counts by its content:", () => {
  const parts = aNotification(chain)["data"];
  const SUBJECTS: Readonly<Record<string, Payload>> = {
    EXTERNAL_PURCHASE_TOKEN: {
      externalPurchaseToken: { externalPurchaseId: "4f", bundleId: BUNDLE, appAppleId: APPLE_ID },
    },
    RESCIND_CONSENT: {
      appData: anApp({ signedAppTransactionInfo: signJws(anAppTransaction(), chain) }),
    },
    TEST: { data: anApp() },
  };
  test.each([...Object.values(NotificationTypeV2), "A_TYPE_OF_TOMORROW"])("%s", async (notificationType) => {
    const app = aNotifiedApp();
    const subject = SUBJECTS[notificationType];
    await app.send(anEnvelope({ notificationType, ...(subject ?? { data: parts }) }));
    expect(app.received).toEqual([
      { outcome: subject === undefined ? "STORED" : "UNUSED", type: notificationType },
    ]);
    expect((await app.world.items()).length).toBe(subject === undefined ? 3 : 0);
  });
});

describe("what the App Store asks of the application", () => {
  const HOUR = 3600 * 1000;
  const BACKEND: Destination = { name: "backend", url: "https://api.example.com/hooks", secretEpochs: [] };
  const BUS: Destination = { name: "bus", eventBus: "arn:aws:events:us-east-1:111122223333:event-bus/main" };
  const anAskedApp = (changes: Partial<IosStoreReception> = {}) => {
    const application = aNotifiedApplication({ destinations: [BACKEND, BUS] });
    const app = aNotifiedApp(changes, application);
    const waiting = async () =>
      (await app.world.items())
        .filter(({ sk }) => String(sk).startsWith("REQUEST#"))
        .map(({ pk, data, ...item }): Record<string, unknown> => ({
          ...item,
          destination: String(pk).split("#").at(-1),
          data: JSON.parse(String(data)),
        }))
        .toSorted((a, b) => String(a["destination"]).localeCompare(String(b["destination"])));
    return {
      ...app,
      waiting,
      /** Data of the first destination's request. */
      asked: async () => (await waiting()).map(({ data }) => data)[0],
      identifiers: async () => [...new Set((await waiting()).map(({ request }) => request))],
    };
  };
  const consumption = (fields: Payload = {}, transaction: Payload = {}): Payload =>
    aNotification(
      chain,
      { transaction: aTransaction(transaction) },
      { notificationType: "CONSUMPTION_REQUEST", ...fields },
      { consumptionRequestReason: "UNINTENDED_PURCHASE" },
    );
  const rescission = (fields: Payload = {}): Payload =>
    anEnvelope({
      notificationType: "RESCIND_CONSENT",
      appData: anApp({ signedAppTransactionInfo: signJws(anAppTransaction(), chain) }),
      ...fields,
    });

  test("of a refund waits for each destination, with the purchase's account", async () => {
    const app = anAskedApp();
    const { customerIdentifier } = await app.link("a", {});
    expect(await app.send(consumption())).toEqual({});
    expect(app.received).toEqual([{ outcome: "STORED", type: "CONSUMPTION_REQUEST" }]);
    const waiting = await app.waiting();
    expect(waiting).toMatchObject(
      ["backend", "bus"].map((destination) => ({
        destination,
        type: "store.request",
        timestamp: NOW - 500,
        until: NOW - 500 + 12 * HOUR,
        expiresAt: Math.ceil((NOW - 500 + 12 * HOUR) / 1000),
        tries: 0,
        nextTryAt: 0,
        data: {
          applicationIdentifier: app.world.application.identifier,
          applicationAccountIdentifier: "a",
          assertedBy: "credential",
          customerIdentifier,
          store: "ios-store",
          kind: "CONSUMPTION_REQUEST",
          productIdentifier: PRODUCT,
          transactionIdentifier: "700000000000002",
          answerBy: new Date(NOW - 500 + 12 * HOUR).toISOString(),
          environment: "production",
          bundleIdentifier: BUNDLE,
          reason: "UNINTENDED_PURCHASE",
        },
      })),
    );
    expect(await app.identifiers()).toEqual([expect.stringMatching(/^msg_[0-9a-f]{64}$/)]);
    for (const { data } of waiting) expect(storeRequest().parse(data)).toEqual(data);
  });

  test("costs two reads more, and a write for each destination", async () => {
    const app = anAskedApp();
    await app.link("a", {});
    await app.send(consumption());
    const again = consumption({ notificationUUID: uuid() });
    expect(await requests(() => app.send(again))).toEqual(
      "BatchGetItem BatchGetItem BatchGetItem BatchGetItem PutItem PutItem".split(" "),
    );
  });

  test.each([false, true])(
    "costs nothing where the application has no destination (%s)",
    async (keepsChanges) => {
      const app = aNotifiedApp({}, aNotifiedApplication({ keepsChanges }));
      await app.link("a", {});
      await app.send(consumption());
      expect(await requests(() => app.send(consumption()))).toEqual(["BatchGetItem", "BatchGetItem"]);
      expect(await requests(() => app.send(rescission()))).toEqual([]);
      expect((await app.world.items()).filter(({ sk }) => String(sk).startsWith("REQUEST#"))).toEqual([]);
    },
  );

  test("of an unknown purchase names its new customer, and no account", async () => {
    const app = anAskedApp();
    await app.send(consumption());
    const customer = (await app.world.items()).find(({ sk }) => sk === "CUSTOMER");
    const asked = await app.asked();
    expect(asked).toMatchObject({
      applicationAccountIdentifier: null,
      customerIdentifier: customer?.["customer"],
    });
    expect(asked).not.toHaveProperty("assertedBy");
  });

  test("of an account that only an app claimed says so", async () => {
    const app = anAskedApp();
    await app.world.store(
      { purchases: [owned("700000000000001", { productIdentifier: PRODUCT })] },
      byClient("victim"),
    );
    await app.send(consumption());
    const asked = await app.asked();
    expect(asked).toMatchObject({ applicationAccountIdentifier: "victim", assertedBy: "client" });
    expect(storeRequest().parse(asked)).toEqual(asked);
  });

  test("of a purchase with another Apple Account names the purchase's owner", async () => {
    const app = anAskedApp();
    await app.world.store(
      { identities: [device("704000000000001")], purchases: [owned("9")] },
      byCredential("a"),
    );
    await app.world.store(
      { purchases: [owned("700000000000001", { productIdentifier: PRODUCT })] },
      byCredential("b"),
    );
    await app.send(consumption());
    expect(await app.asked()).toMatchObject({ applicationAccountIdentifier: "b" });
  });

  test("of a withdrawn consent names the person, without product or deadline", async () => {
    const app = anAskedApp();
    const { customerIdentifier } = await app.link("a", {});
    await app.send(rescission());
    expect(app.received).toEqual([{ outcome: "STORED", type: "RESCIND_CONSENT" }]);
    expect(await app.waiting()).toMatchObject([{ until: NOW - 500 + 30 * DAY }, {}]);
    const data = await app.asked();
    expect(data).toEqual({
      applicationIdentifier: app.world.application.identifier,
      applicationAccountIdentifier: "a",
      assertedBy: "credential",
      customerIdentifier,
      store: "ios-store",
      kind: "RESCIND_CONSENT",
      productIdentifier: null,
      transactionIdentifier: null,
      answerBy: null,
      environment: "production",
      bundleIdentifier: BUNDLE,
    });
    expect(storeRequest().parse(data)).toEqual(data);
  });

  test("about an unknown person names nobody and makes nobody", async () => {
    const app = anAskedApp();
    await app.send(rescission());
    expect(await app.asked()).toMatchObject({
      applicationAccountIdentifier: null,
      customerIdentifier: null,
    });
    expect((await app.world.items()).filter(({ sk }) => sk === "CUSTOMER")).toEqual([]);
  });

  test.each(["erased", "being erased"])("about a customer that is %s names nobody", async (what) => {
    const app = anAskedApp({ pause: () => Promise.resolve() });
    await app.link("a", {});
    const customer = await app.world.store({ identities: [device("704000000000001")] });
    await (what === "erased" ? app.world.erase(customer) : app.world.beginErasure(customer));
    await app.send(rescission());
    expect(await app.asked()).toMatchObject({
      applicationAccountIdentifier: null,
      customerIdentifier: null,
    });
    if (what !== "erased") await app.world.erase(customer);
  });

  test("twice is one message while the first waits, whose attempts go on", async () => {
    const app = anAskedApp();
    await app.send(consumption());
    const queue = createDeliveryQueue(table, () => Promise.resolve());
    const destination = { application: app.world.application.identifier, destination: "backend" };
    for await (const page of queue.waiting(destination, 100))
      for (const delivery of page) await queue.retry(destination, delivery, 3, NOW + HOUR);
    await app.send(consumption());
    expect(await app.waiting()).toMatchObject([{ tries: 3, nextTryAt: NOW + HOUR }, { tries: 0 }]);
  });

  test("twice is sent again under the same identifier after the first", async () => {
    const app = anAskedApp();
    await app.send(consumption());
    const [first] = await app.identifiers();
    const queue = createDeliveryQueue(table, () => Promise.resolve());
    const destination = { application: app.world.application.identifier, destination: "backend" };
    for await (const page of queue.waiting(destination, 100))
      for (const delivery of page) await queue.remove(destination, delivery);
    expect(await app.waiting()).toHaveLength(1);
    await app.send(consumption());
    expect(await app.waiting()).toHaveLength(2);
    expect(await app.identifiers()).toEqual([first]);
  });

  test("twice, by notifications of their own, is two messages", async () => {
    const app = anAskedApp();
    await app.send(consumption());
    await app.send(consumption({ notificationUUID: uuid() }));
    expect(await app.identifiers()).toHaveLength(2);
  });

  test("by a notification without identifier is named by its content", async () => {
    const app = anAskedApp();
    const unnamed = { notificationUUID: undefined };
    await app.send(consumption(unnamed));
    await app.send(consumption(unnamed));
    expect(await app.identifiers()).toHaveLength(1);
    await app.send(consumption(unnamed, { transactionId: "700000000000009" }));
    expect(await app.identifiers()).toHaveLength(2);
  });

  test.each<[string, (fields: Payload) => Payload, number]>([
    ["of a refund, after twelve hours", consumption, 12 * HOUR],
    ["when a consent is withdrawn, after thirty days", rescission, 30 * DAY],
  ])("%s, is no longer written", async (_, payload, time) => {
    const app = anAskedApp();
    await app.send(payload({ signedDate: NOW - time, notificationUUID: uuid() }));
    expect(await app.waiting()).toEqual([]);
    await app.send(payload({ signedDate: NOW - time + 1, notificationUUID: uuid() }));
    expect(await app.waiting()).toHaveLength(2);
  });

  test("is sent again by the store after a failed write", async () => {
    const app = anAskedApp();
    const failing = { requests: { add: () => Promise.reject(new Error("the table is down")) } };
    const broken = aNotifiedApp(failing, app.world.application);
    expect(await refusal(broken.send(consumption()))).toBe("STORE_UNAVAILABLE");
    expect([broken.received, broken.noted]).toEqual([
      [{ outcome: "INTERNAL_ERROR", type: "CONSUMPTION_REQUEST" }],
      [],
    ]);
    expect((await app.world.items()).some(({ sk }) => sk === "PURCHASE")).toBe(true);
    expect(await app.waiting()).toEqual([]);
    await app.send(consumption());
    expect(await app.waiting()).toHaveLength(2);
  });

  test("of an environment that is not accepted is not passed on", async () => {
    const app = anAskedApp();
    const { application } = app.world;
    const only = {
      ...application,
      iosStore: application.iosStore.map((one) => ({ ...one, environments: [] })),
    };
    await aNotifiedApp({}, only).send(consumption());
    expect(await app.waiting()).toEqual([]);
  });
});
