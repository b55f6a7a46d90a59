import { NotificationTypeV2 } from "@apple/app-store-server-library";
import type { ErrorCode } from "../../../lib/contract/errors.ts";
import type { IosStoreReception } from "../../../lib/customers/receive-ios-store-notification.ts";
import { makeChain, signJws } from "../../../sandbox/ios-store/signing.ts";
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
} from "../../../testing/support/stores/ios-store.ts";
import { DAY, NOW } from "../../../testing/support/stores/purchases.ts";
import { aUseCaseTable } from "../../../testing/support/table/use-case-table.ts";
import { device, refusal, requests as requestsTo } from "../../../testing/support/world.ts";
import { aNotifiedApplication, chain, notifiedApp } from "./notified-app.ts";

const table = await aUseCaseTable();
const aNotifiedApp = (
  changes: Partial<IosStoreReception> = {},
  application = aNotifiedApplication(),
): ReturnType<typeof notifiedApp> => notifiedApp(table, changes, application);
const requests = (act: () => Promise<unknown>): Promise<string[]> => requestsTo(table, act);

const REFUND: Payload = { revocationDate: NOW - 3 * DAY, revocationReason: 1, signedDate: NOW - 2 * DAY };
const RENEWED = { outcome: "STORED", type: "DID_RENEW" };

describe("a notification", () => {
  test("of an unknown purchase makes a customer that a later link finds", async () => {
    const app = aNotifiedApp();
    expect(await app.notify({}, {})).toEqual({});
    expect(app.received).toEqual([RENEWED]);
    const items = await app.world.items();
    expect(items.filter(({ sk }) => sk === "CUSTOMER").map(({ link }) => link)).toEqual([null]);
    expect(items.filter(({ pk }) => String(pk).includes("#ACCOUNT#"))).toEqual([]);
    await app.link("a");
    expect(await app.statusAt("a")).toMatchObject({ status: "active", willRenew: true });
  });

  test("that comes again writes nothing, however late", async () => {
    const app = aNotifiedApp();
    await app.link("a", {});
    await app.notify({ signedDate: NOW - 500 }, {});
    const before = await app.world.items();
    const again = app.at(NOW + 100 * DAY);
    await again.notify({ signedDate: NOW - 500 }, {});
    expect(await app.world.items()).toEqual(before);
    expect(again.received).toEqual([RENEWED]);
  });

  test("of a refund is undone by nothing that was signed before it", async () => {
    const app = aNotifiedApp();
    await app.link("a", {});
    await app.notify({ ...REFUND, signedDate: NOW - 500 }, null, { notificationType: "REFUND" });
    await app.notify({ signedDate: NOW - 1000 }, {}, { notificationType: "REFUND_REVERSED" });
    await app.synchronize({ signedDate: NOW - 1000 });
    expect(await app.statusAt("a")).toMatchObject({ status: "revoked", active: false });
    await app.notify({ signedDate: NOW }, null, { notificationType: "REFUND_REVERSED" });
    expect(await app.statusAt("a")).toMatchObject({ status: "active" });
  });

  test("of renewal info alone counts for a known lineage only", async () => {
    const app = aNotifiedApp();
    await app.notify(null, { autoRenewStatus: 0 });
    expect(await app.world.items()).toEqual([]);
    await app.link("a", {});
    await app.notify(null, { autoRenewStatus: 0 });
    expect(await app.statusAt("a")).toMatchObject({ status: "active", willRenew: false });
  });
});

test("a grace period of which only the notification's status tells keeps access", async () => {
  const END = NOW + 20 * DAY;
  const failing = { autoRenewStatus: 1, isInBillingRetryPeriod: true, expirationIntent: 2 };
  const parts = {
    transaction: aTransaction({ signedDate: END + 1000 }),
    renewalInfo: aRenewalInfo({ signedDate: END + 1000, ...failing }),
  };
  const app = aNotifiedApp();
  await app.link("a", {});
  for (const [status, shown] of [
    [3, "billing_retry"],
    [4, "grace_period"],
    // The same renewal info with another status takes nothing back.
    [3, "grace_period"],
  ] as const) {
    await app.at(END + 2000).send(aNotification(chain, parts, { signedDate: END + 1500 }, { status }));
    expect(await app.statusAt("a", END + DAY)).toMatchObject({ status: shown });
  }
});

describe("is authentic and unused:", () => {
  test.each([
    ["the sandbox is", { environments: ["production"] }, "Sandbox"],
    ["production is", { environments: ["sandbox"] }, "Production"],
    ["production is, without an Apple ID,", { appAppleIdentifier: null }, "Production"],
  ] as const)("one of an environment where %s not accepted, which leaves no time", async (...row) => {
    const [, changes, environment] = row;
    const app = aNotifiedApp({}, aNotifiedApplication({ iosStore: [aBundle(changes)] }));
    const parts = { transaction: aTransaction({ environment }), renewalInfo: null };
    const payload = aNotification(chain, parts, {}, { environment });
    expect(await requests(() => app.send(payload))).toEqual([]);
    expect([app.received, app.noted]).toEqual([[{ outcome: "UNUSED", type: "DID_RENEW" }], []]);
  });

  test("one of an erased customer, and it lifts nothing", async () => {
    const app = aNotifiedApp();
    await app.link("a", {});
    await app.world.erase(await app.world.store({ identities: [device("704000000000001")] }));
    await app.notify({ signedDate: NOW }, {});
    expect(app.received).toEqual([{ outcome: "UNUSED", type: "DID_RENEW" }]);
    expect((await app.world.read("a")).entitlements).toEqual([]);
  });
});

const strangers = makeChain();
const signed = (payload: object) => signJws(payload, chain);
const ofApp = (fields: Payload) => signed(aNotification(chain, {}, {}, fields));
const of = (fields: Payload) => signed(aNotification(chain, { transaction: aTransaction(fields) }));
test.each<[what: string, signedPayload: string, outcome: ErrorCode | "FORGED"]>([
  ["another tenant's bundle", ofApp({ bundleId: "com.example.other" }), "APPLICATION_NOT_FOUND"],
  ["another app's Apple ID", ofApp({ appAppleId: 7 }), "INVALID_NOTIFICATION"],
  ["a transaction of another bundle", of({ bundleId: "com.example.other" }), "INVALID_NOTIFICATION"],
  ["parts that a stranger signed", signed(aNotification(strangers)), "INVALID_NOTIFICATION"],
  ["a transaction in its place", signed(aTransaction()), "INVALID_NOTIFICATION"],
  ["a stranger's signature", signJws(aNotification(chain), strangers), "FORGED"],
  ["no JWS", "a.b.c", "FORGED"],
])("is refused, and nothing is stored or noted: %s", async (_, signedPayload, outcome) => {
  const code = outcome === "FORGED" ? "INVALID_NOTIFICATION" : outcome;
  const app = aNotifiedApp();
  const act = async () => expect(await refusal(app.sendSigned(signedPayload))).toBe(code);
  expect(await requests(act)).toEqual([]);
  expect([app.received.map((one) => one.outcome), app.noted]).toEqual([[outcome], []]);
});

const fails = () => Promise.reject(new Error("the table is down"));
const conflicts = () => Promise.resolve("conflict" as const);
test.each<[what: string, changes: Partial<IosStoreReception>, outcome: string]>([
  ["a failure of the table", { write: fails }, "INTERNAL_ERROR"],
  ["a conflict in every attempt", { write: conflicts, pause: () => Promise.resolve() }, "TOO_MANY_REQUESTS"],
])("is sent again later: what meets %s", async (_, changes, outcome) => {
  const app = aNotifiedApp(changes);
  expect(await refusal(app.notify({}, {}))).toBe("STORE_UNAVAILABLE");
  expect(app.received).toEqual([{ outcome, type: "DID_RENEW" }]);
});

describe("every type of Apple's, and an unknown one, counts by its content:", () => {
  const parts = aNotification(chain)["data"];
  const SUBJECTS: Readonly<Record<string, Payload>> = {
    EXTERNAL_PURCHASE_TOKEN: {
      externalPurchaseToken: { externalPurchaseId: "4f", bundleId: BUNDLE, appAppleId: APPLE_ID },
    },
    RENEWAL_EXTENSION: { subtype: "SUMMARY", summary: anApp() },
    RESCIND_CONSENT: { appData: anApp({ signedAppTransactionInfo: signJws(anAppTransaction(), chain) }) },
    TEST: { data: anApp({ environment: "Sandbox" }) },
  };
  test.each([...Object.values(NotificationTypeV2), "A_TYPE_OF_TOMORROW"])("%s", async (notificationType) => {
    const app = aNotifiedApp();
    const subject = SUBJECTS[notificationType];
    await app.send(anEnvelope({ notificationType, ...(subject ?? { data: parts }) }));
    const outcome = subject === undefined ? "STORED" : "UNUSED";
    expect(app.received).toEqual([{ outcome, type: expect.stringContaining(notificationType) }]);
    const environment = notificationType === "TEST" ? "sandbox" : "production";
    expect(app.noted).toEqual([[BUNDLE, environment, NOW - 500]]);
    expect((await app.world.items()).length).toBe(subject === undefined ? 3 : 0);
  });
});
