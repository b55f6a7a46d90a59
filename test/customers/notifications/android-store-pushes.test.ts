import type { AndroidStoreReception } from "../../../lib/customers/receive-android-store-notification.ts";
import { storeRequest } from "../../../lib/contract/messages.ts";
import { createPushTokenVerifier } from "../../../lib/stores/android-store/push-token.ts";
import { createCustomerTable } from "../../../lib/table/customers/customers.ts";
import { aGoogleError, DAY, NOW, PACKAGE_NAME } from "../../../testing/support/stores/android-store.ts";
import { refusal, requests, WEBHOOK } from "../../../testing/support/world.ts";
import { ADDRESS, notifiedPackages, type NotifiedWorld, type Pushed } from "./notified-package.ts";

const { table, sandbox, aWorld, buy, asked } = await notifiedPackages();

describe("a push is refused with INVALID_CREDENTIAL, before the store is asked,", () => {
  const type = "subscription 4";
  const MEMBERS = { subscriptionNotification: { notificationType: 4, purchaseToken: "t" } };
  const STRANGER = { claims: { email: "stranger@other.iam.gserviceaccount.com" } };

  test.each<
    [what: string, pushed: Omit<Pushed, "data">, type: string | null, members: object, changes?: object]
  >([
    ["without a token", { authorization: null }, null, MEMBERS],
    ["with a token that has expired", { claims: { exp: NOW / 1000 - 60 } }, null, MEMBERS],
    ["of another service account", STRANGER, type, MEMBERS],
    ["of another service account even for a test", STRANGER, "test", { testNotification: {} }],
    ["of another audience", { claims: { aud: "https://example.com" } }, type, MEMBERS],
    ["of this route's address, where the package has another", { claims: { aud: ADDRESS } }, type, MEMBERS],
    ["where the package has no notifications configured", {}, type, MEMBERS, { notifications: null }],
  ])("%s", async (_, pushed, received, members, changes = {}) => {
    const world = aWorld(changes);
    expect(await refusal(world.notify(members, pushed))).toBe("INVALID_CREDENTIAL");
    expect(world.received).toEqual([{ outcome: "INVALID_CREDENTIAL", type: received }]);
    expect([asked(), world.noted, await world.items()]).toEqual([0, [], []]);
  });
});

test("a package that nobody registered is APPLICATION_NOT_FOUND", async () => {
  const world = aWorld();
  const push = world.push({ data: { packageName: "com.example.nobody", testNotification: {} } });
  expect(await refusal(push)).toBe("APPLICATION_NOT_FOUND");
  expect(world.received).toEqual([{ outcome: "APPLICATION_NOT_FOUND", type: "test" }]);
});

describe("a push is to be sent again, and nothing is stored or noted,", () => {
  const failing = (fault: { status: number; body?: object }) => () => {
    sandbox.failNext("publisher", fault, fault);
    return {};
  };
  const DENIED = { status: 403, body: aGoogleError(403, "permissionDenied") };
  const throttled = () => Promise.reject(new Error("throttled"));
  const keyless = createPushTokenVerifier({ certificatesUrl: "http://127.0.0.1:1/", now: () => NOW });
  const unread = () => ({ table: { ...createCustomerTable(table), findFacts: throttled } });
  const [UNAVAILABLE, REJECTED] = ["STORE_UNAVAILABLE", "STORE_REJECTED_CREDENTIAL"];
  test.each<[what: string, fail: () => Partial<AndroidStoreReception>, code: string, outcome: string]>([
    ["while the store fails", failing({ status: 500 }), UNAVAILABLE, UNAVAILABLE],
    ["while the store asks for patience", failing({ status: 429 }), UNAVAILABLE, UNAVAILABLE],
    ["while the store refuses the credential", failing(DENIED), REJECTED, REJECTED],
    ["while Google's keys cannot be had", () => ({ pushTokens: keyless }), UNAVAILABLE, UNAVAILABLE],
    ["while the table cannot be read", unread, UNAVAILABLE, "INTERNAL_ERROR"],
    ["while the table cannot be written", () => ({ write: throttled }), UNAVAILABLE, "INTERNAL_ERROR"],
  ])("%s", async (_, fail, code, outcome) => {
    const world = aWorld();
    const token = buy();
    const event = { eventTimeMillis: String(NOW) };
    expect(await refusal(world.at(NOW, fail()).subscription(token, 4, event))).toBe(code);
    expect(world.received).toMatchObject([{ outcome }]);
    expect([world.noted, await world.items()]).toEqual([[], []]);
    sandbox.clearFaults();
    await world.subscription(token);
    expect(await world.items()).toHaveLength(3);
  });
});

test.each([
  ["by the time of its event", -5000, NOW - 5000],
  ["never ahead of this service's clock", DAY, NOW],
])("an authentic notification is noted %s, a test too", async (_, milliseconds, signedAt) => {
  const world = aWorld();
  await world.notify({ testNotification: {}, eventTimeMillis: String(NOW + milliseconds) });
  const store = { store: "android-store", environment: "production", bundleOrPackage: PACKAGE_NAME };
  expect(world.noted).toMatchObject([{ ...store, signedAt }]);
});

describe("a refund to be reviewed is passed on to the application's destinations", () => {
  const askedOf = async (world: NotifiedWorld) =>
    (await world.items())
      .filter(({ sk }) => String(sk).startsWith("REQUEST#"))
      .map(({ message, until }) => ({ ...(message as { data: string }), until }))
      .map(({ data, ...item }): Record<string, unknown> => ({ ...item, data: JSON.parse(data) }));
  const REVIEW = { version: "1.0", pendingRefundToken: "review.1", orderId: "GPA.1", refundReason: 7 };
  const review = (fields: object = {}, eventTimeMillis = String(NOW - 5000)) => ({
    eventTimeMillis,
    pendingRefundReviewNotification: { ...REVIEW, ...fields },
  });

  test("with what its answer takes, about nobody, without asking the store", async () => {
    const world = aWorld({}, [WEBHOOK]);
    expect(await world.notify(review())).toEqual({});
    expect([world.received, asked()]).toEqual([[{ outcome: "STORED", type: "pending_refund_review" }], 0]);
    const [waiting] = await askedOf(world);
    const until = NOW - 5000 + DAY;
    expect(waiting).toMatchObject({ type: "store.request", timestamp: NOW - 5000, until });
    expect(waiting?.["data"]).toEqual({
      applicationIdentifier: world.world.application.identifier,
      applicationAccountIdentifier: null,
      customerIdentifier: null,
      store: "android-store",
      kind: "pendingRefundReviewNotification",
      productIdentifier: null,
      transactionIdentifier: null,
      answerBy: new Date(until).toISOString(),
      packageName: PACKAGE_NAME,
      orderIdentifier: "GPA.1",
      pendingRefundToken: "review.1",
      reason: "7",
    });
    expect(storeRequest().parse(waiting?.["data"])).toEqual(waiting?.["data"]);
  });

  test("with the purchase token's owner, if Google names one", async () => {
    const world = aWorld({}, [WEBHOOK]);
    const token = buy();
    const { customerIdentifier } = await world.link(token);
    await world.notify(review({ purchaseToken: token }));
    expect(await askedOf(world)).toMatchObject([
      { data: { applicationAccountIdentifier: "user-1", customerIdentifier } },
    ]);
  });

  test("for twenty-four hours from its event", async () => {
    const world = aWorld({}, [WEBHOOK]);
    await world.notify(review({}, String(NOW - DAY)));
    expect(await askedOf(world)).toEqual([]);
    expect(world.received).toEqual([{ outcome: "UNUSED", type: "pending_refund_review" }]);
    await world.notify(review({}, String(NOW - DAY + 1)));
    expect(await askedOf(world)).toHaveLength(1);
  });

  test("unless it names nothing to answer, or there is no destination", async () => {
    const nothing = aWorld({}, [WEBHOOK]);
    await nothing.notify({ pendingRefundReviewNotification: { version: "1.0" } });
    const nowhere = aWorld();
    expect(await requests(table, () => nowhere.notify(review()))).toEqual([]);
    for (const world of [nothing, nowhere]) {
      expect(await askedOf(world)).toEqual([]);
      expect(world.received).toEqual([{ outcome: "UNUSED", type: "pending_refund_review" }]);
    }
  });

  test("and is pushed again where it cannot be written", async () => {
    const world = aWorld({}, [WEBHOOK]);
    const broken = { requests: { add: () => Promise.reject(new Error("throttled")) } };
    expect(await refusal(world.at(NOW, broken).notify(review()))).toBe("STORE_UNAVAILABLE");
    expect(world.noted).toEqual([]);
  });
});
