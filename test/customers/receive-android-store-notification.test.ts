import type { AndroidStoreConfiguration, Application } from "../../lib/applications/application.ts";
import type { Destination } from "../../lib/applications/destination.ts";
import { storeRequest } from "../../lib/contract/store-request.ts";
import { linkAndroidStoreCustomer } from "../../lib/customers/link-android-store-customer.ts";
import { readAccountEntitlements } from "../../lib/customers/read-account-entitlements.ts";
import {
  receiveAndroidStoreNotification,
  type AndroidStoreReception,
} from "../../lib/customers/receive-android-store-notification.ts";
import { accountId, customerId } from "../../lib/identifiers.ts";
import { createPushTokenVerifier } from "../../lib/stores/android-store/push-token.ts";
import { createAskQueues } from "../../lib/table/queues/asks.ts";
import { createCustomerTable } from "../../lib/table/customers/customers.ts";
import { createStoreRequestQueue } from "../../lib/table/telling/store-requests.ts";
import {
  aOneTimeAnswer,
  aOneTimeLine,
  aSubscriptionAnswer,
  aGoogleError,
  DAY,
  NOW,
  PACKAGE_NAME,
  startAndroidStore,
  type LocalAndroidStore,
} from "../../testing/support/android-store.ts";
import { aCatalog, aProduct } from "../../testing/support/purchases.ts";
import {
  AUDIENCE,
  makePushKey,
  SERVICE_ACCOUNT,
  startKeyServer,
  type KeyServer,
  type PushKey,
} from "../../testing/support/push-tokens.ts";
import { askGoogle } from "../../lib/customers/asking/ask-google.ts";
import { pendingIn, type TestTable } from "../../testing/support/table.ts";
import { createWorld, refusal, requests } from "../../testing/support/world.ts";
import { anApplication, directoryOf } from "../../testing/support/application.ts";
import { createMemoryTable } from "../../testing/support/memory-table.ts";

const ADDRESS = "https://here.example.com/live/v1/notifications/android-store";
const OTHER_PACKAGE = "com.example.other";

let table: TestTable;
let local: LocalAndroidStore;
let key: PushKey;
let keyServer: KeyServer;
beforeAll(async () => {
  [table, local, key] = await Promise.all([
    createMemoryTable(),
    startAndroidStore(),
    makePushKey(() => NOW, "a"),
  ]);
  keyServer = await startKeyServer(key);
});
afterAll(() => Promise.all([table.remove(), local.close(), keyServer.close()]));
beforeEach(() => {
  local.sandbox.calls.length = 0;
  local.sandbox.clearFaults();
});

interface Pushed {
  readonly data?: unknown;
  readonly claims?: Record<string, unknown>;
  readonly authorization?: string | null;
}

/** An application with a package whose notifications are pushed, and a stranger's application with another package. */
const aWorld = (
  changes: Partial<AndroidStoreConfiguration> = {},
  destinations: readonly Destination[] = [],
) => {
  const applicationWith = (packageName: string): Application =>
    anApplication({
      androidStore: [
        {
          ...local.androidPackage,
          packageName,
          environments: ["production", "sandbox"],
          notifications: { serviceAccount: SERVICE_ACCOUNT, audience: AUDIENCE },
          ...changes,
        },
      ],
      catalog: aCatalog(
        ["premium", "maps", "tiles"].map((name) =>
          aProduct({ store: "android-store", productIdentifier: name, grants: [name] }),
        ),
      ),
      destinations,
    });
  const application = applicationWith(PACKAGE_NAME);
  const directory = directoryOf(application, { ...applicationWith(OTHER_PACKAGE), androidStore: [] });
  const world = createWorld(table, { application, pause: () => Promise.resolve() });
  const received: unknown[] = [];
  const noted: unknown[] = [];
  const at = (moment: number, changed: Partial<AndroidStoreReception> = {}) => {
    const now = () => moment;
    const reception: AndroidStoreReception = {
      ...world.at(moment).factStore,
      directory,
      androidStore: local.store({ now }),
      asks: createAskQueues(table),
      pushTokens: createPushTokenVerifier({ certificatesUrl: keyServer.url, now: () => NOW }),
      note: (store, signedAt) => {
        noted.push({ ...store, signedAt });
        return Promise.resolve();
      },
      requests: createStoreRequestQueue(table),
      onReceived: (what) => received.push(what),
      ...changed,
    };
    const push = async ({ data, claims, authorization }: Pushed) =>
      receiveAndroidStoreNotification(reception, {
        request: {
          message: {
            ...(data !== undefined && {
              data: typeof data === "string" ? data : Buffer.from(JSON.stringify(data)).toString("base64"),
            }),
          },
        },
        authorization: authorization === undefined ? `Bearer ${await key.sign(claims)}` : authorization,
        address: ADDRESS,
      });
    return {
      push,
      notify: (members: object, pushed: Omit<Pushed, "data"> = {}) =>
        push({ ...pushed, data: { version: "1.0", packageName: PACKAGE_NAME, ...members } }),
      subscription: (purchaseToken: string, notificationType = 4) =>
        push({
          data: {
            packageName: PACKAGE_NAME,
            subscriptionNotification: { version: "1.0", notificationType, purchaseToken },
          },
        }),
      oneTime: (purchaseToken: string, notificationType = 1) =>
        push({
          data: {
            packageName: PACKAGE_NAME,
            oneTimeProductNotification: { version: "1.0", notificationType, purchaseToken },
          },
        }),
      link: (
        purchaseToken: string,
        request: {
          account?: string;
          productKind?: "subscription" | "one_time_product";
          productIdentifier?: string;
        } = {},
      ) =>
        linkAndroidStoreCustomer(reception, application.identifier, {
          packageName: PACKAGE_NAME,
          purchaseToken,
          productKind: request.productKind ?? "subscription",
          productIdentifier: request.productIdentifier,
          applicationAccountIdentifier: request.account ?? "user-1",
        }),
      /** Asks about what is due, as the schedule does. */
      refresh: async (): Promise<number> => {
        const environments = ["production", "sandbox"] as const;
        const due = await Promise.all(
          environments.map(async (environment) =>
            createAskQueues(table)
              .of({
                application: application.identifier,
                store: "android-store",
                environment,
                bundleOrPackage: PACKAGE_NAME,
              })
              .due(moment, 10),
          ),
        );
        for (const one of due.flat()) await askGoogle(reception, application, one);
        return due.flat().length;
      },
      read: async (account = "user-1") => {
        const { entitlements } = await readAccountEntitlements(
          reception,
          application.identifier,
          accountId(account),
        );
        return entitlements.map(({ identifier, status, expiresAt }) => ({ identifier, status, expiresAt }));
      },
    };
  };
  return {
    ...at(NOW),
    at,
    application,
    received,
    noted,
    queued: async () =>
      (await pendingIn(table)).filter((due) => due.application === application.identifier).length,
    items: async () => await table.items(application.identifier),
  };
};

const buy = (changes: object = {}): string =>
  local.sandbox.buy({
    packageName: PACKAGE_NAME,
    productKind: "subscription",
    productIdentifier: "premium",
    basePlanIdentifier: "monthly",
    ...changes,
  });
const buyOnce = (changes: object = {}): string =>
  buy({
    productKind: "one_time_product",
    productIdentifier: "maps",
    basePlanIdentifier: undefined,
    ...changes,
  });
const isAcknowledged = (token: string): boolean =>
  local.sandbox.read(token)?.answer.acknowledgementState === "ACKNOWLEDGEMENT_STATE_ACKNOWLEDGED";
const asked = (): number => local.sandbox.calls.filter(({ endpoint }) => endpoint === "publisher").length;

describe("an unknown purchase", () => {
  test("makes a customer without an account, acknowledged only by the link", async () => {
    const world = aWorld();
    const token = buy();
    expect(await world.subscription(token)).toEqual({});
    expect(world.received).toEqual([{ outcome: "STORED", type: "subscription 4" }]);
    expect(isAcknowledged(token)).toBe(false);
    expect(await world.queued()).toBe(1);
    expect((await world.items()).length).toBe(3);

    const { entitlements } = await world.link(token);
    expect(entitlements).toMatchObject([{ identifier: "premium", status: "active" }]);
    expect(isAcknowledged(token)).toBe(true);
    expect(await world.queued()).toBe(0);
  });

  test("that is pending is stored, and grants once linked and paid", async () => {
    const world = aWorld();
    const token = buy({ pending: true });
    await world.subscription(token);
    expect((await world.link(token)).entitlements).toEqual([]);
    local.sandbox.change(token, "complete");
    await world.at(NOW + 1).subscription(token);
    expect(await world.read()).toMatchObject([{ identifier: "premium", status: "active" }]);
    expect(isAcknowledged(token)).toBe(true);
  });

  test("that was refunded before anybody linked it grants nothing after the link", async () => {
    const world = aWorld();
    const token = buyOnce();
    await world.oneTime(token);
    local.sandbox.change(token, "refund");
    await world.at(NOW + 1).notify({
      voidedPurchaseNotification: { purchaseToken: token, orderId: "GPA.1", productType: 2, refundType: 1 },
    });
    const { entitlements } = await world
      .at(NOW + 2)
      .link(token, { productKind: "one_time_product", productIdentifier: "maps" });
    expect(entitlements).toMatchObject([{ identifier: "maps", status: "revoked", active: false }]);
  });
});

describe("a known purchase", () => {
  const linked = async (world: ReturnType<typeof aWorld>, changes: object = {}): Promise<string> => {
    const token = buy(changes);
    await world.link(token);
    local.sandbox.calls.length = 0;
    return token;
  };

  test("that renewed is active until its new end, in one transaction", async () => {
    const world = aWorld();
    const token = await linked(world);
    const [before] = await world.read();
    local.sandbox.change(token, "renew");
    const sent = await requests(table, () => world.at(NOW + DAY).subscription(token, 2));
    expect(sent).toEqual(["BatchGet", "BatchGet", "TransactWrite"].map(expect.stringContaining));
    const [after] = await world.read();
    expect(Date.parse(after?.expiresAt ?? "")).toBeGreaterThan(Date.parse(before?.expiresAt ?? ""));

    const items = await world.items();
    const again = await requests(table, () => world.at(NOW + DAY + 1_000).subscription(token, 2));
    // It teaches nothing, so Google is asked once more.
    expect(again).toEqual(["BatchGet", "BatchGet", "TransactWrite"].map(expect.stringContaining));
    expect(await world.items()).toHaveLength(items.length);
    expect(asked()).toBe(2);
  });

  test.each([
    ["grace", 6, "grace_period"],
    ["hold", 5, "billing_retry"],
    ["pause", 10, "paused"],
    ["expire", 13, "expired"],
    ["cancel", 3, "active"],
  ] as const)("that went through %s is %3$s", async (change, type, status) => {
    const world = aWorld();
    const token = await linked(world);
    local.sandbox.change(token, change);
    await world.at(NOW + 1_000).subscription(token, type);
    expect(await world.at(NOW + 2_000).read()).toMatchObject([{ identifier: "premium", status }]);
  });

  describe("whose notification teaches nothing", () => {
    const asksOf = async (world: ReturnType<typeof aWorld>): Promise<readonly number[]> =>
      (await world.items())
        .filter(({ pk, sk }) => String(pk).includes("#ASK#") && /^\d/.test(String(sk)))
        .map(({ dueAt }) => Number(dueAt) - NOW);
    const MINUTE = 60_000;

    test.each([4, 12, 17])("is asked about once more after a minute, whatever its type: %i", async (type) => {
      const world = aWorld();
      const token = await linked(world);
      const [before] = await asksOf(world);
      await world.at(NOW + 1_000).subscription(token, type);
      expect(await asksOf(world)).toEqual([1_000 + MINUTE]);
      const items = await world.items();
      await world.at(NOW + 2_000).subscription(token, type);
      expect(await world.items()).toEqual(items);
      expect(await world.at(NOW + 1_000 + MINUTE).refresh()).toBe(1);
      expect(await asksOf(world)).toEqual([before]);
    });
    test("has what it told of once Google shows it", async () => {
      const world = aWorld();
      const token = await linked(world);
      await world.at(NOW + 1_000).subscription(token, 12);
      local.sandbox.change(token, "revoke");
      await world.at(NOW + 1_000 + MINUTE).refresh();
      expect(await world.at(NOW + 2 * MINUTE).read()).toMatchObject([{ status: "expired" }]);
    });
    test("is asked about by its facts where it teaches something", async () => {
      const world = aWorld();
      const token = await linked(world);
      local.sandbox.change(token, "renew");
      await world.at(NOW + DAY).subscription(token, 2);
      expect((await asksOf(world))[0]).toBeGreaterThan(2 * DAY);
    });
  });

  test("is what the store says, whatever type and order the notifications have", async () => {
    const world = aWorld();
    const token = await linked(world);
    for (const type of [13, 12, 5, 2, 999, 0]) await world.at(NOW + type).subscription(token, type);
    expect(await world.read()).toMatchObject([{ identifier: "premium", status: "active" }]);
    local.sandbox.change(token, "expire");
    for (const type of [2, 4, 1]) await world.at(NOW + DAY + type).subscription(token, type);
    expect(await world.at(NOW + DAY + 10).read()).toMatchObject([
      { identifier: "premium", status: "expired" },
    ]);
  });

  test("is not revoked by one renewal's void while its token is active", async () => {
    const world = aWorld();
    const token = await linked(world);
    await world.at(NOW + 1_000).notify({
      voidedPurchaseNotification: {
        purchaseToken: token,
        orderId: "GPA.1..0",
        productType: 1,
        refundType: 1,
      },
    });
    expect(await world.read()).toMatchObject([{ identifier: "premium", status: "active" }]);
  });

  describe("that Google voids, and whose token it does not know any more,", () => {
    const voids =
      (world: ReturnType<typeof aWorld>, purchaseToken: string) =>
      async (
        moment: number,
        fields: object = {},
        reason = "purchaseTokenNotFound",
      ): Promise<string | null> => {
        const status = reason === "purchaseTokenNotFound" ? 404 : 410;
        const fault = { status, body: aGoogleError(status, reason) };
        local.sandbox.failNext("publisher", fault, fault);
        const voided = { purchaseToken, orderId: "GPA.1", productType: 2, refundType: 1, ...fields };
        const sent = world.at(moment).notify({
          eventTimeMillis: String(NOW + 1_000),
          voidedPurchaseNotification: voided,
        });
        const code = await sent.then(
          () => null,
          (error: { readonly code: string }) => error.code,
        );
        local.sandbox.clearFaults();
        return code;
      };
    const owned = async (world: ReturnType<typeof aWorld>): Promise<string> => {
      const token = buyOnce();
      await world.link(token, { productKind: "one_time_product", productIdentifier: "maps" });
      return token;
    };

    test.each(["purchaseTokenNotFound", "purchaseTokenNoLongerValid"])(
      "is revoked if it is a one-time purchase: %s",
      async (reason) => {
        const world = aWorld();
        const voidAt = voids(world, await owned(world));
        expect(await voidAt(NOW + 2_000, {}, reason)).toBeNull();
        expect(world.received).toEqual([{ outcome: "STORED", type: "voided_purchase 2" }]);
        expect(await world.at(NOW + 3_000).read()).toMatchObject([{ identifier: "maps", status: "revoked" }]);
        const items = await world.items();
        expect(await voidAt(NOW + DAY, {}, reason)).toBeNull();
        expect(await world.items()).toEqual(items);
      },
    );

    test("is not revoked by a partial void", async () => {
      const world = aWorld();
      const voidAt = voids(world, await owned(world));
      expect(await voidAt(NOW + 2_000, { refundType: 2 })).toBe("STORE_UNAVAILABLE");
      expect(await world.at(NOW + 3_000).read()).toMatchObject([{ identifier: "maps", status: "active" }]);
    });

    test.each([1, 2])("is not revoked if it is a subscription, voided as type %i", async (productType) => {
      const world = aWorld();
      const voidAt = voids(world, await linked(world));
      expect(await voidAt(NOW + 2_000, { productType })).toBe("STORE_UNAVAILABLE");
      expect(await world.at(NOW + 3_000).read()).toMatchObject([{ identifier: "premium", status: "active" }]);
    });

    test("is not stored if it is unknown here", async () => {
      const world = aWorld();
      expect(await voids(world, buyOnce())(NOW + DAY)).toBeNull();
      expect(world.received).toEqual([{ outcome: "UNUSED", type: "voided_purchase 2" }]);
      expect(await world.items()).toEqual([]);
    });
  });

  test("keeps the later answer when an older one arrives after it", async () => {
    const world = aWorld();
    const token = await linked(world);
    local.sandbox.change(token, "expire");
    await world.at(NOW + 2_000).subscription(token);
    local.sandbox.put(token, {
      packageName: PACKAGE_NAME,
      productKind: "subscription",
      answer: aSubscriptionAnswer(),
    });
    await world.at(NOW + 1_000).subscription(token);
    expect(await world.at(NOW + 3_000).read()).toMatchObject([{ status: "expired" }]);
  });

  test("that an account's new purchase replaces is followed and acknowledged", async () => {
    const world = aWorld();
    const old = await linked(world);
    const token = buy({ replaces: old });
    await world.at(NOW + 1_000).subscription(token);
    expect(await world.at(NOW + 2_000).read()).toMatchObject([{ identifier: "premium", status: "active" }]);
    expect(isAcknowledged(token)).toBe(true);
    expect(await world.queued()).toBe(0);
  });

  test("whose acknowledgement fails stays in the queue", async () => {
    const world = aWorld();
    const old = await linked(world);
    const token = buy({ replaces: old });
    const answer = local.sandbox.read(token)?.answer;
    local.sandbox.failNext("publisher", { status: 200, body: answer }, { status: 500 }, { status: 500 });
    expect(await world.at(NOW + 1_000).subscription(token)).toEqual({});
    expect(await world.queued()).toBe(1);
    expect(isAcknowledged(token)).toBe(false);
  });

  test("that names purchases of two accounts follows the replaced one", async () => {
    const world = aWorld();
    const [one, two] = [buy(), buy()];
    await world.link(one, { account: "user-1" });
    await world.link(two, { account: "user-2" });
    const token = buy({ replaces: one, resubscribes: two });
    expect(await world.at(NOW + 1_000).subscription(token)).toEqual({});
    expect(world.received).toEqual([{ outcome: "STORED", type: "subscription 4" }]);
    expect(isAcknowledged(token)).toBe(true);
    for (const account of ["user-1", "user-2"])
      expect(await world.at(NOW + 2_000).read(account)).toMatchObject([{ status: "active" }]);
  });
});

describe("the selection of a one-time purchase", () => {
  const bundle = (): string => {
    const token = buyOnce();
    local.sandbox.put(token, {
      packageName: PACKAGE_NAME,
      productKind: "one_time_product",
      answer: aOneTimeAnswer({ productLineItem: [aOneTimeLine("maps"), aOneTimeLine("tiles")] }),
    });
    return token;
  };
  const selected = async (world: ReturnType<typeof aWorld>, token: string, productIdentifier?: string) => {
    const product = productIdentifier === undefined ? {} : { productIdentifier };
    const { entitlements } = await world.link(token, { productKind: "one_time_product", ...product });
    return entitlements.map(({ identifier }) => identifier);
  };

  test("is not widened by a notification", async () => {
    const world = aWorld();
    const token = bundle();
    expect(await selected(world, token, "maps")).toEqual(["maps"]);
    await world.at(NOW + 1_000).oneTime(token);
    expect((await world.read()).map(({ identifier }) => identifier)).toEqual(["maps"]);
  });

  test.each([
    ["one product", "tiles", ["tiles"]],
    ["all products", undefined, ["maps", "tiles"]],
  ])("of %s is the link's, when a notification came first", async (_, product, entitlements) => {
    const world = aWorld();
    const token = bundle();
    await world.oneTime(token);
    expect(await selected(world, token, product)).toEqual(entitlements);
  });

  test("is the link's, when the store has dropped what a notification stored", async () => {
    const world = aWorld();
    const token = bundle();
    await world.oneTime(token);
    local.sandbox.drop(token);
    expect(await selected(world, token, "tiles")).toEqual(["tiles"]);
  });
});

describe("a useless notification is answered 200, stores nothing, and says so", () => {
  test.each<[what: string, members: () => object, type: string]>([
    ["a test", () => ({ testNotification: { version: "1.0" } }), "test"],
    ["of an unknown type", () => ({ newNotification: {} }), "unknown"],
    ["without a token", () => ({ subscriptionNotification: { notificationType: 4 } }), "subscription 4"],
    [
      "a refund to be reviewed",
      () => ({ pendingRefundReviewNotification: { orderId: "GPA.1" } }),
      "pending_refund_review",
    ],
  ])("%s, without asking the store", async (_, members, type) => {
    const world = aWorld();
    expect(await world.notify(members())).toEqual({});
    expect(world.received).toEqual([{ outcome: "UNUSED", type }]);
    expect([asked(), await world.items()]).toEqual([0, []]);
  });

  test.each<[what: string, token: () => string]>([
    ["of a token that the store does not know", () => "unknown"],
    [
      "of a purchase that the store has dropped",
      () => {
        const token = buy();
        local.sandbox.drop(token);
        return token;
      },
    ],
    ["of a purchase of another kind", () => buyOnce()],
  ])("%s", async (_, token) => {
    const world = aWorld();
    expect(await world.subscription(token())).toEqual({});
    expect(world.received).toEqual([{ outcome: "UNUSED", type: "subscription 4" }]);
    expect(await world.items()).toEqual([]);
  });

  test("of an environment that is not accepted", async () => {
    const world = aWorld({ environments: ["production"] });
    await world.subscription(buy({ test: true }));
    expect(world.received).toEqual([{ outcome: "UNUSED", type: "subscription 4" }]);
    expect(await world.items()).toEqual([]);
  });

  test("of an erased customer", async () => {
    const world = aWorld();
    const token = buy();
    const { customerIdentifier } = await world.link(token);
    const operated = createWorld(table, { application: world.application });
    await operated.erase({
      identifier: customerId(customerIdentifier ?? ""),
      holdings: [],
    });
    const items = await world.items();
    expect(await world.at(NOW + 1_000).subscription(token)).toEqual({});
    expect(world.received).toEqual([{ outcome: "UNUSED", type: "subscription 4" }]);
    expect(await world.items()).toEqual(items);
  });

  test.each([
    ["no data", undefined],
    ["data that is no base64", "%%%"],
    ["data that is no JSON", Buffer.from("{").toString("base64")],
    ["no package", { subscriptionNotification: { notificationType: 4, purchaseToken: "t" } }],
  ])("with %s, where the audience is this route's address", async (_, data) => {
    const world = aWorld();
    expect(await world.push({ data, claims: { aud: ADDRESS, email: "other@example.com" } })).toEqual({});
    expect(world.received).toEqual([{ outcome: "UNUSED", type: null }]);
  });
});

describe("a push is refused with INVALID_CREDENTIAL, before the store is asked,", () => {
  const type = "subscription 4";
  const members = { subscriptionNotification: { notificationType: 4, purchaseToken: "t" } };
  const refusedWith = async (world: ReturnType<typeof aWorld>, act: Promise<unknown>) => {
    expect(await refusal(act)).toBe("INVALID_CREDENTIAL");
    expect([asked(), await world.items()]).toEqual([0, []]);
    return world.received;
  };

  test.each<[string, Omit<Pushed, "data">]>([
    ["without a token", { authorization: null }],
    ["with a token that has expired", { claims: { exp: NOW / 1000 - 60 } }],
    ["with a token of another issuer", { claims: { iss: "https://example.com" } }],
    ["with an e-mail address that is not verified", { claims: { email_verified: false } }],
  ])("%s", async (_, pushed) => {
    const world = aWorld();
    expect(await refusedWith(world, world.notify(members, pushed))).toEqual([
      { outcome: "INVALID_CREDENTIAL", type: null },
    ]);
  });

  test.each<[string, Record<string, unknown>]>([
    ["another service account", { email: "stranger@other.iam.gserviceaccount.com" }],
    ["another audience", { aud: "https://example.com" }],
    ["this route's address as audience, where the package has another", { aud: ADDRESS }],
  ])("with a genuine token of %s", async (_, claims) => {
    const world = aWorld();
    expect(await refusedWith(world, world.notify(members, { claims }))).toEqual([
      { outcome: "INVALID_CREDENTIAL", type },
    ]);
  });

  test("where the package has no notifications configured", async () => {
    const world = aWorld({ notifications: null });
    expect(await refusedWith(world, world.notify(members))).toEqual([
      { outcome: "INVALID_CREDENTIAL", type },
    ]);
  });

  test.each([
    ["for a test", { testNotification: {} }],
    ["for an unknown type", { newNotification: {} }],
  ])("of another service account even %s", async (_, members) => {
    const world = aWorld();
    const refused = world.notify(members, { claims: { email: "stranger@example.com" } });
    expect(await refusedWith(world, refused)).toMatchObject([{ outcome: "INVALID_CREDENTIAL" }]);
  });

  test("whose data cannot be decoded and whose audience is another's", async () => {
    const world = aWorld();
    expect(await refusedWith(world, world.push({ data: "%%%" }))).toEqual([
      { outcome: "INVALID_CREDENTIAL", type: null },
    ]);
  });
});

test("a package that nobody registered is APPLICATION_NOT_FOUND", async () => {
  const world = aWorld();
  const push = world.push({ data: { packageName: "com.example.nobody", testNotification: {} } });
  expect(await refusal(push)).toBe("APPLICATION_NOT_FOUND");
  expect(world.received).toEqual([{ outcome: "APPLICATION_NOT_FOUND", type: "test" }]);
});

describe("a push is to be sent again, and nothing is stored,", () => {
  test.each<[what: string, code: string, fault: () => void]>([
    ["while the store fails", "STORE_UNAVAILABLE", () => failing({ status: 500 })],
    ["while the store asks for patience", "STORE_UNAVAILABLE", () => failing({ status: 429 })],
    [
      "while the store refuses the credential",
      "STORE_REJECTED_CREDENTIAL",
      () =>
        failing({
          status: 403,
          body: { error: { code: 403, errors: [{ reason: "permissionDenied" }] } },
        }),
    ],
  ])("%s: %s", async (_, code, fault) => {
    const world = aWorld();
    const token = buy();
    fault();
    expect(await refusal(world.subscription(token))).toBe(code);
    expect(world.received).toEqual([{ outcome: code, type: "subscription 4" }]);
    expect(await world.items()).toEqual([]);
    local.sandbox.clearFaults();
    expect(await world.subscription(token)).toEqual({});
    expect(await world.items()).toHaveLength(3);
  });

  const failing = (fault: { status: number; body?: object }): void =>
    local.sandbox.failNext("publisher", fault, fault);

  const HOUR = 3600_000;
  test.each<[age: number, status: number, code: string | null]>([
    [0, 404, "STORE_UNAVAILABLE"],
    [6 * HOUR - 1, 404, "STORE_UNAVAILABLE"],
    [6 * HOUR, 404, null],
    [1 - 6 * HOUR, 404, "STORE_UNAVAILABLE"],
    [-6 * HOUR, 404, null],
    [0, 410, "STORE_UNAVAILABLE"],
    [6 * HOUR, 410, null],
    [0, 400, null],
  ])("of %i ms ago, of an unknown purchase (%i): %s", async (age, status, code) => {
    const world = aWorld();
    const token = buy();
    const pushed = () =>
      world.notify({
        subscriptionNotification: { notificationType: 4, purchaseToken: token },
        eventTimeMillis: String(NOW - age),
      });
    const reasons = new Map([
      [404, "purchaseTokenNotFound"],
      [410, "purchaseTokenNoLongerValid"],
    ]);
    failing({ status, body: aGoogleError(status, reasons.get(status) ?? "invalid") });
    const refused = await pushed().then(
      () => null,
      (error: { readonly code: string }) => error.code,
    );
    local.sandbox.clearFaults();
    expect(refused).toBe(code);
    expect(world.received).toEqual([{ outcome: code ?? "UNUSED", type: "subscription 4" }]);
    expect(world.noted).toHaveLength(code === null ? 1 : 0);
    expect(await world.items()).toEqual([]);
    await pushed();
    expect(await world.items()).toHaveLength(3);
  });

  test("while Google's keys cannot be had", async () => {
    const world = aWorld();
    const pushTokens = createPushTokenVerifier({ certificatesUrl: "http://127.0.0.1:1/", now: () => NOW });
    expect(await refusal(world.at(NOW, { pushTokens }).subscription(buy()))).toBe("STORE_UNAVAILABLE");
    expect(world.received).toEqual([{ outcome: "STORE_UNAVAILABLE", type: null }]);
  });

  const throttled = () => Promise.reject(new Error("throttled"));
  test.each<[string, () => Partial<AndroidStoreReception>]>([
    ["read", () => ({ table: { ...createCustomerTable(table, throttled), findFacts: throttled } })],
    ["written", () => ({ write: throttled })],
  ])("while the table cannot be %s counts as the service's failure", async (_, broken) => {
    const world = aWorld();
    expect(await refusal(world.at(NOW, broken()).subscription(buy()))).toBe("STORE_UNAVAILABLE");
    expect(world.received).toEqual([{ outcome: "INTERNAL_ERROR", type: "subscription 4" }]);
    expect(await world.items()).toEqual([]);
  });
});

describe("an authentic notification is noted", () => {
  const noted = (signedAt: number) => ({
    application: expect.any(String),
    store: "android-store",
    environment: "production",
    bundleOrPackage: PACKAGE_NAME,
    signedAt,
  });

  test("by the time of its event, a test too", async () => {
    const world = aWorld();
    await world.notify({ testNotification: {}, eventTimeMillis: String(NOW - 5000) });
    expect(world.noted).toEqual([noted(NOW - 5000)]);
  });

  test("never ahead of this service's clock", async () => {
    const world = aWorld();
    await world.notify({ testNotification: {}, eventTimeMillis: String(NOW + 86_400_000) });
    expect(world.noted).toEqual([noted(NOW)]);
  });

  test.each([
    {},
    { eventTimeMillis: NOW },
    { eventTimeMillis: "soon" },
    { eventTimeMillis: "999999999999999" },
  ])("not without a time: %j", async (members) => {
    const world = aWorld();
    await world.notify({ testNotification: {}, ...members });
    expect(world.noted).toEqual([]);
  });

  test("not while the store fails, so that it is sent again", async () => {
    const world = aWorld();
    local.sandbox.failNext("publisher", { status: 500 }, { status: 500 });
    const failed = world.notify({
      subscriptionNotification: { notificationType: 2, purchaseToken: buy() },
      eventTimeMillis: String(NOW),
    });
    expect(await refusal(failed)).toBe("STORE_UNAVAILABLE");
    expect(world.noted).toEqual([]);
    local.sandbox.clearFaults();
  });

  test("not from another service account", async () => {
    const world = aWorld();
    const forged = world.notify(
      { testNotification: {}, eventTimeMillis: String(NOW) },
      { claims: { email: "stranger@example.com" } },
    );
    await expect(forged).rejects.toMatchObject({ code: "INVALID_CREDENTIAL" });
    expect(world.noted).toEqual([]);
  });
});

describe("a refund to be reviewed is passed on to the application's destinations", () => {
  const BACKEND: Destination = { name: "backend", url: "https://api.example.com/hooks", secretEpochs: [] };
  const askedOf = async (world: ReturnType<typeof aWorld>) =>
    (await world.items())
      .filter(({ sk }) => String(sk).startsWith("REQUEST#"))
      .map(({ data, ...item }): Record<string, unknown> => ({ ...item, data: JSON.parse(String(data)) }));
  const review = (fields: object = {}, members: object = {}) => ({
    eventTimeMillis: String(NOW - 5000),
    pendingRefundReviewNotification: {
      version: "1.0",
      pendingRefundToken: "review.1",
      orderId: "GPA.1",
      refundReason: 7,
      ...fields,
    },
    ...members,
  });

  test("with what its answer takes, about nobody, without asking the store", async () => {
    const world = aWorld({}, [BACKEND]);
    expect(await world.notify(review())).toEqual({});
    expect([world.received, asked()]).toEqual([[{ outcome: "STORED", type: "pending_refund_review" }], 0]);
    const waiting = await askedOf(world);
    expect(waiting).toMatchObject([
      {
        request: expect.stringMatching(/^msg_[0-9a-f]{64}$/),
        type: "store.request",
        timestamp: NOW - 5000,
        until: NOW - 5000 + DAY,
      },
    ]);
    const data = waiting[0]?.["data"];
    expect(data).toEqual({
      applicationIdentifier: world.application.identifier,
      applicationAccountIdentifier: null,
      customerIdentifier: null,
      store: "android-store",
      kind: "pendingRefundReviewNotification",
      productIdentifier: null,
      transactionIdentifier: null,
      answerBy: new Date(NOW - 5000 + DAY).toISOString(),
      packageName: PACKAGE_NAME,
      orderIdentifier: "GPA.1",
      pendingRefundToken: "review.1",
      reason: "7",
    });
    expect(storeRequest().parse(data)).toEqual(data);
  });

  test("with the purchase token's owner, if Google names one", async () => {
    const world = aWorld({}, [BACKEND]);
    const token = buy();
    const { customerIdentifier } = await world.link(token);
    await world.notify(review({ purchaseToken: token }));
    expect(await askedOf(world)).toMatchObject([
      { data: { applicationAccountIdentifier: "user-1", customerIdentifier } },
    ]);
  });

  test("once while it waits, however often pushed; each review alone", async () => {
    const world = aWorld({}, [BACKEND]);
    await world.notify(review());
    await world.notify(review());
    expect(await askedOf(world)).toHaveLength(1);
    await world.notify(review({ pendingRefundToken: "review.2" }));
    expect(await askedOf(world)).toHaveLength(2);
  });

  test("for twenty-four hours from its event", async () => {
    const world = aWorld({}, [BACKEND]);
    await world.notify(review({}, { eventTimeMillis: String(NOW - DAY) }));
    expect(await askedOf(world)).toEqual([]);
    expect(world.received).toEqual([{ outcome: "UNUSED", type: "pending_refund_review" }]);
    await world.notify(review({}, { eventTimeMillis: String(NOW - DAY + 1) }));
    expect(await askedOf(world)).toHaveLength(1);
  });

  test.each([
    ["no time that can be read has no deadline", "soon", null],
    ["a time ahead of this service's clock counts from now", String(NOW + DAY), NOW + DAY],
  ])("and %s", async (_, eventTimeMillis, answerBy) => {
    const world = aWorld({}, [BACKEND]);
    await world.notify(review({}, { eventTimeMillis }));
    expect(await askedOf(world)).toMatchObject([
      { timestamp: NOW, data: { answerBy: answerBy === null ? null : new Date(answerBy).toISOString() } },
    ]);
  });

  test("unless it names nothing to answer, or there is no destination", async () => {
    const nothing = aWorld({}, [BACKEND]);
    await nothing.notify({ pendingRefundReviewNotification: { version: "1.0" } });
    const nowhere = aWorld();
    expect(await requests(table, () => nowhere.notify(review()))).toEqual([]);
    for (const world of [nothing, nowhere]) {
      expect(await askedOf(world)).toEqual([]);
      expect(world.received).toEqual([{ outcome: "UNUSED", type: "pending_refund_review" }]);
    }
  });

  test("and is pushed again where it cannot be written", async () => {
    const world = aWorld({}, [BACKEND]);
    const broken = { requests: { add: () => Promise.reject(new Error("throttled")) } };
    expect(await refusal(world.at(NOW, broken).notify(review()))).toBe("STORE_UNAVAILABLE");
    expect(world.noted).toEqual([]);
    await world.notify(review());
    expect(await askedOf(world)).toHaveLength(1);
  });
});
