import { DEMO } from "../../../local/demo.ts";
import { SERVICE_APP, startWholeService, assemblyOf } from "../../../testing/support/local-gateway.ts";
import { grantsOf, type KindAccess } from "../../../testing/support/table/role-gate.ts";

const service = await startWholeService();
afterAll(service.stop);

/** Any JSON; reading a path that does not exist fails the test. */
type Json = ReturnType<typeof JSON.parse>;

const send = async (path: string, init: RequestInit = {}): Promise<Json> => {
  const headers = { Authorization: `Bearer ${service.demo.apiKey}` };
  const response = await fetch(service.address + path, { headers, ...init });
  expect([path, response.ok]).toEqual([path, true]);
  return response.json();
};
const post = (path: string, body: object) => send(path, { method: "POST", body: JSON.stringify(body) });

/** Buys on iOS without linking; the answer is a link request. */
const buyOnIos = (account: string) =>
  post("/sandbox/ios-store/purchases", {
    applicationAccountIdentifier: account,
    environment: "production",
    transactions: [{ productIdentifier: DEMO.iosSubscription, period: "P1M" }],
  });

/** Buys on iOS for an account. Returns what changes the purchase in the store. */
const linkIos = async (account: string) => {
  const bought = await buyOnIos(account);
  await post("/v1/customers/ios-store/link", bought);
  const [original] = bought.originalTransactionIdentifiers;
  return (change: string) => post(`/sandbox/ios-store/purchases/${original}`, { change });
};

/** Buys on Android for an account. Returns what changes the purchase in the store. */
const linkAndroid = async (account: string) => {
  const purchase = { packageName: DEMO.packageName, productKind: "subscription" };
  const { purchaseToken } = await post("/sandbox/android-publisher/purchases", {
    ...purchase,
    productIdentifier: DEMO.androidSubscription,
    basePlanIdentifier: DEMO.androidBasePlan,
  });
  const link = { ...purchase, purchaseToken, applicationAccountIdentifier: account };
  await post("/v1/customers/android-store/link", link);
  return (change: string) => post(`/sandbox/android-publisher/purchases/${purchaseToken}`, { change });
};

const advance = (duration: string) => post("/sandbox/clock", { advance: duration });

const textOf = ({ function: id, action, kind }: KindAccess): string =>
  `${id.replace(/Function\w{8}$/, "")} ${action === "read" ? "reads" : "changes"} ${kind}`;

const notify = async (enabled: boolean): Promise<void> => {
  for (const store of ["ios-store", "android-publisher"])
    await post(`/sandbox/${store}/notifications`, { enabled });
};

/**
 * Accesses that need what this test does not make: another policy of transfers, an answer that names more than was known,
 * or a service that notifications are forwarded to (`test/functions/notifications/forwarding.test.ts`).
 */
const SELDOM: ReadonlySet<string> = new Set([
  "DeliverMessages changes forward",
  "LinkAndroidStoreCustomer changes transfer",
  "ReceiveIosStoreNotification changes forward",
  "RefreshIosStorePurchases changes identity",
  "SweepIosStoreNotifications changes identity",
]);

test("roles allow what the functions do to items, and nothing else", async () => {
  const heard = await linkIos("heard");
  const reviewed = await linkAndroid("heard-android");
  await heard("consumption-request");
  await reviewed("refund-review");
  await advance("P1M");

  // The sweep finds the notifications that the receiver could not take.
  service.roles.failFor("ReceiveIosStoreNotification");
  const swept = await linkIos("swept");
  await swept("consumption-request");
  await advance("PT3H");
  service.roles.failFor(null);

  // Without notifications, the stores are asked.
  await notify(false);
  const claimed = await buyOnIos("claimed");
  await post("/v1/customers/ios-store/synchronize", claimed);
  // A claim gives way to a credential.
  await post("/v1/customers/ios-store/link", { ...claimed, applicationAccountIdentifier: "linked" });
  const asked = await linkAndroid("asked-android");
  await linkIos("asked");
  await advance("PT2H");
  await asked("revoke");
  await advance("P2M");

  await send("/v1/customers/heard/entitlements");
  await send("/v1/changes");

  const granted = grantsOf(await assemblyOf(SERVICE_APP));
  const used = new Set(service.roles.allowed.map((access) => textOf(access)));
  const unused = granted.map((grant) => textOf(grant)).filter((grant) => !used.has(grant));
  expect(unused.filter((grant) => !SELDOM.has(grant))).toEqual([]);
  expect(service.roles.denied).toEqual([]);
}, 240_000);
