import type { createEntitlementsClient, CustomerEntitlement } from "../../client/source/index.ts";
import { anAnswer, anEntitlement, aRefusal, NOW, withStub } from "./stub-service.ts";

const MINUTE = 60_000;
const down = aRefusal(500, "INTERNAL_ERROR");
const iso = (moment: number): string => new Date(moment).toISOString();

const given = withStub();
let client: ReturnType<typeof createEntitlementsClient>;
beforeEach(() => {
  client = given.aClient({ cache: { fresh: MINUTE, stale: 60 * MINUTE, accounts: 2 } });
});

const has = async (account = "user-1"): Promise<boolean> => client.hasEntitlement(account, "premium");
const hasAt = async (moment: number): Promise<boolean> => {
  given.clock.current = moment;
  return has();
};
const expectRequests = (count: number) => expect(given.service.requests).toHaveLength(count);
const keep = async (fields: Partial<CustomerEntitlement> = {}): Promise<void> => {
  given.service.answer(anAnswer(anEntitlement(fields)));
  await has();
};

test("a fresh answer is given again; an older one is asked for", async () => {
  await keep();
  await hasAt(NOW + MINUTE - 1);
  expectRequests(1);
  await hasAt(NOW + MINUTE);
  expectRequests(2);
});

test("concurrent reads of one account share a request", async () => {
  given.service.answer(anAnswer(anEntitlement()));
  await Promise.all([has(), has(), has(), has("user-2")]);
  expectRequests(2);
});

test("a service that cannot answer is bridged for a bounded time", async () => {
  await keep();
  given.service.answer(down);
  expect(await hasAt(NOW + 59 * MINUTE)).toBe(true);
  await expect(hasAt(NOW + 60 * MINUTE)).rejects.toMatchObject({ code: "INTERNAL_ERROR" });
});

test.each([
  [401, "INVALID_CREDENTIAL"],
  [403, "INSUFFICIENT_SCOPE"],
])("a refusal is not bridged: %i %s", async (status, code) => {
  await keep();
  given.service.answer(aRefusal(status, code));
  await expect(hasAt(NOW + MINUTE)).rejects.toMatchObject({ code });
});

test("a fresh answer of which something has ended is asked for", async () => {
  const [first, second] = [NOW + 10_000, NOW + 40 * MINUTE];
  await keep({ expiresAt: iso(first) });
  given.service.answer(anAnswer(anEntitlement({ expiresAt: iso(second) })));
  expect(await hasAt(first - 1)).toBe(true);
  expectRequests(1);
  expect(await hasAt(first)).toBe(true);
  expectRequests(2);
});

test.each<Partial<CustomerEntitlement>>([{ active: false, status: "expired" }, { willRenew: true }])(
  "an ended entitlement and a renewing subscription stay fresh: %j",
  async (fields) => {
    await keep({ expiresAt: iso(NOW + 10_000), ...fields });
    await hasAt(NOW + 10_000);
    expectRequests(1);
  },
);

describe("in a kept answer, ends take effect while the service cannot answer", () => {
  const END = NOW + 10_000;
  test.each<[string, Partial<CustomerEntitlement>, CustomerEntitlement["status"] | null]>([
    ["a cancelled subscription", { expiresAt: iso(END), willRenew: false }, "expired"],
    ["a pass, of which no renewal is said", { expiresAt: iso(END), willRenew: null }, "expired"],
    ["a grace period", { expiresAt: iso(END), willRenew: true, status: "grace_period" }, "billing_retry"],
    ["not a subscription that will renew", { expiresAt: iso(END), willRenew: true }, null],
    ["not a lifetime purchase", { expiresAt: null }, null],
  ])("%s", async (_, fields, ended) => {
    await keep(fields);
    const at = async (moment: number) => {
      given.clock.current = moment;
      const { entitlements } = await client.readAccountEntitlements("user-1");
      return entitlements.map(({ status, active }) => [status, active]);
    };
    const before = [[fields.status ?? "active", true]];
    given.service.answer(down);
    expect(await at(END - 1)).toEqual(before);
    expect(await at(END)).toEqual(ended === null ? before : [[ended, false]]);
  });
});

test("a forgotten account is asked for, and not bridged", async () => {
  await keep();
  client.forget("user-1");
  given.service.answer(anAnswer());
  expect(await has()).toBe(false);
  client.forget("user-1");
  given.service.answer(down);
  await expect(has()).rejects.toMatchObject({ code: "INTERNAL_ERROR" });
});

test("an answer under way when its account is forgotten is not kept", async () => {
  const arrived = Promise.withResolvers<void>();
  const answered = Promise.withResolvers<void>();
  given.service.answer((_, response) => {
    arrived.resolve();
    void answered.promise.then(() => response.end(JSON.stringify(anAnswer(anEntitlement()).body)));
  }, anAnswer());
  const reading = has();
  await arrived.promise;
  client.forget("user-1");
  answered.resolve();
  expect(await reading).toBe(true);
  expect(await has()).toBe(false);
});

test("after a link the next read asks; an outage is still bridged", async () => {
  await keep();
  const request = { signedAppTransaction: "app", applicationAccountIdentifier: "user-1" };
  given.service.answer(anAnswer());
  await client.linkIosStoreCustomer(request);
  given.service.answer(down);
  expect(await has()).toBe(true);
  given.service.answer(anAnswer());
  expect(await has()).toBe(false);
});

test("beyond its accounts, the one that was read longest ago goes", async () => {
  given.service.answer(anAnswer(anEntitlement()));
  for (const account of ["a", "b", "c"]) await has(account);
  await has("b");
  await has("c");
  expectRequests(3);
  await has("a");
  expectRequests(4);
});
