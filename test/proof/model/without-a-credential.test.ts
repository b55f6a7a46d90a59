import fc from "fast-check";
import {
  linkIosStoreCustomer,
  synchronizeIosStorePurchases,
} from "../../../lib/customers/ios-store-customers.ts";
import { createIosStoreVerifier } from "../../../lib/stores/ios-store/verifier.ts";
import { fingerprintOf, makeChain, signJws } from "../../../sandbox/ios-store/signing.ts";
import { anApplication } from "../../../testing/support/application.ts";
import { checkInvariants } from "../../../testing/support/table/invariants.ts";
import { aBundle, anAppTransaction, aTransaction } from "../../../testing/support/stores/ios-store.ts";
import { createMemoryTable, type MemoryTable } from "../../../testing/support/table/memory-table.ts";
import { cases, TIMEOUT } from "../../../testing/support/proof.ts";
import { aCatalog, aProduct } from "../../../testing/support/stores/purchases.ts";
import { createWorld } from "../../../testing/support/world.ts";

/*
 * Two persons, each with an account, an app transaction id and two purchases. Each purchase has copies from before and
 * after transactions carried that id. Everybody has all copies and app transactions; only a person's own backend sends
 * that person's with a credential.
 */

const PERSONS = [0, 1] as const;
type Person = (typeof PERSONS)[number];

interface Copy {
  readonly person: Person;
  readonly purchase: string;
  readonly hasIdentity: boolean;
}

interface Sent {
  /** Whose app transaction; null: it carries no id. */
  readonly appTransaction: Person | null;
  readonly copies: readonly Copy[];
  /** The person whose backend sends it; null: it comes without a credential. */
  readonly backend: Person | null;
  readonly account: string | null;
}

const chain = makeChain();
const idOf = (person: Person): string => `70400000000000${person + 1}`;
const purchasesOf = (person: Person): readonly string[] => [`${person + 1}1`, `${person + 1}2`];

const COPIES: readonly Copy[] = PERSONS.flatMap((person) =>
  purchasesOf(person).flatMap((purchase) =>
    [false, true].map((hasIdentity) => ({ person, purchase, hasIdentity })),
  ),
);
const SIGNED = new Map(
  COPIES.map((copy) => {
    const { person, purchase, hasIdentity } = copy;
    const appTransactionId = hasIdentity ? idOf(person) : undefined;
    const ids = { transactionId: purchase, originalTransactionId: purchase, productId: purchase };
    return [copy, signJws(aTransaction({ ...ids, appTransactionId }), chain)];
  }),
);
const signedAppTransaction = (person: Person | null): string =>
  signJws(anAppTransaction({ appTransactionId: person === null ? undefined : idOf(person) }), chain);
const APP_TRANSACTIONS = new Map([null, ...PERSONS].map((person) => [person, signedAppTransaction(person)]));

const CATALOG = aCatalog(
  PERSONS.flatMap(purchasesOf).map((productIdentifier) =>
    aProduct({ productIdentifier, grants: [productIdentifier] }),
  ),
);

const keyless = fc.record({
  appTransaction: fc.constantFrom(null, ...PERSONS),
  copies: fc.subarray([...COPIES]),
  backend: fc.constant(null),
  account: fc.constantFrom(null, "0", "1", "another"),
});
const credentialed = fc.constantFrom(...PERSONS).chain((person) =>
  fc.record({
    appTransaction: fc.constantFrom(null, person),
    copies: fc.subarray(COPIES.filter((copy) => copy.person === person)),
    backend: fc.constant(person),
    account: fc.constant(String(person)),
  }),
);
const traffic = fc.array(fc.oneof<[typeof keyless, typeof credentialed]>(keyless, credentialed), {
  minLength: 1,
  maxLength: 8,
});

/** The application's use cases; each request answers with entitlements, or with the code of its refusal. */
const anApp = (table: MemoryTable) => {
  const application = anApplication({ iosStore: [aBundle()], catalog: CATALOG });
  const world = createWorld(table, { application, pause: () => Promise.resolve() });
  const customers = {
    ...world.factStore,
    directory: world.directory,
    verifier: createIosStoreVerifier(),
    trustedRoots: new Set([fingerprintOf(chain.root)]),
  };
  const send = async ({
    appTransaction,
    copies,
    backend,
    account,
  }: Sent): Promise<readonly string[] | string> => {
    const request = {
      signedAppTransaction: APP_TRANSACTIONS.get(appTransaction) ?? "",
      signedTransactions: copies.flatMap((copy) => SIGNED.get(copy) ?? []),
    };
    const answer =
      backend === null
        ? synchronizeIosStorePurchases(customers, { ...request, applicationAccountIdentifier: account })
        : linkIosStoreCustomer(customers, application.identifier, {
            ...request,
            applicationAccountIdentifier: String(backend),
          });
    return answer.then(
      ({ entitlements }) => entitlements.map(({ identifier }) => identifier),
      ({ code }: { code: string }) => code,
    );
  };
  const read = async (account: string) => {
    const { entitlements } = await world.read(account);
    return entitlements.map(({ identifier }) => identifier);
  };
  return { send, read, items: world.items };
};

/** The link of a person's backend with the app transaction id and the copies from before it. */
const everythingOf = (person: Person): Sent => ({
  appTransaction: person,
  copies: COPIES.filter((copy) => copy.person === person && !copy.hasIdentity),
  backend: person,
  account: String(person),
});

const expectOwnPurchases = async ({ send, read, items }: ReturnType<typeof anApp>): Promise<void> => {
  for (const person of PERSONS) expect(await send(everythingOf(person))).toEqual(purchasesOf(person));
  for (const person of PERSONS) expect(await read(String(person))).toEqual(purchasesOf(person));
  expect(checkInvariants(await items(), { catalogOf: () => CATALOG })).toEqual([]);
};

/** A backend's link is made, and gives its account nobody else's purchase. */
const expectLinked = ({ backend, copies }: Sent, answer: readonly string[] | string): void => {
  if (backend === null) return;
  expect(Array.isArray(answer)).toBe(true);
  expect(answer).toEqual(expect.arrayContaining(copies.map(({ purchase }) => purchase)));
  for (const purchase of answer) expect(purchasesOf(backend)).toContain(purchase);
};

test(
  "no request without a credential changes how another person's backend is answered",
  () =>
    fc.assert(
      fc.asyncProperty(
        traffic,
        fc.integer({ min: 0, max: 3 }),
        fc.scheduler(),
        fc.infiniteStream(fc.boolean()),
        async (requests, concurrency, scheduler, sees) => {
          const table = createMemoryTable();
          const app = anApp(table);
          const send = async (request: Sent): Promise<void> => expectLinked(request, await app.send(request));
          const last = requests.length - concurrency;
          for (const request of requests.slice(0, Math.max(0, last))) await send(request);
          table.turn = (command) => scheduler.schedule(Promise.resolve(), command);
          table.midway = () => scheduler.schedule(Promise.resolve(), "all items of a transaction are seen");
          table.seesAfter = () => sees.next().value;
          await scheduler.waitFor(Promise.all(requests.slice(Math.max(0, last)).map(send)));
          table.turn = () => Promise.resolve();
          table.midway = null;
          await expectOwnPurchases(app);
        },
      ),
      cases(300, 20_000),
    ),
  TIMEOUT,
);
