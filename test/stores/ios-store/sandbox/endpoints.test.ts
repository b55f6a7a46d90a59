import { decodeJwt } from "jose";
import * as z from "zod";
import { NOW } from "../../../../testing/support/stores/purchases.ts";
import { MONTHLY, storeForEachTest } from "./store-under-test.ts";

const under = storeForEachTest();

const persons = z.looseObject({
  signedAppTransaction: z.string(),
  signedTransactions: z.array(z.string()),
  signedRenewalInfos: z.array(z.string()),
  originalTransactionIdentifiers: z.array(z.string()),
});

/** What a request that succeeds answers of a person's purchases. */
const answered = async (method: string, path: string, body?: unknown) => {
  const answer = await under.request(method, path, body);
  expect(answer.status).toBe(200);
  return persons.parse(answer.body);
};

const fieldsOf = (signed: readonly string[]) => signed.map((jws) => decodeJwt(jws));

test("a purchase is answered as an app sends it, with its id", async () => {
  const body = await answered("POST", "/purchases", {
    appTransactionIdentifier: "704",
    applicationAccountIdentifier: "user-1",
    transactions: [{ productIdentifier: MONTHLY }, { productIdentifier: "maps", type: "Non-Consumable" }],
  });
  expect(Object.keys(body).toSorted()).toEqual(
    ["applicationAccountIdentifier", ...Object.keys(persons.shape)].toSorted(),
  );
  const ids = fieldsOf(body.signedTransactions).map(({ originalTransactionId }) => originalTransactionId);
  expect(body.originalTransactionIdentifiers).toEqual(ids);
  expect(fieldsOf(body.signedRenewalInfos)).toMatchObject([
    { originalTransactionId: ids[0], deviceVerification: expect.any(String), signedDate: NOW },
  ]);
  expect(decodeJwt(body.signedAppTransaction)).toMatchObject({ appTransactionId: "704" });
});

test("a person's purchases are read together, as they are now", async () => {
  const [first, second] = [await under.buy(), await under.buy({ type: "Non-Consumable" })];
  await under.buy({}, { appTransactionIdentifier: null });
  under.now = Date.UTC(2026, 6, 20);
  const body = await answered("GET", `/purchases/${second}`);
  expect(body.originalTransactionIdentifiers).toEqual([first, second]);
  expect(fieldsOf(body.signedTransactions)).toMatchObject([
    { originalTransactionId: first, transactionReason: "PURCHASE" },
    { originalTransactionId: first, transactionReason: "RENEWAL" },
    { originalTransactionId: second },
  ]);
  const { purchases } = z
    .object({ purchases: z.array(persons) })
    .parse((await under.request("GET", "/purchases")).body);
  expect(purchases).toHaveLength(2);
  expect(purchases[0]?.originalTransactionIdentifiers).toEqual([first, second]);
});

test("a change is answered after its notification, as the app sends it", async () => {
  const original = await under.buy();
  const body = await answered("POST", `/purchases/${original}`, { change: "cancel" });
  expect(under.received).toHaveLength(2);
  expect(fieldsOf(body.signedRenewalInfos)).toMatchObject([{ autoRenewStatus: 0 }]);
});

test("notifications are switched off and on", async () => {
  for (const enabled of [false, true]) {
    const { body } = await under.request("POST", "/notifications", { enabled });
    expect(body).toEqual({ enabled });
    await under.buy();
    expect(under.received).toHaveLength(enabled ? 1 : 0);
  }
});

describe("refused with a message, and nothing is sold", () => {
  const buying = (...goods: readonly object[]) => ({
    transactions: goods.map((each) => ({ productIdentifier: MONTHLY, ...each })),
  });
  const NEW_YEAR = "2026-01-01T00:00:00Z";
  const LINEAGE = { transactionIdentifier: "2000000000000007" };
  test.each([
    ["no object", "{", 400],
    ["a grace period that is none", buying({ gracePeriod: "soon" }), 400],
    ["a purchase in the future", buying({ purchaseDate: "2027-01-01T00:00:00Z" }), 409],
    ["an end before the purchase", buying({ expiresDate: NEW_YEAR }), 409],
    ["too long a history", buying({ purchaseDate: NEW_YEAR, period: "PT1H" }), 409],
    ["one id for two lineages", buying(LINEAGE, LINEAGE), 409],
  ])("%s", async (_, body, status) => {
    const before = under.store.save();
    const refused = { status, body: { message: expect.any(String) } };
    expect(await under.request("POST", "/purchases", body)).toEqual(refused);
    expect(under.store.save()).toBe(before);
  });

  test.each([
    ["an unknown change", { change: "steal" }, 400],
    ["a wrong type", { change: "refund", reason: 2 }, 400],
    ["an impossible change", { change: "resume" }, 409],
  ])("%s", async (_, body, status) => {
    const original = await under.buy();
    expect((await under.request("POST", `/purchases/${original}`, body)).status).toBe(status);
  });

  test("a change of no purchase", async () => {
    expect((await under.request("POST", "/purchases/1", { change: "cancel" })).status).toBe(404);
    expect((await under.request("GET", "/purchases/%ZZ")).status).toBe(404);
  });
});

test("requests beyond a second's limit wait for the next second", async () => {
  const original = await under.buy();
  under.store.failServerApi({ status: 429, perSecond: 2 });
  const ask = async () => {
    const headers = { authorization: `Bearer ${await under.token()}` };
    return fetch(`${under.address}/inApps/v1/transactions/appTransactions/${original}`, { headers });
  };
  const answers = [await ask(), await ask(), await ask()];
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 429]);
  expect(answers[2]?.headers.get("retry-after")).toBe(String(NOW + 1000));
  under.now = NOW + 1000;
  expect((await ask()).status).toBe(200);
});
