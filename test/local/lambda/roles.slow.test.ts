import { followPurchases } from "../../support/followed-purchases.ts";
import { SERVICE_APP, startWholeService, assemblyOf } from "../../../testing/support/local-gateway.ts";
import { grantsOf, type KindAccess } from "../../../testing/support/table/role-gate.ts";

const service = await startWholeService();
afterAll(service.stop);
const followed = followPurchases(service);

const textOf = ({ function: id, action, kind }: KindAccess): string =>
  `${id.replace(/Function\w{8}$/, "")} ${action === "read" ? "reads" : "changes"} ${kind}`;

const notify = async (enabled: boolean): Promise<void> => {
  for (const store of ["ios-store", "android-publisher"])
    await followed.post(`/sandbox/${store}/notifications`, { enabled });
};

/**
 * Accesses that need what this test does not make: a store that does not answer the link (`test/functions/observability/log.test.ts` makes
 * it), another policy of transfers, an answer that names more than was known, or a service that notifications are forwarded to
 * (`test/functions/forwarding.test.ts`).
 */
const SELDOM: ReadonlySet<string> = new Set([
  "DeliverMessages changes forward",
  "LinkAndroidStoreCustomer changes transfer",
  "ReceiveIosStoreNotification changes forward",
  "RefreshIosStorePurchases changes identity",
  "SweepIosStoreNotifications changes identity",
]);

test("roles allow what the functions do to items, and nothing else", async () => {
  const heard = await followed.onIos("heard");
  const reviewed = await followed.onAndroid("heard-android");
  await heard("consumption-request");
  await reviewed("refund-review");
  await followed.move({ advance: "P1M" });

  // The sweep finds the notifications that the receiver could not take.
  service.roles.failFor("ReceiveIosStoreNotification");
  const swept = await followed.onIos("swept");
  await swept("consumption-request");
  await followed.move({ advance: "PT3H" });
  service.roles.failFor(null);

  // Without notifications, the stores are asked.
  await notify(false);
  const claimed = await followed.buyOnIos("claimed");
  await followed.post("/v1/customers/ios-store/synchronize", claimed);
  // A claim gives way to a credential.
  await followed.post("/v1/customers/ios-store/link", { ...claimed, applicationAccountIdentifier: "linked" });
  const asked = await followed.onAndroid("asked-android");
  await followed.onIos("asked");
  await followed.move({ advance: "PT2H" });
  await asked("revoke");
  await followed.move({ advance: "P2M" });

  await followed.read("heard");
  await followed.get("/v1/changes");

  const granted = grantsOf(await assemblyOf(SERVICE_APP));
  const used = new Set(service.roles.allowed.map((access) => textOf(access)));
  const unused = granted.map((grant) => textOf(grant)).filter((grant) => !used.has(grant));
  expect(unused.filter((grant) => !SELDOM.has(grant))).toEqual([]);
  expect(service.roles.denied).toEqual([]);
}, 240_000);
