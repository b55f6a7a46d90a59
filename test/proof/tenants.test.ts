import fc from "fast-check";
import { v7 as uuid } from "uuid";
import type { Application } from "../../lib/applications/application.ts";
import { ServiceError } from "../../lib/contract/errors.ts";
import type { IosStoreCustomers } from "../../lib/customers/ios-store-request.ts";
import {
  linkAndroidStoreCustomer,
  type AndroidStoreLinking,
} from "../../lib/customers/link-android-store-customer.ts";
import { linkIosStoreCustomer } from "../../lib/customers/link-ios-store-customer.ts";
import { readAccountEntitlements } from "../../lib/customers/read-account-entitlements.ts";
import { synchronizeIosStorePurchases } from "../../lib/customers/synchronize-ios-store-purchases.ts";
import { accountId } from "../../lib/identifiers.ts";
import type { AppTransaction } from "../../lib/stores/ios-store/app-transaction.ts";
import type { Transaction } from "../../lib/stores/ios-store/transaction.ts";
import { checkInvariants } from "../../testing/support/table/invariants.ts";
import { cases, TIMEOUT } from "../../testing/support/proof.ts";
import type { AndroidFact, IosFact, ModelRequest } from "./model/stated-facts.ts";
import { createTestTable, type TestTable } from "../../testing/support/table/table.ts";
import { ACCOUNTS, END, trafficOf } from "./model/histories.ts";
import { createMemoryTable } from "../../testing/support/table/memory-table.ts";
import { toReading, toTransaction } from "./model/as-verified.ts";
import { APPLE_IDENTIFIER, directoryOf } from "../../testing/support/application.ts";
import { createWorld } from "../../testing/support/world.ts";
import { receptionOf } from "./model/reception.ts";
import { modelApplication, countedIdentifiers } from "./model/model-client.ts";

/** Names of accounts that look like keys, of their own application and of the other. */
const ACCOUNT_NAMES: Record<string, (applications: readonly Application[]) => string> = {
  b: () => "a#CUSTOMER#00000000-0000-7000-8000-000000000001",
  c: (applications) =>
    applications.map(({ identifier }) => `APPLICATION#${identifier}#ACCOUNT#a`).join("#CUSTOMER#"),
};

/** Two applications that differ only in identifier, bundle and package. */
const twoApplications = (): readonly [Application, Application] => {
  const application = (name: string): Application => modelApplication(uuid(), {}, name);
  return [application("com.example.trails"), application("com.example.peaks")];
};

/** Sends requests to the use cases one after the other, and returns the bytes of every answer. */
const answersOf = async (
  table: TestTable,
  applications: readonly Application[],
  application: Application,
  requests: readonly ModelRequest[],
): Promise<string[]> => {
  const bundle = application.iosStore[0]?.bundleIdentifier ?? "";
  const account = (name: string): string => ACCOUNT_NAMES[name]?.(applications) ?? name;
  let moment = END;
  const appTransactions = new Map<string, AppTransaction>();
  const transactions = new Map<string, Transaction>();
  const answers = new Map<string, AndroidFact>();
  const { factStore } = createWorld(table, {
    application,
    newCustomerIdentifier: countedIdentifiers(),
    pause: () => Promise.resolve(),
    now: () => moment,
  });
  const store: IosStoreCustomers & AndroidStoreLinking = {
    ...factStore,
    directory: directoryOf(...applications),
    trustedRoots: new Set(),
    verifier: {
      verifyAppTransaction: (signed) => {
        const payload = appTransactions.get(signed);
        return Promise.resolve(
          payload === undefined
            ? { outcome: "rejected", reason: "signature" }
            : { outcome: "verified", payload },
        );
      },
      verifyTransaction: () => Promise.resolve({ outcome: "rejected", reason: "signature" }),
      verifyTransactions: (signed) =>
        Promise.resolve({
          outcome: "verified",
          payload: signed.flatMap((one) => transactions.get(one) ?? []),
        }),
      verifyRenewalInfos: () => Promise.resolve({ outcome: "verified", payload: [] }),
      verifyNotification: () => Promise.resolve({ outcome: "rejected", reason: "signature" }),
      verifyNotificationParts: () => Promise.resolve({ outcome: "rejected", reason: "signature" }),
    },
    androidStore: {
      lookUp: (_, { purchaseToken }) => {
        const fact = answers.get(purchaseToken);
        return Promise.resolve(
          fact === undefined
            ? { outcome: "rejected", status: 404, reason: "purchaseTokenNotFound" }
            : { outcome: "verified", ...toReading(fact) },
        );
      },
      acknowledge: () => Promise.resolve({ outcome: "acknowledged" }),
    },
    asks: { acknowledged: () => Promise.resolve() },
  };

  const linkAndroid = (fact: AndroidFact, name: string): Promise<unknown> => {
    answers.set(fact.token, fact);
    return linkAndroidStoreCustomer(store, application.identifier, {
      packageName: bundle,
      purchaseToken: fact.token,
      productKind: fact.kind === "subscription" ? "subscription" : "one_time_product",
      productIdentifier: fact.kind === "one-time" ? (fact.asked?.[0] ?? null) : null,
      applicationAccountIdentifier: account(name),
    });
  };
  const sendIos = (request: ModelRequest, facts: readonly IosFact[]): Promise<unknown> => {
    const { environment, appTransaction, claim } = request;
    const signedAppTransaction = JSON.stringify([environment, appTransaction]);
    appTransactions.set(signedAppTransaction, {
      bundleIdentifier: bundle,
      appAppleIdentifier: APPLE_IDENTIFIER,
      appTransactionIdentifier: appTransaction,
      environment,
      signedAt: END,
      xcodeCertificate: null,
    });
    const signedTransactions = facts.map((fact) => {
      const signed = JSON.stringify(fact);
      transactions.set(signed, toTransaction(fact, { bundle }));
      return signed;
    });
    const signed = { signedAppTransaction, signedTransactions };
    if (claim?.by !== "credential")
      return synchronizeIosStorePurchases(store, {
        ...signed,
        applicationAccountIdentifier: claim === null ? null : account(claim.account),
      });
    return linkIosStoreCustomer(store, application.identifier, {
      ...signed,
      applicationAccountIdentifier: account(claim.account),
    });
  };
  const receive = receptionOf(store, store.directory, application);
  const send = (request: ModelRequest): Promise<unknown> => {
    if (request.isNotification) return receive(request);
    const [first] = request.facts;
    if (first?.store === "android-store") return linkAndroid(first, request.claim?.account ?? "a");
    return sendIos(
      request,
      request.facts.flatMap((fact) => (fact.store === "ios-store" ? [fact] : [])),
    );
  };

  const read = async (name: string): Promise<string> =>
    JSON.stringify(
      await readAccountEntitlements(
        { directory: store.directory, table: store.table, now: () => moment },
        application.identifier,
        accountId(account(name)),
      ),
    );

  const bytes: string[] = [];
  for (const request of requests) {
    moment += 1;
    const answer = await send(request).catch((error: unknown) => {
      if (error instanceof ServiceError) return error.code;
      throw error;
    });
    bytes.push(JSON.stringify(answer));
    bytes.push(await read(ACCOUNTS[moment % ACCOUNTS.length] ?? "a"));
  }
  for (const name of ACCOUNTS) bytes.push(await read(name));
  return bytes;
};

const itemsOf = async (table: TestTable, { identifier }: Application): Promise<string[]> =>
  (await table.items())
    .filter(({ pk }) => String(pk).startsWith(`APPLICATION#${identifier}`))
    .map((item) => JSON.stringify(Object.entries(item).sort(([a], [b]) => (a < b ? -1 : 1))));

/** Two lists of requests about the same persons, identities, products and accounts. */
const trafficOfTwo = fc
  .record({ traffic: trafficOf({ minLength: 2, maxLength: 20 }), at: fc.nat(19), overlap: fc.nat(6) })
  .map(({ traffic: { requests }, at, overlap }) => {
    const middle = at % requests.length;
    return [requests.slice(0, middle + overlap), requests.slice(Math.max(0, middle - overlap))] as const;
  });

const expectNeitherMatters = async (
  traffic: readonly (readonly ModelRequest[])[],
  [alone, otherAlone, together]: readonly [TestTable, TestTable, TestTable],
): Promise<void> => {
  const [one, other] = twoApplications();
  const both = [one, other];
  const [ofOne = [], ofOther = []] = traffic;
  const expected = await answersOf(alone, both, one, ofOne);
  const otherExpected = await answersOf(otherAlone, both, other, ofOther);
  const answers = await Promise.all([
    answersOf(together, both, one, ofOne),
    answersOf(together, both, other, ofOther),
  ]);
  expect(answers).toEqual([expected, otherExpected]);
  expect(await itemsOf(together, one)).toEqual(await itemsOf(alone, one));
  expect(await itemsOf(together, other)).toEqual(await itemsOf(otherAlone, other));
  const ofBoth = (await together.items()).filter(({ pk, sk }) =>
    both.some(({ identifier }) => `${pk} ${sk}`.includes(identifier)),
  );
  // Both applications number their customers alike here, so this one rule does not apply.
  expect(checkInvariants(ofBoth).filter((violation) => !violation.includes("is a customer of"))).toEqual([]);
};

describe("two applications with the same names, used at the same time", () => {
  test(
    "get the same answers as each alone (table in memory)",
    () =>
      fc.assert(
        fc.asyncProperty(trafficOfTwo, (traffic) =>
          expectNeitherMatters(traffic, [createMemoryTable(), createMemoryTable(), createMemoryTable()]),
        ),
        cases(50, 4_000),
      ),
    TIMEOUT,
  );

  describe("on DynamoDB", () => {
    let tables: [TestTable, TestTable, TestTable];
    beforeAll(async () => {
      tables = await Promise.all([createTestTable(), createTestTable(), createTestTable()]);
    });
    afterAll(async () => {
      await Promise.all(tables.map((table) => table.remove()));
    });
    test(
      "get the same answers, byte for byte, as each would alone",
      () =>
        fc.assert(
          fc.asyncProperty(trafficOfTwo, (traffic) => expectNeitherMatters(traffic, tables)),
          cases(2, 150),
        ),
      TIMEOUT,
    );
  });
});
