import { ZodError } from "zod";
import { HOUR } from "../../../../lib/duration.ts";
import { APPLE_ID } from "../../../../testing/support/stores/ios-store.ts";
import { DAY, NOW } from "../../../../testing/support/stores/purchases.ts";
import { storeForEachTest, type StoreEnvironment } from "./store-under-test.ts";

const under = storeForEachTest();
const buy = async (environment: StoreEnvironment = "production") => under.buy({}, { environment });

const triesAfter = (): number[] => under.received.map(({ at }) => at - NOW);

describe("a notification that is not taken", () => {
  test.each([207, 302, 404, 500])(
    "answered with %i, it is sent again five times, unchanged",
    async (status) => {
      under.answers = status;
      await buy();
      await under.moveTo(NOW + 25 * DAY);
      expect(triesAfter()).toEqual([0, 1, 13, 37, 85, 157].map((hours) => hours * HOUR));
      expect(new Set(under.received.map(({ signedPayload }) => signedPayload)).size).toBe(1);
    },
  );

  test.each([200, 206])("answered with %i, it is taken", async (status) => {
    under.answers = status;
    await buy();
    expect(under.store.nextEventAt()).toBe(Date.UTC(2026, 6, 15, 12));
    expect(triesAfter()).toEqual([0]);
  });

  test("in the sandbox environment it is sent once", async () => {
    under.answers = 500;
    await buy("sandbox");
    await under.moveTo(NOW + 25 * DAY);
    expect(triesAfter()).toEqual([0]);
  });
});

test("switched off, nothing is sent, nor later", async () => {
  under.answers = 500;
  const original = await buy();
  under.answers = 200;
  under.store.enableNotifications(false);
  await under.store.change(original, { change: "cancel" });
  await under.moveTo(NOW + DAY);
  under.store.enableNotifications(true);
  await under.moveTo(NOW + 2 * DAY);
  expect(triesAfter()).toEqual([0]);
  await under.store.change(original, { change: "resume" });
  expect(under.received).toHaveLength(2);
});

test("in production, a notification names the app's Apple ID", async () => {
  await buy("production");
  expect(await under.pushed("production")).toMatchObject([{ body: { data: { appAppleId: APPLE_ID } } }]);
});

describe("what is saved", () => {
  test("forgotten, nothing is left", async () => {
    const empty = under.store.save();
    under.answers = 500;
    const original = await buy();
    under.store.reset();
    expect(under.store.save()).toBe(empty);
    expect(under.store.nextEventAt()).toBeNull();
    await expect(under.store.read(original)).rejects.toThrow("no such purchase");
  });

  test("forgotten while notifications are under way, none is sent again, and no other", async () => {
    const empty = under.store.save();
    under.answers = 500;
    let next: number | null = null;
    under.arrived = () => {
      next = under.store.nextEventAt();
      under.store.reset();
    };
    await under.store.buy({ transactions: [1, 2].map(() => ({ productIdentifier: "p" })) });
    expect(under.store.save()).toBe(empty);
    expect(under.received).toHaveLength(1);
    expect(next).toBe(Date.UTC(2026, 6, 15, 12));
  });

  test.each<[string, corrupt: (state: { shop: object }) => string]>([
    ["no JSON", () => "{"],
    ["another shape", () => '{"format":1,"shop":{},"pushes":{}}'],
    ["parts that do not fit", (state) => JSON.stringify({ ...state, shop: { ...state.shop, accounts: [] } })],
  ])("corrupt (%s), the store does not open", async (_, corrupt) => {
    await buy();
    const saved = corrupt(JSON.parse(under.store.save()));
    expect(() => under.opened({ saved })).toThrow(ZodError);
  });
});
