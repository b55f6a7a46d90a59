import { ImpossibleChange } from "../../../../sandbox/routes.ts";
import type { RequestedChange } from "../../../../sandbox/ios-store/shop/requests.ts";
import { NOW } from "../../../../testing/support/stores/purchases.ts";
import { decodedTransactions, storeForEachTest, type Pushed } from "./store-under-test.ts";

const under = storeForEachTest();

const names = (pushed: readonly Pushed[]): string[] => pushed.map(({ name }) => name);
const transactionsOf = async (original: string) =>
  decodedTransactions((await under.store.read(original))?.signedTransactions ?? []);

describe("a refund", () => {
  test("of the current period ends the subscription", async () => {
    const original = await under.buy();
    const pushed = await under.change(original, { change: "refund", reason: 1 });
    expect(names(pushed)).toEqual(["DID_CHANGE_RENEWAL_STATUS AUTO_RENEW_DISABLED", "REFUND"]);
    const [disabled, refund] = pushed;
    expect(disabled?.transaction).not.toHaveProperty("revocationDate");
    expect(refund).toMatchObject({
      body: { data: { status: 5 } },
      transaction: {
        transactionId: original,
        revocationDate: under.now,
        revocationReason: 1,
        revocationType: "REFUND_FULL",
        revocationPercentage: 100_000,
      },
      renewalInfo: { autoRenewStatus: 0 },
    });
    expect(refund?.transaction?.signedDate).toBeGreaterThan(disabled?.transaction?.signedDate ?? Infinity);
    expect(under.store.nextEventAt()).toBeNull();
  });

  test("reversed, the period goes on and is not renewed", async () => {
    const original = await under.buy();
    await under.change(original, { change: "refund" });
    const [reversed] = await under.change(original, { change: "reverse-refund" });
    expect(reversed).toMatchObject({
      name: "REFUND_REVERSED",
      body: { data: { status: 1 } },
      renewalInfo: { autoRenewStatus: 0 },
    });
    for (const absent of ["revocationDate", "revocationReason", "revocationType", "revocationPercentage"])
      expect(reversed?.transaction).not.toHaveProperty(absent);
    await under.moveTo(Date.UTC(2026, 6, 15, 12));
    expect(names(await under.pushed())).toEqual(["EXPIRED VOLUNTARY"]);
  });
});

describe("a family", () => {
  const share = async (original: string): Promise<string> => {
    await under.store.change(original, { change: "share-with-family", appTransactionIdentifier: "705" });
    const all = await under.store.readAll();
    return all[1]?.originalTransactionIdentifiers[0] ?? "";
  };

  test("renewals and changes of the purchase happen to the members too", async () => {
    const original = await under.buy();
    const member = await share(original);
    await under.pushed();
    await under.moveTo(Date.UTC(2026, 6, 15, 12));
    const pushed = [...(await under.pushed()), ...(await under.change(original, { change: "cancel" }))];
    expect(pushed.map(({ name, transaction }) => [name, transaction?.originalTransactionId])).toEqual([
      ["DID_RENEW", original],
      ["DID_RENEW", member],
      ["DID_CHANGE_RENEWAL_STATUS AUTO_RENEW_DISABLED", original],
      ["DID_CHANGE_RENEWAL_STATUS AUTO_RENEW_DISABLED", member],
    ]);
    await expect(under.store.change(member, { change: "resume" })).rejects.toThrow(ImpossibleChange);
  });

  test.each(["purchaser", "member"])("no longer shared by the %s: the member's is revoked", async (who) => {
    const original = await under.buy({ type: "Non-Consumable" });
    const member = await share(original);
    const pushed = await under.change(who === "member" ? member : original, { change: "unshare" });
    const revoked = { revocationDate: under.now, revocationReason: 0, revocationType: "FAMILY_REVOKE" };
    expect(pushed).toMatchObject([
      { name: "REVOKE", transaction: { originalTransactionId: member, ...revoked } },
    ]);
    expect(pushed[0]?.transaction).not.toHaveProperty("revocationPercentage");
    expect((await transactionsOf(original))[0]).not.toHaveProperty("revocationDate");
    await expect(under.store.change(original, { change: "unshare" })).rejects.toThrow(ImpossibleChange);
  });

  test("the purchaser's refund revokes the members', for the same reason", async () => {
    const original = await under.buy();
    const member = await share(original);
    const pushed = await under.change(original, { change: "refund", reason: 1 });
    expect(names(pushed).slice(1)).toEqual(["REFUND", "REVOKE"]);
    expect(pushed.at(-1)).toMatchObject({
      body: { data: { status: 5 } },
      transaction: { originalTransactionId: member, revocationReason: 1 },
    });
  });
});

test("a restore makes another transaction id of the same event, untold", async () => {
  const original = await under.buy({ type: "Non-Consumable" });
  expect(await under.change(original, { change: "restore" })).toEqual([]);
  const [first, copy] = await transactionsOf(original);
  expect(copy?.transactionId).not.toBe(first?.transactionId);
  expect(copy).toMatchObject({
    originalTransactionId: original,
    purchaseDate: under.now,
    originalPurchaseDate: NOW,
  });
});

test.each([
  ["a refund of what is refunded", [{ change: "refund" }, { change: "refund" }]],
  ["a reversal of no refund", [{ change: "reverse-refund" }]],
  ["a renewal of a cancelled subscription", [{ change: "cancel" }, { change: "renew" }]],
  ["a recovery of no failure", [{ change: "recover" }]],
  ["an extension of what has ended", [{ change: "expire" }, { change: "extend" }]],
  ["a share of more than there is", [{ change: "refund-partly", refundedQuantity: 1 }]],
  ["an unknown transaction", [{ change: "refund", transactionIdentifier: "1" }]],
] satisfies [string, RequestedChange[]][])("%s is impossible, and changes nothing", async (_, changes) => {
  const original = await under.buy();
  const [impossible = { change: "cancel" as const }, ...possible] = changes.toReversed();
  for (const change of possible) await under.store.change(original, change);
  const before = under.store.save();
  await expect(under.store.change(original, impossible)).rejects.toThrow(ImpossibleChange);
  expect(under.store.save()).toBe(before);
});
