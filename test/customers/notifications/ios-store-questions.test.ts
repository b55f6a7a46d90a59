import { HOUR } from "../../../lib/duration.ts";
import { storeRequest } from "../../../lib/contract/messages.ts";
import type { IosStoreReception } from "../../../lib/customers/receive-ios-store-notification.ts";
import { signJws } from "../../../sandbox/ios-store/signing.ts";
import {
  anApp,
  anAppTransaction,
  anEnvelope,
  aNotification,
  aTransaction,
  BUNDLE,
  type Payload,
} from "../../../testing/support/stores/ios-store.ts";
import { NOW } from "../../../testing/support/stores/purchases.ts";
import { aUseCaseTable } from "../../../testing/support/table/use-case-table.ts";
import { byClient, device, owned, requests, WEBHOOK } from "../../../testing/support/world.ts";
import { aNotifiedApplication, chain, notifiedApp, PRODUCT } from "./notified-app.ts";

const table = await aUseCaseTable();
const BUS = { name: "bus", eventBus: "arn:aws:events:us-east-1:111122223333:event-bus/main" };
const APPLE_PERSON = device("704000000000001");
const bought = owned("700000000000001", { productIdentifier: PRODUCT });

const anAskedApp = (changes: Partial<IosStoreReception> = {}) => {
  const app = notifiedApp(table, changes, aNotifiedApplication({ destinations: [WEBHOOK, BUS] }));
  const waiting = async () =>
    (await app.world.items())
      .filter(({ sk }) => String(sk).startsWith("REQUEST#"))
      .map(({ pk, message, ...item }): Record<string, unknown> => ({
        ...item,
        ...(message as object),
        destination: String(pk).split("#").at(-1),
      }))
      .toSorted((a, b) => String(a["destination"]).localeCompare(String(b["destination"])));
  /** Data of the first destination's request. */
  const asked = async () => {
    const data: unknown = JSON.parse(String((await waiting())[0]?.["data"]));
    expect(storeRequest().parse(data)).toEqual(data);
    return data;
  };
  return { ...app, waiting, asked };
};
const consumption = (fields: Payload = {}): Payload =>
  aNotification(
    chain,
    { transaction: aTransaction() },
    { notificationType: "CONSUMPTION_REQUEST", ...fields },
    { consumptionRequestReason: "UNINTENDED_PURCHASE" },
  );
const rescission = (fields: Payload = {}): Payload =>
  anEnvelope({
    notificationType: "RESCIND_CONSENT",
    appData: anApp({ signedAppTransactionInfo: signJws(anAppTransaction(), chain) }),
    ...fields,
  });
const NOBODY = { applicationAccountIdentifier: null, customerIdentifier: null };

describe("what the App Store asks of the application", () => {
  test("of a refund waits for each destination, with the purchase's account", async () => {
    const app = anAskedApp();
    const { customerIdentifier } = await app.link("a", {});
    expect(await app.send(consumption())).toEqual({});
    expect(app.received).toEqual([{ outcome: "STORED", type: "CONSUMPTION_REQUEST" }]);
    const until = NOW - 500 + 12 * HOUR;
    const request = { type: "store.request", timestamp: NOW - 500, until, tries: 0 };
    expect(await app.waiting()).toMatchObject(
      ["backend", "bus"].map((destination) => ({
        destination,
        ...request,
        identifier: expect.stringMatching(/^msg_[0-9a-f]{64}$/),
        timeToLive: Math.ceil(until / 1000),
      })),
    );
    expect(await app.asked()).toEqual({
      applicationIdentifier: app.world.application.identifier,
      applicationAccountIdentifier: "a",
      assertedBy: "credential",
      customerIdentifier,
      store: "ios-store",
      kind: "CONSUMPTION_REQUEST",
      productIdentifier: PRODUCT,
      transactionIdentifier: "700000000000002",
      answerBy: new Date(until).toISOString(),
      environment: "production",
      bundleIdentifier: BUNDLE,
      reason: "UNINTENDED_PURCHASE",
    });
  });

  test.each([false, true])("costs nothing without a destination (%s)", async (keepsChanges) => {
    const app = notifiedApp(table, {}, aNotifiedApplication({ keepsChanges }));
    await app.send(consumption());
    expect(await requests(table, () => app.send(consumption()))).toEqual(["BatchGetItem", "BatchGetItem"]);
    expect(await requests(table, () => app.send(rescission()))).toEqual([]);
    expect((await app.world.items()).filter(({ sk }) => String(sk).startsWith("REQUEST#"))).toEqual([]);
  });

  test("of an unknown purchase names its new customer, and no account", async () => {
    const app = anAskedApp();
    await app.send(consumption());
    const customer = (await app.world.items()).find(({ sk }) => sk === "CUSTOMER");
    const asked = await app.asked();
    expect(asked).toMatchObject({ ...NOBODY, customerIdentifier: customer?.["customer"] });
    expect(asked).not.toHaveProperty("assertedBy");
  });

  test("of an account that only an app claimed says so", async () => {
    const app = anAskedApp();
    await app.world.store({ purchases: [bought] }, byClient("victim"));
    await app.send(consumption());
    expect(await app.asked()).toMatchObject({ applicationAccountIdentifier: "victim", assertedBy: "client" });
  });

  test("of a withdrawn consent names the person, without product or deadline", async () => {
    const app = anAskedApp();
    const { customerIdentifier } = await app.link("a", {});
    await app.send(rescission());
    expect(app.received).toEqual([{ outcome: "STORED", type: "RESCIND_CONSENT" }]);
    const nothing = { productIdentifier: null, transactionIdentifier: null, answerBy: null };
    const person = { applicationAccountIdentifier: "a", customerIdentifier };
    expect(await app.asked()).toMatchObject({ ...person, ...nothing, kind: "RESCIND_CONSENT" });
  });

  test.each(["unknown", "erased", "being erased"])("about a person who is %s names nobody", async (what) => {
    const app = anAskedApp({ pause: () => Promise.resolve() });
    if (what !== "unknown") {
      await app.link("a", {});
      const customer = await app.world.store({ identities: [APPLE_PERSON] });
      await (what === "erased" ? app.world.erase(customer) : app.world.beginErasure(customer));
      await app.send(rescission());
      await app.world.erase(customer);
    } else await app.send(rescission());
    expect(await app.asked()).toMatchObject(NOBODY);
    expect((await app.world.items()).filter(({ sk }) => sk === "CUSTOMER")).toEqual([]);
  });
});
