import { createEntitlementsClient, type CustomerEntitlement } from "../../client/source/index.ts";
import {
  aClock,
  anAnswer,
  anEntitlement,
  aRefusal,
  startStubService,
  type StubService,
} from "./stub-service.ts";

const NOW = Date.UTC(2026, 5, 15, 12);
const MINUTE = 60_000;
const down = aRefusal(500, "INTERNAL_ERROR");
const iso = (moment: number): string => new Date(moment).toISOString();

let service: StubService;
let clock: ReturnType<typeof aClock>;
let client: ReturnType<typeof createEntitlementsClient>;
beforeAll(async () => {
  service = await startStubService();
});
beforeEach(() => {
  clock = aClock(NOW);
  service.requests.length = 0;
  client = createEntitlementsClient({
    baseUrl: service.address,
    apiKey: "key",
    clock,
    cache: { fresh: MINUTE, stale: 60 * MINUTE, accounts: 2 },
  });
});
afterAll(() => service.stop());

const has = async (account = "user-1"): Promise<boolean> => client.hasEntitlement(account, "premium");
const keep = async (fields: Partial<CustomerEntitlement> = {}): Promise<void> => {
  service.answer(anAnswer(anEntitlement(fields)));
  await has();
};

test("a fresh answer is given again; an older one is asked for", async () => {
  await keep();
  clock.current = NOW + MINUTE - 1;
  await has();
  expect(service.requests).toHaveLength(1);
  clock.current = NOW + MINUTE;
  await has();
  expect(service.requests).toHaveLength(2);
});

test("without a cache every read asks", async () => {
  client = createEntitlementsClient({ baseUrl: service.address, apiKey: "key", clock });
  await keep();
  await has();
  expect(service.requests).toHaveLength(2);
});

test("concurrent reads of one account share a request", async () => {
  service.answer(anAnswer(anEntitlement()));
  await Promise.all([has(), has(), has(), has("user-2")]);
  expect(service.requests).toHaveLength(2);
});

test("a service that cannot answer is bridged for a bounded time", async () => {
  await keep();
  service.answer(down);
  clock.current = NOW + 59 * MINUTE;
  expect(await has()).toBe(true);
  clock.current = NOW + 60 * MINUTE;
  await expect(has()).rejects.toMatchObject({ code: "INTERNAL_ERROR" });
});

test("a refusal is not bridged: a revoked key, a missing application", async () => {
  await keep();
  clock.current = NOW + MINUTE;
  for (const [status, code] of [
    [401, "INVALID_CREDENTIAL"],
    [403, "INSUFFICIENT_SCOPE"],
  ] as const) {
    service.answer(aRefusal(status, code));
    await expect(has()).rejects.toMatchObject({ code });
  }
});

test("an account that was never read is not bridged", async () => {
  service.answer(down);
  await expect(has("stranger")).rejects.toMatchObject({ code: "INTERNAL_ERROR" });
});

test("a fresh answer of which something has ended is asked for", async () => {
  const [first, second] = [NOW + 10_000, NOW + 40 * MINUTE];
  await keep({ expiresAt: iso(first) });
  service.answer(anAnswer(anEntitlement({ expiresAt: iso(second) })));
  clock.current = first - 1;
  expect(await has()).toBe(true);
  expect(service.requests).toHaveLength(1);
  clock.current = first;
  expect(await has()).toBe(true);
  expect(service.requests).toHaveLength(2);
});

test("a clock ahead of the service's does not end a new answer", async () => {
  await keep({ expiresAt: iso(NOW - 1) });
  await has();
  expect(service.requests).toHaveLength(1);
});

test("an ended entitlement and a renewing subscription stay fresh", async () => {
  for (const fields of [{ active: false, status: "expired" }, { willRenew: true }] as const) {
    client.forget("user-1");
    clock.current = NOW;
    service.requests.length = 0;
    await keep({ expiresAt: iso(NOW + 10_000), ...fields });
    clock.current = NOW + 10_000;
    await has();
    expect(service.requests).toHaveLength(1);
  }
});

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
      clock.current = moment;
      const { entitlements } = await client.readAccountEntitlements("user-1");
      return entitlements.map(({ status, active }) => [status, active]);
    };
    const before = [[fields.status ?? "active", true]];
    service.answer(down);
    expect(await at(END - 1)).toEqual(before);
    expect(await at(END)).toEqual(ended === null ? before : [[ended, false]]);
  });
});

test("a forgotten account is asked for, and not bridged", async () => {
  await keep();
  client.forget("user-1");
  service.answer(anAnswer());
  expect(await has()).toBe(false);
  client.forget("user-1");
  service.answer(down);
  await expect(has()).rejects.toMatchObject({ code: "INTERNAL_ERROR" });
});

test("an answer under way when its account is forgotten is not kept", async () => {
  const arrived = Promise.withResolvers<void>();
  const answered = Promise.withResolvers<void>();
  service.answer((_, response) => {
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
  service.answer(anAnswer());
  await client.linkIosStoreCustomer(request);
  service.answer(down);
  expect(await has()).toBe(true);
  service.answer(anAnswer());
  expect(await has()).toBe(false);
});

test("after a refused link the next read asks", async () => {
  const read = Promise.withResolvers<boolean>();
  service.answer(
    aRefusal(409, "IDENTITY_CONFLICT"),
    (_, response) => {
      read.resolve(has());
      void read.promise.then(() => response.end(JSON.stringify(anAnswer().body)));
    },
    anAnswer(anEntitlement()),
    anAnswer(),
  );
  const request = {
    signedAppTransaction: "app",
    signedTransactions: Array.from({ length: 501 }, (_, index) => `t${index}`),
    applicationAccountIdentifier: "user-1",
  };
  await expect(client.linkIosStoreCustomer(request)).rejects.toMatchObject({ code: "IDENTITY_CONFLICT" });
  expect(await read.promise).toBe(true);
  expect(await has()).toBe(false);
});

test("beyond its accounts, the one that was read longest ago goes", async () => {
  service.answer(anAnswer(anEntitlement()));
  for (const account of ["a", "b", "c"]) await has(account);
  service.requests.length = 0;
  await has("b");
  await has("c");
  expect(service.requests).toHaveLength(0);
  await has("a");
  expect(service.requests).toHaveLength(1);
});

test("beyond its accounts, one that is read again and again stays", async () => {
  service.answer(anAnswer(anEntitlement()));
  for (const account of ["a", "b", "a", "c"]) await has(account);
  service.requests.length = 0;
  await has("a");
  expect(service.requests).toHaveLength(0);
});

test("a clock that was set back makes nothing fresh", async () => {
  await keep();
  clock.current = NOW - 1;
  await has();
  expect(service.requests).toHaveLength(2);
});
