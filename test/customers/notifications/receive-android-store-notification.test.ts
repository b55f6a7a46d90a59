import { HOUR, MINUTE } from "../../../lib/duration.ts";
import { customerId } from "../../../lib/identifiers.ts";
import {
  aGoogleError,
  aOneTimeAnswer,
  aOneTimeLine,
  DAY,
  NOW,
  PACKAGE_NAME,
} from "../../../testing/support/stores/android-store.ts";
import { refusal, requests } from "../../../testing/support/world.ts";
import { queuedOf } from "../refreshing.ts";
import { ADDRESS, notifiedPackages, type NotifiedWorld } from "./notified-package.ts";

const { table, sandbox, aWorld, buy, buyOnce, isAcknowledged, asked } = await notifiedPackages();
const REASONS: Readonly<Record<number, string>> = {
  404: "purchaseTokenNotFound",
  410: "purchaseTokenNoLongerValid",
};
const linked = async (world: NotifiedWorld): Promise<string> => {
  const token = buy();
  await world.link(token);
  sandbox.calls.length = 0;
  return token;
};

test("an unknown purchase makes a customer without account, acknowledged by its link", async () => {
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

describe("a known purchase", () => {
  test("that renewed is active until its new end, in one transaction", async () => {
    const world = aWorld();
    const token = await linked(world);
    const [before] = await world.read();
    sandbox.change(token, { change: "renew" });
    const sent = await requests(table, () => world.at(NOW + DAY).subscription(token, 2));
    expect(sent).toEqual(["BatchGet", "BatchGet", "TransactWrite"].map(expect.stringContaining));
    const [after] = await world.read();
    expect(Date.parse(after?.expiresAt ?? "")).toBeGreaterThan(Date.parse(before?.expiresAt ?? ""));
  });

  test.each([
    ["expire", 13, "expired"],
    // The type decides nothing.
    ["expire", 2, "expired"],
    ["renew", 999, "active"],
  ] as const)("that went through %s, told as type %i, is %s", async (change, type, status) => {
    const world = aWorld();
    const token = await linked(world);
    sandbox.change(token, { change });
    await world.at(NOW + 1_000).subscription(token, type);
    expect(await world.at(NOW + 2_000).read()).toMatchObject([{ identifier: "premium", status }]);
  });

  test("of which a notification teaches nothing is asked about again after a minute", async () => {
    const world = aWorld();
    const asksOf = async () => Object.values(await queuedOf(world.world)).map((at) => at - NOW);
    const token = await linked(world);
    const [before] = await asksOf();
    await world.at(NOW + 1_000).subscription(token, 12);
    expect(await asksOf()).toEqual([1_000 + MINUTE]);
    const items = await world.items();
    await world.at(NOW + 2_000).subscription(token, 12);
    expect(await world.items()).toEqual(items);
    expect(await world.at(NOW + 1_000 + MINUTE).refresh()).toBe(1);
    expect(await asksOf()).toEqual([before]);
  });

  test("is not revoked by one renewal's void while its token is active", async () => {
    const world = aWorld();
    const purchaseToken = await linked(world);
    const voided = { purchaseToken, orderId: "GPA.1..0", productType: 1, refundType: 1 };
    await world.at(NOW + 1_000).notify({ voidedPurchaseNotification: voided });
    expect(await world.read()).toMatchObject([{ identifier: "premium", status: "active" }]);
  });
});

describe("a purchase that Google voids, whose token it has forgotten,", () => {
  const voidAt = (
    world: NotifiedWorld,
    purchaseToken: string,
    moment: number,
    { status = 404, ...fields }: { status?: number; refundType?: number; productType?: number } = {},
  ): Promise<unknown> => {
    const fault = { status, body: aGoogleError(status, REASONS[status] ?? "") };
    sandbox.failNext("publisher", fault, fault);
    const voided = { purchaseToken, orderId: "GPA.1", productType: 2, refundType: 1, ...fields };
    const members = { eventTimeMillis: String(NOW + 1_000), voidedPurchaseNotification: voided };
    return refusal(world.at(moment).notify(members)).finally(() => sandbox.clearFaults());
  };
  const owned = async (world: NotifiedWorld): Promise<string> => {
    const token = buyOnce();
    await world.link(token, "one_time_product", "user-1", "maps");
    return token;
  };

  test.each([404, 410] as const)("is revoked if it is a one-time purchase: %i", async (status) => {
    const world = aWorld();
    const token = await owned(world);
    expect(await voidAt(world, token, NOW + 2_000, { status })).toBe("accepted");
    expect(world.received).toEqual([{ outcome: "STORED", type: "voided_purchase 2" }]);
    expect(await world.at(NOW + 3_000).read()).toMatchObject([{ identifier: "maps", status: "revoked" }]);
    const items = await world.items();
    expect(await voidAt(world, token, NOW + DAY, { status })).toBe("accepted");
    expect(await world.items()).toEqual(items);
  });

  test.each([
    ["by a partial void", owned, { refundType: 2 }],
    ["if it is a subscription", linked, { productType: 1 }],
    ["if it is a subscription, voided as a one-time purchase", linked, {}],
  ])("is not revoked %s", async (_, bought, fields) => {
    const world = aWorld();
    expect(await voidAt(world, await bought(world), NOW + 2_000, fields)).toBe("STORE_UNAVAILABLE");
    expect(await world.at(NOW + 3_000).read()).toMatchObject([{ status: "active" }]);
  });

  test("is not stored if it is unknown here", async () => {
    const world = aWorld();
    expect(await voidAt(world, buyOnce(), NOW + DAY)).toBe("accepted");
    expect(world.received).toEqual([{ outcome: "UNUSED", type: "voided_purchase 2" }]);
    expect(await world.items()).toEqual([]);
  });
});

describe("the selection of a one-time purchase", () => {
  const bundle = (): string => {
    const token = buyOnce();
    const answer = aOneTimeAnswer({ productLineItem: [aOneTimeLine("maps"), aOneTimeLine("tiles")] });
    sandbox.put(token, { packageName: PACKAGE_NAME, productKind: "one_time_product", answer });
    return token;
  };
  const named = (entitlements: readonly { readonly identifier: string }[]) =>
    entitlements.map(({ identifier }) => identifier);

  test("is not widened by a notification", async () => {
    const world = aWorld();
    const token = bundle();
    await world.link(token, "one_time_product", "user-1", "maps");
    await world.at(NOW + 1_000).oneTime(token);
    expect(named(await world.read())).toEqual(["maps"]);
  });

  test.each([
    ["one product", "tiles", ["tiles"], false],
    ["all products", null, ["maps", "tiles"], false],
    ["one product that the store has dropped since", "tiles", ["tiles"], true],
  ])("of %s is the link's, when a notification came first", async (_, product, selected, isDropped) => {
    const world = aWorld();
    const token = bundle();
    await world.oneTime(token);
    if (isDropped) sandbox.drop(token);
    const { entitlements } = await world.link(token, "one_time_product", "user-1", product);
    expect(named(entitlements)).toEqual(selected);
  });
});

describe("a useless notification is answered 200, stores nothing, and says so:", () => {
  test.each<[what: string, members: object, type: string]>([
    ["a test", { testNotification: {} }, "test"],
    ["without a token", { subscriptionNotification: { notificationType: 4 } }, "subscription 4"],
  ])("%s, without asking the store", async (_, members, type) => {
    const world = aWorld();
    expect(await world.notify(members)).toEqual({});
    expect(world.received).toEqual([{ outcome: "UNUSED", type }]);
    expect([asked(), await world.items()]).toEqual([0, []]);
  });

  const dropped = (): string => {
    const token = buy();
    sandbox.drop(token);
    return token;
  };
  test.each<[what: string, token: () => string]>([
    ["a token that the store does not know", () => "unknown"],
    ["a purchase that the store has dropped", dropped],
    ["a purchase of another kind", () => buyOnce()],
    ["an environment that is not accepted", () => buy({ test: true })],
  ])("of %s", async (_, token) => {
    const world = aWorld({ environments: ["production"] });
    expect(await world.subscription(token())).toEqual({});
    expect(world.received).toEqual([{ outcome: "UNUSED", type: "subscription 4" }]);
    expect(await world.items()).toEqual([]);
  });

  test("of an erased customer", async () => {
    const world = aWorld();
    const token = buy();
    const { customerIdentifier } = await world.link(token);
    await world.world.erase({ identifier: customerId(customerIdentifier ?? "") });
    const items = await world.items();
    expect(await world.at(NOW + 1_000).subscription(token)).toEqual({});
    expect(world.received).toEqual([{ outcome: "UNUSED", type: "subscription 4" }]);
    expect(await world.items()).toEqual(items);
  });

  test.each([
    ["no data", undefined],
    ["no package", { subscriptionNotification: { notificationType: 4, purchaseToken: "t" } }],
  ])("with %s, where the audience is this route's address", async (_, data) => {
    const world = aWorld();
    expect(await world.push({ data, claims: { aud: ADDRESS, email: "other@example.com" } })).toEqual({});
    expect(world.received).toEqual([{ outcome: "UNUSED", type: null }]);
  });
});

test.each<[age: number, status: number, code: string]>([
  [0, 404, "STORE_UNAVAILABLE"],
  [6 * HOUR - 1, 404, "STORE_UNAVAILABLE"],
  [6 * HOUR, 404, "accepted"],
  [0, 410, "STORE_UNAVAILABLE"],
  [0, 400, "accepted"],
])("a notification of %i ms ago, of an unknown purchase (%i), meets %s", async (age, status, code) => {
  const world = aWorld();
  const token = buy();
  const push = () => world.subscription(token, 4, { eventTimeMillis: String(NOW - age) });
  const fault = { status, body: aGoogleError(status, REASONS[status] ?? "invalid") };
  sandbox.failNext("publisher", fault, fault);
  expect(await refusal(push())).toBe(code);
  sandbox.clearFaults();
  const isTaken = code === "accepted";
  expect(world.received).toEqual([{ outcome: isTaken ? "UNUSED" : code, type: "subscription 4" }]);
  expect(world.noted).toHaveLength(isTaken ? 1 : 0);
  expect(await world.items()).toEqual([]);
  await push();
  expect(await world.items()).toHaveLength(3);
});
