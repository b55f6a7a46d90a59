import { X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { jest } from "@jest/globals";
import type { APIGatewayProxyEvent, Context } from "aws-lambda";
import * as z from "zod";
import { makeChain, fingerprintOf } from "../../sandbox/ios-store/signing.ts";
import { hostileBodies } from "../../bench/sections/hostile.ts";
import { sum } from "../../testing/support/table/meter.ts";
import { COINS, createMeteredWorld, type MeteredWorld } from "../../bench/measure.ts";
import {
  newDevice,
  renewals,
  separatePurchases,
  signedRequest,
} from "../../testing/support/stores/signed-purchases.ts";
import { notifiedAndroidStore, notifiedIosStore, sample } from "../../bench/notified-stores.ts";
import { endpoint } from "../../functions/http/endpoint.ts";
import { endpoints } from "../../lib/contract/endpoints.ts";
import {
  linkIosStoreCustomer,
  synchronizeIosStorePurchases,
} from "../../lib/customers/ios-store-customers.ts";
import { readAccountEntitlements } from "../../lib/customers/read-account-entitlements.ts";
import { accountId } from "../../lib/identifiers.ts";
import { AT_ONCE, createIosStoreVerifier } from "../../lib/stores/ios-store/verifier.ts";
import { readAssembly } from "../../local/lambda/assembly.ts";
import type { SandboxTransaction } from "../../sandbox/ios-store/shop/payloads.ts";
import { apiGatewayEvent } from "../../testing/index.ts";
import { assemblyFolder, SERVICE_APP } from "../../testing/support/local-gateway.ts";
import { watchChecks } from "../../testing/support/stores/ios-store.ts";

/** Counts that are the same on every machine. `npm run bench` measures times; no test asserts them. */

let world: MeteredWorld;
beforeAll(async () => {
  world = await createMeteredWorld();
});
afterAll(() => world.remove());

describe("signature checks", () => {
  const chain = makeChain();
  const trust = { roots: new Set([fingerprintOf(chain.root)]), xcodeCertificates: new Set<string>() };
  const { signedTransactions } = signedRequest(newDevice(), separatePurchases(20), chain);
  const one = signedTransactions.slice(0, 1);

  /** Counts what a new verifier checks for each of its calls. */
  const counting = () => {
    const { checks, done } = watchChecks();
    const verifier = createIosStoreVerifier(checks);
    return async (compacts: readonly string[]) => {
      const before = sum(Object.values(done));
      const certificates = jest.spyOn(X509Certificate.prototype, "verify");
      const { outcome } = await verifier.verifyTransactions(compacts, trust, Date.now());
      const counted = {
        payloads: sum(Object.values(done)) - before,
        certificates: certificates.mock.calls.length,
      };
      certificates.mockRestore();
      expect(outcome).toBe("verified");
      return counted;
    };
  };

  test("a known chain costs one check per transaction, none for certificates", async () => {
    const checksOf = counting();
    const first = await checksOf(one);
    expect(first.payloads).toBe(1);
    expect(first.certificates).toBeGreaterThanOrEqual(2);
    expect(await checksOf(signedTransactions)).toEqual({ payloads: 20, certificates: 0 });
  });
  test("a request with an unknown chain verifies its certificates once", async () => {
    const { certificates } = await counting()(one);
    expect(await counting()(signedTransactions)).toEqual({ payloads: 20, certificates });
  });
});

describe("requests and capacity units", () => {
  const cost = async (act: () => Promise<unknown>) => {
    world.meter.take();
    await act();
    const { requests, readUnits, writeUnits } = world.meter.take();
    return [requests, readUnits, writeUnits];
  };
  const synchronize = (device: ReturnType<typeof newDevice>, transactions: readonly SandboxTransaction[]) => {
    const request = {
      ...signedRequest(device, transactions, world.chain),
      applicationAccountIdentifier: `account of ${device.appTransactionIdentifier}`,
    };
    return () => synchronizeIosStorePurchases(world.customers, request);
  };

  test.each([
    // Customer, account, count of claims, identity and purchase, each twice; and index entries of the last two.
    ["1 purchase", separatePurchases(1), { BatchGetItem: 2, TransactWriteItems: 1 }, 3, 14, 3],
    ["10 purchases", separatePurchases(10), { BatchGetItem: 2, TransactWriteItems: 1 }, 12, 54, 12],
    ["100 purchases", separatePurchases(100), { BatchGetItem: 3, TransactWriteItems: 2 }, 102, 522, 105],
    ["100 renewals", renewals(100), { BatchGetItem: 2, TransactWriteItems: 1 }, 3, 14, 3],
  ])("of %s, first and replayed", async (_, transactions, requests, reads, writes, replayed) => {
    const act = synchronize(newDevice(), transactions);
    expect(await cost(act)).toEqual([requests, reads, writes]);
    // The first request reads the account's count of claims, the replay reads the customer.
    expect(await cost(act)).toEqual([{ BatchGetItem: requests.BatchGetItem }, replayed, 0]);
  });

  test("a link costs the same as a synchronize", async () => {
    const request = {
      ...signedRequest(newDevice(), separatePurchases(1), world.chain),
      applicationAccountIdentifier: "linked",
    };
    const link = () => linkIosStoreCustomer(world.customers, world.application.identifier, request);
    expect(await cost(link)).toEqual([{ BatchGetItem: 1, TransactWriteItems: 1 }, 2, 12]);
    expect(await cost(link)).toEqual([{ BatchGetItem: 2 }, 3, 0]);
  });

  test("a new purchase costs the same after a long history without grants", async () => {
    const coins = (count: number) =>
      separatePurchases(count).map((purchase) => ({
        ...purchase,
        productIdentifier: COINS,
        type: "Consumable" as const,
      }));
    for (const past of [1, 300]) {
      const device = newDevice();
      await synchronize(device, coins(past))();
      expect(await cost(synchronize(device, coins(1)))).toEqual([
        { BatchGetItem: 2, TransactWriteItems: 1 },
        3,
        8,
      ]);
      const account = accountId(`account of ${device.appTransactionIdentifier}`);
      expect(
        await cost(() => readAccountEntitlements(world.customers, world.application.identifier, account)),
      ).toEqual([{ Query: 1 }, 1, 0]);
    }
  });
});

describe("a notification of a linked subscription that renewed", () => {
  test.each([
    // The app transaction's identity is read too.
    [
      "iOS",
      async () => notifiedIosStore(world),
      { signatureChecks: 3, storeRequests: 0, readUnits: 3 },
      // Customer, account and purchase, each twice. Without Apple's key nothing is asked.
      6,
      0,
    ],
    [
      "Android",
      async () => notifiedAndroidStore(world),
      { signatureChecks: 1, storeRequests: 1, readUnits: 2 },
      // And the question, which moves to the new end; a replay teaches nothing, so Google is asked once more.
      10,
      10,
    ],
  ])("on %s, first and replayed", async (_, start, counted, writeUnits, replayUnits) => {
    const notified = await start();
    const sent = async (send: () => Promise<unknown>) => sample(world, notified, send);
    try {
      // The first notification of a bundle or package notes its time.
      await sent(await notified.renew());
      const send = await notified.renew();
      expect(await sent(send)).toEqual({
        ...counted,
        requests: { BatchGetItem: 2, TransactWriteItems: 1 },
        writeUnits,
      });
      expect(await sent(send)).toMatchObject({ ...counted, writeUnits: replayUnits });
    } finally {
      await notified.close();
    }
  });
});

describe("a hostile body", () => {
  const TRANSACTIONS = 1000;
  beforeAll(() => {
    jest.spyOn(process.stdout, "write").mockReturnValue(true);
    for (const level of ["info", "log"] as const) jest.spyOn(console, level).mockReturnValue();
  });
  afterAll(() => jest.restoreAllMocks());

  test("costs fewer signature checks than an honest one, and no request", async () => {
    const request = signedRequest(newDevice(), renewals(TRANSACTIONS), world.chain);
    const size = JSON.stringify(request).length;
    const { checks, done } = watchChecks();
    const customers = { ...world.customers, verifier: createIosStoreVerifier(checks) };
    const handler = endpoint(endpoints.synchronizeIosStorePurchases, (call) =>
      synchronizeIosStorePurchases(customers, call.request),
    );
    const certificates = jest.spyOn(X509Certificate.prototype, "verify");
    const costOf = async (sent: Pick<APIGatewayProxyEvent, "body" | "isBase64Encoded">) => {
      const before = sum(Object.values(done));
      certificates.mockClear();
      world.meter.take();
      const context: Partial<Context> = { awsRequestId: "1" };
      const event = apiGatewayEvent("synchronizeIosStorePurchases", {}, null, sent);
      const answer = await handler(event, context as Context);
      return {
        status: answer.statusCode,
        payloads: sum(Object.values(done)) - before,
        certificates: certificates.mock.calls.length,
        requests: world.meter.take().requests,
      };
    };
    const honest = await costOf({ body: JSON.stringify(request), isBase64Encoded: false });
    expect([honest.status, honest.payloads]).toEqual([200, TRANSACTIONS + 1]);
    for (const { shape, body, isBase64Encoded } of hostileBodies(size, { chain: world.chain, request })) {
      expect(body.length).toBeLessThanOrEqual(size);
      const cost = await costOf({ body, isBase64Encoded });
      expect({ shape, status: cost.status, requests: cost.requests }).toEqual({
        shape,
        status: 400,
        requests: {},
      });
      expect(cost.certificates).toBeLessThanOrEqual(3);
      // The checks that had begun, and the app transaction's.
      const most = shape === "a bad transaction after good ones" ? TRANSACTIONS : AT_ONCE;
      expect(cost.payloads).toBeLessThanOrEqual(most + 1);
    }
  });
});

describe("bundle bytes", () => {
  const KILOBYTE = 1024;
  const lambda = z.object({
    Handler: z.string(),
    Code: z.object({ S3Key: z.string() }),
    Description: z.string().optional(),
  });

  test.each([
    ["AuthorizeCredential", 261],
    ["ReadAccountEntitlements", 283],
    ["SynchronizeIosStorePurchases", 348],
    ["LinkIosStoreCustomer", 348],
    ["LinkAndroidStoreCustomer", 634],
    ["ReceiveIosStoreNotification", 353],
    ["ReceiveAndroidStoreNotification", 655],
    ["WatchNotifications", 252],
    ["RefreshAndroidStorePurchases", 626],
    ["RefreshIosStorePurchases", 375],
    ["SweepAndroidStoreRefunds", 622],
    ["SweepIosStoreNotifications", 369],
    ["ReadChanges", 260],
    ["TellChanges", 306],
    ["DeliverMessages", 326],
  ])("%s is not larger than %i KB, and ASCII", async (name, kilobytes) => {
    const assembly = readAssembly(await assemblyFolder(SERVICE_APP));
    const functions = assembly.resourcesOf("AWS::Lambda::Function", lambda);
    const [, found] = [...functions].find(([id]) => id.startsWith(`${name}Function`)) ?? [];
    if (found === undefined) throw new Error(`The stack has no function ${name}.`);
    const bundle = readFileSync(join(assembly.codeFolder(found.Code.S3Key), "index.cjs"));
    expect(Math.ceil(bundle.length / KILOBYTE)).toBeLessThanOrEqual(kilobytes);
    expect(bundle.every((byte) => byte < 0x80)).toBe(true);
  });
});
