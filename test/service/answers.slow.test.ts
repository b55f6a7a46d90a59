import { startTestService, type Answer, type TestService } from "../../testing/support/service.ts";
import type { CustomerEntitlement } from "../../lib/contract/schemas.ts";

/** Rules of the layers below, as callers of the whole service see them. */

const DAY = 86_400_000;
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[47][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
}, 60_000);
afterAll(() => service.stop());

const outcome = ({ status, body }: Answer): [number, string | undefined] => [status, body.error];
const statuses = ({ body }: Answer): [string, CustomerEntitlement["status"]][] =>
  (body.entitlements ?? []).map(({ identifier, status }) => [identifier, status]);
const tableText = async (): Promise<string> => JSON.stringify(await service.table.items());

describe("linking", () => {
  test("the facts of a refused link are kept for their owner", async () => {
    const app = await service.application();
    const device = app.device();
    await app.link(device.request({}), "user-1");
    const more = device.request({ productIdentifier: "basic" });
    expect(outcome(await app.link(more, "user-2"))).toEqual([409, "CUSTOMER_ALREADY_LINKED"]);
    expect(statuses(await app.read("user-1"))).toEqual([
      ["basics", "active"],
      ["premium", "active"],
    ]);
    expect((await app.read("user-2")).body).toMatchObject({ customerIdentifiers: [], entitlements: [] });
  });

  test("an app can ask before a purchase whether its customer is linked to another account", async () => {
    const app = await service.application();
    const device = app.device();
    await app.link(device.request(), "user-1");
    expect(outcome(await app.synchronize(device.request(), "user-2"))).toEqual([
      409,
      "CUSTOMER_ALREADY_LINKED",
    ]);
  });

  test("a client's link yields to a credential's and never the reverse", async () => {
    const app = await service.application();
    const request = app.device().request({});
    const synchronized = await app.synchronize(request, "user-1");
    expect((await app.read("user-1")).body.customerIdentifiers).toEqual([
      synchronized.body.customerIdentifier,
    ]);
    expect(outcome(await app.synchronize(request, "user-2"))).toEqual([409, "CUSTOMER_ALREADY_LINKED"]);
    expect((await app.link(request, "user-2")).status).toBe(200);
    expect((await app.read("user-1")).body.customerIdentifiers).toEqual([]);
    expect((await app.read("user-2")).body.customerIdentifiers).toHaveLength(1);
    expect(outcome(await app.synchronize(request, "user-1"))).toEqual([409, "CUSTOMER_ALREADY_LINKED"]);
  });

  test("customers of different accounts are not merged, and known facts write nothing", async () => {
    const app = await service.application();
    const old = app.device({ appTransactionIdentifier: null });
    const now = Date.now();
    const bought = {
      transactionIdentifier: "9002",
      purchaseDate: now - DAY,
      expiresDate: now + DAY,
      signedDate: now - 1000,
    };
    await app.link(old.request(bought), "user-1");
    const device = app.device();
    await app.link(device.request(), "user-2");
    const before = await tableText();
    for (const answer of [
      await app.synchronize(device.request(bought)),
      await app.link(device.request(bought), "user-2"),
    ])
      expect(outcome(answer)).toEqual([409, "IDENTITY_CONFLICT"]);
    expect(await tableText()).toBe(before);
  });

  test("a refund in a request that two accounts' customers match is stored for its owner and moves nobody", async () => {
    const app = await service.application();
    const old = app.device({ appTransactionIdentifier: null });
    const bought = { transactionIdentifier: "9003", signedDate: Date.now() - 2000 };
    await app.link(old.request(bought), "user-1");
    const device = app.device();
    await app.link(device.request({ productIdentifier: "basic" }), "user-2");
    const refunded = { ...bought, signedDate: Date.now() - 1000, revocationDate: Date.now() - 1500 };
    expect(outcome(await app.link(device.request(refunded), "user-2"))).toEqual([409, "IDENTITY_CONFLICT"]);
    expect(statuses(await app.read("user-1"))).toEqual([["premium", "revoked"]]);
    expect(statuses(await app.read("user-2"))).toEqual([["basics", "active"]]);
  });

  test("an unknown app transaction alone is answered with null and writes nothing; with a credential it links", async () => {
    const app = await service.application();
    const request = app.device().request();
    const before = await tableText();
    expect((await app.synchronize(request, "user-1")).body).toEqual({
      customerIdentifier: null,
      entitlements: [],
    });
    expect(await tableText()).toBe(before);
    const linked = await app.link(request, "user-1");
    expect(linked.body.customerIdentifier).toMatch(UUID);
    expect((await app.read("user-1")).body.customerIdentifiers).toEqual([linked.body.customerIdentifier]);
  });

  test("an app transaction without an id and without transactions names nobody", async () => {
    const app = await service.application();
    const request = app.device({ appTransactionIdentifier: null }).request();
    const before = await tableText();
    expect((await app.synchronize(request)).body.customerIdentifier).toBeNull();
    expect((await app.link(request, "user-1")).body).toEqual({
      customerIdentifier: null,
      applicationIdentifier: app.identifier,
      entitlements: [],
    });
    expect(await tableText()).toBe(before);
  });

  test("an Android purchase that replaces another has the same customer, and the other grants nothing", async () => {
    const app = await service.application();
    const first = app.buyOnAndroid();
    const linked = await app.linkAndroid(first, "user-1");
    const second = app.buyOnAndroid({ replaces: first, period: "P1Y" });
    const relinked = await app.linkAndroid(second, "user-1");
    expect(relinked.body.customerIdentifier).toBe(linked.body.customerIdentifier);
    expect(outcome(await app.linkAndroid(second, "user-2"))).toEqual([409, "CUSTOMER_ALREADY_LINKED"]);
    service.android.change(second, "expire");
    expect(statuses(await app.linkAndroid(second, "user-1"))).toEqual([["premium", "expired"]]);
  });

  test("an Android subscription that is bought again outside the app has the same customer", async () => {
    const app = await service.application();
    const first = app.buyOnAndroid();
    const linked = await app.linkAndroid(first, "user-1");
    service.android.change(first, "expire");
    const again = app.buyOnAndroid({ resubscribes: first });
    expect(outcome(await app.linkAndroid(again, "user-2"))).toEqual([409, "CUSTOMER_ALREADY_LINKED"]);
    expect((await app.linkAndroid(again, "user-1")).body.customerIdentifier).toBe(
      linked.body.customerIdentifier,
    );
  });

  test("an obfuscated account id names nobody, as the client chooses it", async () => {
    const app = await service.application();
    const buy = () => app.buyOnAndroid({ obfuscatedAccountIdentifier: "person-7" });
    const [first, second] = [await app.linkAndroid(buy(), "user-1"), await app.linkAndroid(buy(), "user-2")];
    expect([first.status, second.status]).toEqual([200, 200]);
    expect(second.body.customerIdentifier).not.toBe(first.body.customerIdentifier);
    expect((await app.read("user-1")).body.customerIdentifiers).toEqual([first.body.customerIdentifier]);
    expect((await app.read("user-2")).body.customerIdentifiers).toEqual([second.body.customerIdentifier]);
  });

  test("a replacement that is pending or was never paid does not change the older purchase", async () => {
    const app = await service.application();
    const older = app.buyOnAndroid();
    const linked = await app.linkAndroid(older, "user-1");
    const newer = app.buyOnAndroid({ replaces: older, pending: true });
    const stays = [{ status: "active", customerIdentifier: linked.body.customerIdentifier }];
    expect((await app.linkAndroid(newer, "user-1")).status).toBe(200);
    expect((await app.read("user-1")).body.entitlements).toMatchObject(stays);
    service.android.change(newer, "decline");
    expect((await app.linkAndroid(newer, "user-1")).status).toBe(200);
    expect((await app.read("user-1")).body.entitlements).toMatchObject(stays);
    expect((await app.linkAndroid(older, "user-1")).body.entitlements).toMatchObject(stays);
  });

  test("a paid replacement takes the older purchase's place and has the same customer", async () => {
    const app = await service.application();
    const older = app.buyOnAndroid();
    const linked = await app.linkAndroid(older, "user-1");
    const newer = app.buyOnAndroid({ replaces: older, pending: true });
    await app.linkAndroid(newer, "user-1");
    service.android.change(newer, "complete", "P1Y");
    const paid = await app.linkAndroid(newer, "user-1");
    expect(paid.body.customerIdentifier).toBe(linked.body.customerIdentifier);
    const read = await app.read("user-1");
    expect(read.body.customerIdentifiers).toEqual([linked.body.customerIdentifier]);
    expect(read.body.entitlements).toEqual(paid.body.entitlements);
    expect(statuses(read)).toEqual([["premium", "active"]]);
  });

  test("a pending Android purchase is linked and has no entry until it is paid", async () => {
    const app = await service.application();
    const token = app.buyOnAndroid({ pending: true });
    const pending = await app.linkAndroid(token, "user-1");
    expect(pending.body.entitlements).toEqual([]);
    expect(pending.body.customerIdentifier).toMatch(UUID);
    expect(service.android.read(token)?.answer.acknowledgementState).toBe("ACKNOWLEDGEMENT_STATE_PENDING");
    service.android.change(token, "complete");
    expect(statuses(await app.linkAndroid(token, "user-1"))).toEqual([["premium", "active"]]);
  });
});

describe("entitlements", () => {
  const lineage = { originalTransactionIdentifier: "5000", transactionIdentifier: "5000" };

  test("a refund revokes, and a later signed transaction without it restores access", async () => {
    const app = await service.application();
    const device = app.device();
    const at = (signedDate: number, revocationDate?: number) =>
      device.request({ ...lineage, signedDate, ...(revocationDate !== undefined && { revocationDate }) });
    const start = Date.now() - 5000;
    expect(statuses(await app.synchronize(at(start)))).toEqual([["premium", "active"]]);
    const refunded = at(start + 1000, start + 500);
    expect((await app.synchronize(refunded)).body.entitlements).toMatchObject([
      { status: "revoked", active: false, revokedAt: new Date(start + 500).toISOString() },
    ]);
    expect(statuses(await app.synchronize(at(start + 500)))).toEqual([["premium", "revoked"]]);
    expect(statuses(await app.synchronize(at(start + 2000)))).toEqual([["premium", "active"]]);
    expect(statuses(await app.synchronize(refunded))).toEqual([["premium", "active"]]);
  });

  test("an upgrade within a lineage ends the old product and begins the new one", async () => {
    const app = await service.application();
    const device = app.device();
    const upgraded = await app.synchronize(
      device.request(
        { ...lineage, productIdentifier: "basic", isUpgraded: true },
        {
          ...lineage,
          transactionIdentifier: "5001",
          productIdentifier: "monthly",
          purchaseDate: Date.now() - DAY,
        },
      ),
    );
    expect(statuses(upgraded)).toEqual([
      ["basics", "expired"],
      ["premium", "active"],
    ]);
  });

  describe("a lifetime that was restored under another transaction id", () => {
    const forever = { productIdentifier: "forever", type: "Non-Consumable" } as const;
    const scene = async () => {
      const app = await service.application();
      const now = Date.now();
      const copy = (transactionIdentifier: string, signed: number, changes: object = {}) => ({
        ...forever,
        originalTransactionIdentifier: "5500",
        transactionIdentifier,
        purchaseDate: now - 90 * DAY,
        originalPurchaseDate: now - 90 * DAY,
        signedDate: now - signed,
        ...changes,
      });
      const device = app.device();
      const refunded = copy("5500", 9000, { revocationDate: now - 10_000 });
      await app.link(device.request(copy("5500", 20_000), copy("5501", 19_000)), "user-1");
      const after = async (...transactions: object[]) => {
        for (const transaction of transactions) await app.link(device.request(transaction), "user-1");
        return statuses(await app.read("user-1"));
      };
      return { now, copy, refunded, after };
    };
    test("is revoked when it is refunded under one id, even if the other id is signed later without the refund", async () => {
      const { copy, refunded, after } = await scene();
      expect(await after(refunded, copy("5501", 1000))).toEqual([["premium", "revoked"]]);
    });
    test("is active again when it was bought anew after the refund", async () => {
      const { now, copy, refunded, after } = await scene();
      const anew = copy("5502", 1000, { purchaseDate: now - 5000 });
      expect(await after(anew, refunded)).toEqual([["premium", "active"]]);
    });
    test("is active again when the refund is reversed under its own id", async () => {
      const { copy, refunded, after } = await scene();
      expect(await after(copy("5500", 1000), refunded)).toEqual([["premium", "active"]]);
    });
  });

  test("a period refunded under either of its ids is revoked under both", async () => {
    for (const [carrying, other] of [
      ["5601", "5602"],
      ["5602", "5601"],
    ]) {
      const app = await service.application();
      const now = Date.now();
      const copy = (transactionIdentifier: string | undefined, changes: object) => ({
        originalTransactionIdentifier: "5600",
        ...(transactionIdentifier !== undefined && { transactionIdentifier }),
        webOrderLineItemIdentifier: "1",
        purchaseDate: now - DAY,
        ...changes,
      });
      const refunded = copy(carrying, { signedDate: now - 2000, revocationDate: now - 3000 });
      const answer = await app.synchronize(
        app.device().request(refunded, copy(other, { signedDate: now - 1000 })),
      );
      expect(statuses(answer)).toEqual([["premium", "revoked"]]);
    }
  });

  test("1,100 unmapped coin packs do not change a paid lifetime", async () => {
    const app = await service.application();
    const device = app.device();
    const forever = { productIdentifier: "forever", type: "Non-Consumable" } as const;
    await app.link(device.request({ ...forever, purchaseDate: Date.now() - 900 * DAY }), "user-1");
    const coins = (count: number) =>
      Array.from({ length: count }, () => ({ productIdentifier: "coins", type: "Consumable" }) as const);
    for (const count of [1000, 100])
      expect((await app.synchronize(device.request(...coins(count)))).status).toBe(200);
    expect((await app.read("user-1")).body.entitlements).toMatchObject([
      { status: "active", expiresAt: null, productIdentifier: "forever" },
    ]);
  });

  test("a restored copy of an old day pass does not start again", async () => {
    const app = await service.application();
    const restored = {
      productIdentifier: "day_pass",
      type: "Non-Renewing Subscription",
      purchaseDate: Date.now() - 1000,
      originalPurchaseDate: Date.now() - 90 * DAY,
      transactionIdentifier: "5701",
      originalTransactionIdentifier: "5700",
    } as const;
    expect(statuses(await app.synchronize(app.device().request(restored)))).toEqual([["premium", "expired"]]);
  });

  test("day passes of two customers of an account add up", async () => {
    const app = await service.application();
    const HOUR = DAY / 24;
    const now = Date.now();
    const pass = (hoursAgo: number) =>
      app.device().request({
        productIdentifier: "day_pass",
        type: "Non-Renewing Subscription",
        purchaseDate: now - hoursAgo * HOUR,
      });
    const later = await app.link(pass(26), "user-1");
    expect(statuses(await app.read("user-1"))).toEqual([["premium", "expired"]]);
    await app.link(pass(30), "user-1");
    expect((await app.read("user-1")).body.entitlements).toMatchObject([
      {
        status: "active",
        startsAt: new Date(now - 26 * HOUR).toISOString(),
        expiresAt: new Date(now + 18 * HOUR).toISOString(),
        customerIdentifier: later.body.customerIdentifier,
      },
    ]);
  });

  test("the unrefunded ones of three passes on Android count", async () => {
    const pass = {
      store: "android-store",
      productIdentifier: "pass",
      grants: ["premium"],
      accessDuration: "P1D",
    };
    const app = await service.application({ products: [pass] });
    const token = app.buyOnAndroid({
      productKind: "one_time_product",
      productIdentifier: "pass",
      basePlanIdentifier: undefined,
      quantity: 3,
    });
    const days = async () => {
      const { body } = await app.linkAndroid(token, "user-1", { productKind: "one_time_product" });
      const [{ startsAt, expiresAt } = { startsAt: null, expiresAt: null }] = body.entitlements ?? [];
      return (Date.parse(expiresAt ?? "") - Date.parse(startsAt ?? "")) / DAY;
    };
    expect(await days()).toBe(3);
    const stored = service.android.read(token);
    if (stored?.productKind !== "one_time_product") throw new Error("There is one.");
    const [line] = stored.answer.productLineItem ?? [];
    const productOfferDetails = { ...line?.productOfferDetails, refundableQuantity: 2 };
    service.android.put(token, {
      ...stored,
      answer: { ...stored.answer, productLineItem: [{ ...line, productOfferDetails }] },
    });
    expect(await days()).toBe(2);
  });

  test("a rental lasts as long as its purchase option in the catalog, and grants nothing without a duration", async () => {
    const film = { store: "android-store", productIdentifier: "maps", grants: ["maps"] };
    const app = await service.application({ products: [film] });
    const token = app.buyOnAndroid({
      productKind: "one_time_product",
      productIdentifier: "maps",
      basePlanIdentifier: undefined,
    });
    const stored = service.android.read(token);
    if (stored?.productKind !== "one_time_product") throw new Error("There is one.");
    const productOfferDetails = { purchaseOptionId: "rent", rentOfferDetails: {} };
    service.android.put(token, {
      ...stored,
      answer: { ...stored.answer, productLineItem: [{ productId: "maps", productOfferDetails }] },
    });
    const link = (changes = {}) =>
      app.linkAndroid(token, "user-1", { productKind: "one_time_product", ...changes });
    expect((await link()).body.entitlements).toEqual([]);
    const other = await service.application({
      packageName: `${app.packageName}.rent`,
      products: [film, { ...film, purchaseOptionIdentifier: "rent", accessDuration: "P2D" }],
    });
    service.android.put(token, {
      ...stored,
      packageName: other.packageName,
      answer: { ...stored.answer, productLineItem: [{ productId: "maps", productOfferDetails }] },
    });
    const rented = await other.linkAndroid(token, "user-1", { productKind: "one_time_product" });
    const [{ startsAt, expiresAt } = { startsAt: null, expiresAt: null }] = rented.body.entitlements ?? [];
    expect(statuses(rented)).toEqual([["maps", "active"]]);
    expect(Date.parse(expiresAt ?? "") - Date.parse(startsAt ?? "")).toBe(2 * DAY);
  });

  test.each([
    ["an hour", 1, true, "active"],
    ["47 hours", 47, true, "active"],
    ["49 hours", 49, true, "expired"],
    ["an hour, without renewal,", 1, false, "expired"],
  ])(
    "a subscription that Google calls active %s past its end (%i h, renews: %s) is %s",
    async (_, hours, renews, status) => {
      const app = await service.application();
      const token = app.buyOnAndroid();
      const stored = service.android.read(token);
      if (stored?.productKind !== "subscription") throw new Error("There is one.");
      const end = new Date(Date.now() - (hours * DAY) / 24).toISOString();
      const lineItems = (stored.answer.lineItems ?? []).map((line) => ({
        ...line,
        expiryTime: end,
        autoRenewingPlan: { autoRenewEnabled: renews },
      }));
      const startTime = new Date(Date.now() - 40 * DAY).toISOString();
      service.android.put(token, { ...stored, answer: { ...stored.answer, startTime, lineItems } });
      expect((await app.linkAndroid(token, "user-1")).body.entitlements).toMatchObject([
        { status, expiresAt: end },
      ]);
    },
  );

  test.each([
    ["50 s ahead of our clock is active", 50_000, [["premium", "active"]]],
    ["70 s ahead of our clock has no entry yet", 70_000, []],
  ])("a purchase that starts %s", async (_, ahead, expected) => {
    const app = await service.application();
    const request = app.device().request({ purchaseDate: Date.now() + ahead });
    expect(statuses(await app.synchronize(request))).toEqual(expected);
  });

  test("a shared family purchase grants", async () => {
    const app = await service.application();
    const request = app.device().request({ inAppOwnershipType: "FAMILY_SHARED" });
    expect(statuses(await app.synchronize(request))).toEqual([["premium", "active"]]);
  });

  test("a lifetime purchase never ends, and a day pass ends after its day", async () => {
    const app = await service.application();
    const start = Date.now() - DAY + 60_000;
    const pass = {
      productIdentifier: "day_pass",
      type: "Non-Renewing Subscription",
      purchaseDate: start,
    } as const;
    const device = app.device();
    expect((await app.synchronize(device.request(pass))).body.entitlements).toMatchObject([
      { status: "active", expiresAt: new Date(start + DAY).toISOString(), productKind: "subscription" },
    ]);
    const forever = { productIdentifier: "forever", type: "Non-Consumable" } as const;
    expect((await app.synchronize(device.request(forever))).body.entitlements).toMatchObject([
      { status: "active", expiresAt: null, productKind: "one_time_product" },
    ]);
    const over = app.device().request({ ...pass, purchaseDate: Date.now() - DAY });
    expect(statuses(await app.synchronize(over))).toEqual([["premium", "expired"]]);
  });

  test("an account may have sandbox and production customers, and production is shown", async () => {
    const app = await service.application();
    const sandbox = app.device({ environment: "Sandbox" }).request({ expiresDate: Date.now() + 300 * DAY });
    await app.link(sandbox, "user-1");
    expect((await app.read("user-1")).body.entitlements).toMatchObject([{ environment: "sandbox" }]);
    await app.link(app.device().request({}), "user-1");
    const { body } = await app.read("user-1");
    expect(body.customerIdentifiers).toHaveLength(2);
    expect(body.entitlements).toMatchObject([{ environment: "production" }]);
  });

  test("a transaction past its end is expired", async () => {
    const app = await service.application();
    const request = app.device().request({ expiresDate: Date.now() - 1 });
    expect((await app.synchronize(request)).body.entitlements).toMatchObject([
      { status: "expired", active: false },
    ]);
  });
});
