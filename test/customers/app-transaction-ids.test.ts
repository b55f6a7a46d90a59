import {
  linkIosStoreCustomer,
  synchronizeIosStorePurchases,
} from "../../lib/customers/ios-store-customers.ts";
import { signJws } from "../../sandbox/ios-store/signing.ts";
import {
  ACCOUNT,
  anAppTransaction,
  aTransaction,
  type Payload,
} from "../../testing/support/stores/ios-store.ts";
import { NOW } from "../../testing/support/stores/purchases.ts";
import { aUseCaseTable } from "../../testing/support/table/use-case-table.ts";
import { chain, notifiedApp } from "./notifications/notified-app.ts";

const OTHER = "704000000000002";

const table = await aUseCaseTable();

interface Sent {
  /** App transaction id. */
  readonly id?: string;
  readonly transactions: readonly Payload[];
  /** Account of a link; without it, the request synchronizes. */
  readonly account?: string;
}

/** An application of one bundle that is sent requests; each answers with the customer, or with the error. */
const anApp = () => {
  const { reception, world } = notifiedApp(table);
  return ({ id, transactions, account }: Sent) => {
    const request = {
      signedAppTransaction: signJws(anAppTransaction({ appTransactionId: id }), chain),
      signedTransactions: transactions.map((one) => signJws(one, chain)),
    };
    const answer =
      account === undefined
        ? synchronizeIosStorePurchases(reception, request)
        : linkIosStoreCustomer(reception, world.application.identifier, {
            ...request,
            applicationAccountIdentifier: account,
          });
    return answer.then(
      ({ customerIdentifier, entitlements }) => ({
        customer: customerIdentifier,
        active: entitlements.some(({ active }) => active),
      }),
      ({ code, message }: { code: string; message: string }) => ({ code, message }),
    );
  };
};

const of = (lineage: string, appTransactionId: string | undefined, fields: Payload = {}): Payload =>
  aTransaction({ originalTransactionId: lineage, transactionId: lineage, appTransactionId, ...fields });

/** A subscription whose first transaction has one app transaction id, and its renewal another. */
const mixed = (lineage: string): readonly Payload[] => [
  of(lineage, ACCOUNT, { purchaseDate: NOW - 40 * 86_400_000, expiresDate: NOW - 10 * 86_400_000 }),
  of(lineage, OTHER, { transactionId: `${lineage}1` }),
];

describe("a subscription whose transactions carry two app transaction ids", () => {
  test.each([
    ["the first transaction's", ACCOUNT],
    ["the renewal's", OTHER],
    ["no", undefined],
  ])("counts for an app transaction of %s id", async (_, id) => {
    expect(await anApp()({ ...(id !== undefined && { id }), transactions: mixed("1") })).toMatchObject({
      active: true,
    });
  });

  test("names the app transaction's id alone", async () => {
    const send = anApp();
    const stranger = await send({ id: OTHER, transactions: [of("9", OTHER)], account: "stranger" });
    const person = await send({ id: ACCOUNT, transactions: mixed("1"), account: "person" });
    expect(person).toMatchObject({ active: true });
    expect(person).not.toMatchObject(stranger);
    expect(await send({ id: OTHER, transactions: [] })).toEqual(stranger);
  });
});

test("purchases without an app transaction id are the person's once a backend links them", async () => {
  const send = anApp();
  const unnamed = [of("2", undefined)];
  await send({ transactions: unnamed });
  await send({ id: ACCOUNT, transactions: unnamed, account: "me" });
  const person = await send({ id: ACCOUNT, transactions: [] });
  expect(person).toMatchObject({ active: true });
  expect(await send({ transactions: unnamed })).toEqual(person);
});

test("a stranger's transactions are refused together with the caller's own, and nothing is stored", async () => {
  const send = anApp();
  const stranger = await send({ id: OTHER, transactions: [of("9", OTHER)], account: "stranger" });
  const own = [of("1", ACCOUNT), of("2", undefined)];
  const theirs = [of("9", undefined, { transactionId: "90" }), of("9", OTHER)];
  const refused = (index: number) => ({
    code: "INVALID_TRANSACTION",
    message: `The signed transaction at index ${index} has a different app transaction id than the request's other payloads.`,
  });
  for (const named of [{}, { account: "attacker" }]) {
    expect(await send({ id: ACCOUNT, transactions: theirs, ...named })).toEqual(refused(1));
    expect(await send({ id: ACCOUNT, transactions: [...own, ...theirs], ...named })).toEqual(refused(3));
    expect(await send({ transactions: [...own, ...theirs], ...named })).toEqual(refused(3));
  }
  expect(await send({ id: ACCOUNT, transactions: [] })).toEqual({ customer: null, active: false });
  expect(await send({ id: OTHER, transactions: [] })).toEqual(stranger);
});
