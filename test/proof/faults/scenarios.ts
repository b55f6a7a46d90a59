import * as z from "zod/mini";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { BatchWriteCommand } from "@aws-sdk/lib-dynamodb";
import {
  createAndroidPublisherSandbox,
  type AndroidPublisherSandbox,
} from "../../../sandbox/android-store/publisher.ts";
import { fingerprintOf, makeChain, signJws } from "../../../sandbox/ios-store/signing.ts";
import {
  appTransactionPayload,
  transactionPayload,
  type SandboxCustomer,
  type SandboxTransaction,
} from "../../../sandbox/ios-store/shop/app-store.ts";
import { applyManifest } from "../../../lib/administration/acts/apply.ts";
import { issueCredential } from "../../../lib/applications/credential.ts";
import { readManifest } from "../../../lib/administration/manifest/manifest.ts";
import { originOf } from "../../../lib/stores/android-store/workload-identity.ts";
import { ServiceError } from "../../../lib/contract/errors.ts";
import { accountEntitlements, SCOPES, type CustomerEntitlement } from "../../../lib/contract/schemas.ts";
import { isoTime } from "../../../lib/entitlements/time.ts";
import { applicationId } from "../../../lib/identifiers.ts";
import { createApplicationTable } from "../../../lib/table/applications/applications.ts";
import { createCredentialTable } from "../../../lib/table/applications/credentials.ts";
import { startFaultProxy, type FaultProxy } from "../fault-proxy.ts";
import {
  AUDIENCE,
  makePushKey,
  SERVICE_ACCOUNT,
  startKeyServer,
  type KeyServer,
  type PushKey,
} from "../../../testing/support/stores/push-tokens.ts";
import { DAY, NOW } from "../../../testing/support/stores/purchases.ts";
import { PRODUCTS } from "../../../testing/support/service.ts";
import { createTestTable, type TestTable } from "../../../testing/support/table/table.ts";
import { LONG_MILLISECONDS, openService, type Call, type Service, type ServiceOptions } from "./use-cases.ts";

const APPLICATION = applicationId("0198c0de-0000-7000-8000-000000000001");
const NAME = "com.example.trails";
const APPLE_ID = 1_234_567_890;
const ACCOUNT = "user-1";
const TOKEN = "token.AO-J1Ofaults";
const chain = makeChain();
/** Time of the calls before a scenario's. */
const EARLIER = NOW - 500;
/** Time at which the stores sign a scenario's notification. */
const SAID = NOW - 400;

const device = (appTransactionIdentifier: string | null): SandboxCustomer => ({
  bundleIdentifier: NAME,
  appAppleIdentifier: APPLE_ID,
  environment: "Production",
  appTransactionIdentifier,
  receiptCreationDate: NOW - 1000,
  transactions: [],
});

/** A monthly subscription that was bought ten days ago. */
const signedTransaction = (customer: SandboxCustomer, transaction: Partial<SandboxTransaction>): string =>
  signJws(
    transactionPayload(customer, {
      productIdentifier: "monthly",
      type: "Auto-Renewable Subscription",
      purchaseDate: NOW - 10 * DAY,
      expiresDate: NOW + 20 * DAY,
      signedDate: NOW - 1000,
      ...transaction,
    }),
    chain,
  );

/** A request of a device. */
const signed = (customer: SandboxCustomer, ...transactions: readonly Partial<SandboxTransaction>[]) => ({
  signedAppTransaction: signJws(appTransactionPayload(customer), chain),
  signedTransactions: transactions.map((transaction) => signedTransaction(customer, transaction)),
});

const lineages = (count: number): Partial<SandboxTransaction>[] =>
  Array.from({ length: count }, (_, index) => ({
    transactionIdentifier: String(1000 + index),
    ...(index % 2 === 0
      ? { productIdentifier: index % 4 === 0 ? "monthly" : "basic", expiresDate: NOW + (index - 60) * DAY }
      : { productIdentifier: "forever", type: "Non-Consumable" as const }),
  }));

const NEWER = device("704000000000001");
const OLDER = device(null);

/** A call, and the calls before it. */
export interface Scenario {
  readonly name: string;
  readonly before: readonly Call[];
  readonly call: Call;
  /** Milliseconds that the client waits for a lost answer. */
  readonly patience: number;
  /** The short form's share of the cases. */
  readonly short: "all" | "some" | "none";
}

const link = (request: ReturnType<typeof signed>, account = ACCOUNT): Call => ({
  useCase: "link-ios",
  request: { ...request, applicationAccountIdentifier: account },
});
const synchronize = (request: ReturnType<typeof signed>, account: string | null = null): Call => ({
  useCase: "synchronize",
  request: { ...request, applicationAccountIdentifier: account },
});

const first = signed(NEWER, { transactionIdentifier: "1" });
const basic = { transactionIdentifier: "9", productIdentifier: "basic" };
const linkAndroid: Call = {
  useCase: "link-android",
  request: {
    packageName: NAME,
    purchaseToken: TOKEN,
    productKind: "subscription",
    applicationAccountIdentifier: ACCOUNT,
  },
};
/** The App Store's notification of a transaction, with renewal info that the subscription will not renew. */
const notify = (
  customer: SandboxCustomer,
  transaction: Partial<SandboxTransaction> & { readonly transactionIdentifier: string },
): Call => ({
  useCase: "notify-ios",
  request: {
    signedPayload: signJws(
      {
        notificationType: "DID_CHANGE_RENEWAL_STATUS",
        notificationUUID: "00000000-0000-4000-8000-000000000000",
        version: "2.0",
        signedDate: SAID,
        data: {
          appAppleId: APPLE_ID,
          bundleId: NAME,
          environment: "Production",
          signedTransactionInfo: signedTransaction(customer, { signedDate: SAID, ...transaction }),
          signedRenewalInfo: signJws(
            {
              originalTransactionId: transaction.transactionIdentifier,
              productId: transaction.productIdentifier ?? "monthly",
              autoRenewStatus: 0,
              environment: "Production",
              signedDate: SAID,
              renewalDate: NOW + 20 * DAY,
            },
            chain,
          ),
        },
      },
      chain,
    ),
  },
});

/** Google's push of a notification with these members. */
const push = (members: object): Call => ({
  useCase: "notify-android",
  request: {
    message: {
      data: Buffer.from(
        JSON.stringify({ version: "1.0", packageName: NAME, eventTimeMillis: String(SAID), ...members }),
      ).toString("base64"),
    },
  },
});
const pushOfToken = push({
  subscriptionNotification: { version: "1.0", notificationType: 2, purchaseToken: TOKEN },
});

const credential = issueCredential(
  { application: APPLICATION, label: null, scopes: SCOPES, expiresAt: null },
  NOW - DAY,
);

const SMALL = 300;
const LARGE = 1_000;

export const SCENARIOS: readonly Scenario[] = [
  { name: "a first link", before: [], call: link(first), patience: SMALL, short: "all" },
  {
    name: "a link that merges two customers",
    before: [synchronize(signed(OLDER, basic)), link(first)],
    call: link(
      signed(NEWER, basic, {
        transactionIdentifier: "2",
        productIdentifier: "day_pass",
        type: "Non-Renewing Subscription",
      }),
    ),
    patience: SMALL,
    short: "some",
  },
  {
    name: "a synchronize of 250 purchases",
    before: [],
    call: synchronize(signed(NEWER, ...lineages(250)), ACCOUNT),
    patience: LARGE,
    short: "some",
  },
  {
    name: "a link of 250 purchases that merges two customers",
    before: [synchronize(signed(OLDER, basic, ...lineages(5))), link(first)],
    call: link(signed(NEWER, basic, ...lineages(250))),
    patience: LARGE,
    short: "none",
  },
  {
    name: "a link that takes the customer from a client's account",
    before: [synchronize(first, "user-2")],
    call: link(first),
    patience: SMALL,
    short: "some",
  },
  { name: "a replay", before: [link(first)], call: link(first), patience: SMALL, short: "some" },
  {
    name: "a read",
    before: [link(first)],
    call: { useCase: "read", account: ACCOUNT },
    patience: SMALL,
    short: "some",
  },
  {
    name: "an authorization",
    before: [],
    call: { useCase: "authorize", authorization: `Bearer ${credential.apiKey}` },
    patience: SMALL,
    short: "all",
  },
  {
    name: "an Android link with its acknowledgement",
    before: [],
    call: linkAndroid,
    patience: SMALL,
    short: "all",
  },
  {
    name: "an iOS notification of a refund",
    before: [link(first)],
    call: notify(NEWER, { transactionIdentifier: "1", revocationDate: SAID - DAY, revocationReason: 0 }),
    patience: SMALL,
    short: "all",
  },
  {
    name: "an iOS notification of a purchase that nobody has",
    before: [],
    call: notify(NEWER, { transactionIdentifier: "1" }),
    patience: SMALL,
    short: "some",
  },
  {
    name: "an iOS notification that contradicts the links of two accounts",
    before: [link(first), link(signed(OLDER, basic), "user-2")],
    call: notify(NEWER, { ...basic, revocationDate: SAID - DAY, revocationReason: 0 }),
    patience: SMALL,
    short: "none",
  },
  {
    name: "an Android notification of a renewal, with its acknowledgement",
    before: [linkAndroid, push({ testNotification: { version: "1.0" } })],
    call: pushOfToken,
    patience: SMALL,
    short: "all",
  },
  {
    name: "an Android notification of a purchase that nobody has",
    before: [],
    call: pushOfToken,
    patience: SMALL,
    short: "some",
  },
];

export const scenario = (name: string): Scenario => {
  const found = SCENARIOS.find((one) => one.name === name);
  if (found === undefined) throw new Error(`There is no scenario ${name}.`);
  return found;
};

/** An unacknowledged subscription. */
export const PENDING_ANSWER = {
  kind: "androidpublisher#subscriptionPurchaseV2",
  regionCode: "US",
  startTime: isoTime(NOW - DAY),
  subscriptionState: "SUBSCRIPTION_STATE_ACTIVE",
  acknowledgementState: "ACKNOWLEDGEMENT_STATE_PENDING",
  externalAccountIdentifiers: { obfuscatedExternalAccountId: "obfuscated-1" },
  lineItems: [
    {
      productId: "premium",
      expiryTime: isoTime(NOW + 20 * DAY),
      latestSuccessfulOrderId: "GPA.1",
      autoRenewingPlan: { autoRenewEnabled: true },
      offerDetails: { basePlanId: "monthly" },
    },
  ],
};

/** The same subscription before its renewal. */
const EARLIER_ANSWER = {
  ...PENDING_ANSWER,
  lineItems: PENDING_ANSWER.lineItems.map((line) => ({ ...line, expiryTime: isoTime(NOW + DAY) })),
};

/** Resources of one case: cases run concurrently, each in a lane of its own. */
export interface Lane {
  readonly proxy: FaultProxy;
  readonly android: AndroidPublisherSandbox;
  readonly androidPublisherUrl: string;
  /** Google's keys, of which {@link Lane.pushKey} is the only one. */
  readonly googleKeys: KeyServer;
  readonly pushKey: PushKey;
  readonly pushAuthorization: string;
  stop(): Promise<void>;
}

export const startLane = async (): Promise<Lane> => {
  const proxy = await startFaultProxy(directEndpoint());
  const android = createAndroidPublisherSandbox({ now: () => NOW, packageNames: [NAME] });
  const pushKey = await makePushKey(() => NOW, "faults");
  const googleKeys = await startKeyServer(pushKey);
  const server = createServer((request, response) => {
    android.handle(request, response).then(
      (handled) => handled || response.writeHead(404).end(),
      () => response.destroy(),
    );
  });
  const listening = Promise.withResolvers<void>();
  server.listen(0, "127.0.0.1", listening.resolve);
  await listening.promise;
  return {
    proxy,
    android,
    androidPublisherUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    googleKeys,
    pushKey,
    pushAuthorization: `Bearer ${await pushKey.sign()}`,
    stop: async () => {
      await proxy.stop();
      await googleKeys.close();
      server.closeAllConnections();
      const closed = Promise.withResolvers<void>();
      server.close(() => closed.resolve());
      await closed.promise;
    },
  };
};

const putAnswer = ({ android }: Lane, answer: Record<string, unknown>): void =>
  android.put(TOKEN, { packageName: NAME, productKind: "subscription", answer });

/** A database and a store in the state before the scenario's call. */
export interface World {
  readonly table: TestTable;
  readonly lane: Lane;
  readonly options: ServiceOptions;
  /** A service behind the lane's proxy; `impatience` is its time to wait for an answer, in milliseconds. */
  open(attempts: number | null, impatience?: number): Service;
  state(): Promise<State>;
  /** The account's active entitlements, read now. */
  activeEntitlements(): Promise<readonly string[]>;
  remove(): Promise<void>;
}

export interface State {
  /** Everything stored, except for counters of writes. */
  readonly items: string;
  readonly acknowledged: boolean;
  /** The account's entitlements, as read. */
  readonly entitlements: string;
  readonly active: readonly string[];
  /** The text with names instead of customers' identifiers, which differ between worlds. */
  named(text: string): string;
}

const manifest = (androidPublisherUrl: string, android: AndroidPublisherSandbox): string =>
  JSON.stringify({
    application: { identifier: APPLICATION, name: "Trails" },
    stores: {
      "ios-store": [{ bundleIdentifier: NAME, appAppleIdentifier: APPLE_ID }],
      "android-store": [
        {
          packageName: NAME,
          credential: { workloadIdentity: android.externalAccount(androidPublisherUrl) },
          notifications: { serviceAccount: SERVICE_ACCOUNT, audience: AUDIENCE },
        },
      ],
    },
    entitlements: { premium: { displayName: "Premium" }, basics: {}, maps: {} },
    products: PRODUCTS,
  });

const ITEMS_PER_BATCH = 25;

/** The items before a scenario's call, by scenario and address of the Android store. */
const templates = new Map<string, Promise<Record<string, unknown>[]>>();

const makeTemplate = async ({ before }: Scenario, lane: Lane): Promise<Record<string, unknown>[]> => {
  const table = await createTestTable();
  const reading = readManifest(
    manifest(lane.androidPublisherUrl, lane.android),
    originOf(lane.androidPublisherUrl),
  );
  if (reading.outcome === "invalid") throw new Error(JSON.stringify(reading));
  await applyManifest(reading.manifest, APPLICATION, createApplicationTable(table));
  await createCredentialTable(table).add(credential.credential);
  putAnswer(lane, EARLIER_ANSWER);
  const service = openService({ ...optionsOf(table, lane), endpoint: directEndpoint(), moment: EARLIER });
  for (const call of before) await service.perform(call);
  service.close();
  const items = await table.items();
  await table.remove();
  return items;
};

const directEndpoint = (): string => process.env["AWS_ENDPOINT_URL_DYNAMODB"] ?? "";

const optionsOf = (table: TestTable, lane: Lane): ServiceOptions => ({
  tableName: table.name,
  endpoint: lane.proxy.endpoint,
  attempts: 1,
  patience: LONG_MILLISECONDS,
  trustedRoots: [fingerprintOf(chain.root)],
  androidPublisherUrl: lane.androidPublisherUrl,
  googleCertificatesUrl: lane.googleKeys.url,
  pushAuthorization: lane.pushAuthorization,
  application: APPLICATION,
  moment: NOW,
});

const COUNTERS: ReadonlySet<string> = new Set(["version", "revision"]);

const canonical = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(canonical);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([name]) => !COUNTERS.has(name))
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, member]) => [name, canonical(member)]),
  );
};

/** Names customers in the order of their creation, which is the order of their identifiers. */
const namesOf = (items: readonly Record<string, unknown>[], lane: Lane) => {
  const customers = items
    .filter(({ sk }) => sk === "CUSTOMER")
    .map(({ customer }) => String(customer))
    .sort();
  return (text: string): string =>
    customers
      .reduce((named, customer, index) => named.replaceAll(customer, `customer-${index + 1}`), text)
      .replaceAll(lane.androidPublisherUrl, "android-store");
};

const readAnswer = z.pick(accountEntitlements(), { entitlements: true });

const readEntitlements = async (service: Service): Promise<readonly CustomerEntitlement[]> =>
  readAnswer.parse(await service.perform({ useCase: "read", account: ACCOUNT })).entitlements;

const activeOf = (entitlements: readonly CustomerEntitlement[]): string[] =>
  entitlements.filter(({ active }) => active).map(({ identifier }) => identifier);

export const makeWorld = async (given: Scenario, lane: Lane): Promise<World> => {
  const key = JSON.stringify([given.name, lane.androidPublisherUrl]);
  const template = templates.get(key) ?? makeTemplate(given, lane);
  templates.set(key, template);
  const table = await createTestTable();
  const items = await template;
  for (let from = 0; from < items.length; from += ITEMS_PER_BATCH)
    await table.client.send(
      new BatchWriteCommand({
        RequestItems: {
          [table.name]: items
            .slice(from, from + ITEMS_PER_BATCH)
            .map((item) => ({ PutRequest: { Item: item } })),
        },
      }),
    );
  lane.android.clearFaults();
  putAnswer(lane, PENDING_ANSWER);
  const options = optionsOf(table, lane);
  const direct = openService({ ...options, endpoint: directEndpoint() });
  return {
    table,
    lane,
    options,
    open: (attempts, patience = LONG_MILLISECONDS) => openService({ ...options, attempts, patience }),
    state: async () => {
      const stored = await table.items();
      const named = namesOf(stored, lane);
      const entitlements = await readEntitlements(direct);
      return {
        items: stored
          .map((item) => named(JSON.stringify(canonical(item))))
          .sort()
          .join("\n"),
        acknowledged:
          lane.android.read(TOKEN)?.answer.acknowledgementState === "ACKNOWLEDGEMENT_STATE_ACKNOWLEDGED",
        entitlements: named(JSON.stringify(entitlements)),
        active: activeOf(entitlements),
        named,
      };
    },
    activeEntitlements: async () => activeOf(await readEntitlements(direct)),
    remove: async () => {
      direct.close();
      await table.remove();
    },
  };
};

/** Makes the store say that the purchase is already acknowledged. */
export const acknowledgeElsewhere = (lane: Lane): void =>
  putAnswer(lane, { ...PENDING_ANSWER, acknowledgementState: "ACKNOWLEDGEMENT_STATE_ACKNOWLEDGED" });

/** A scenario without faults. */
export interface Reference {
  readonly before: State;
  readonly after: State;
  /** Items after the same call again: a notification of Google's that taught nothing is asked about once more. */
  readonly repeated: string;
  readonly answer: string;
  /** The operations that the call sends to the database, in order. */
  readonly operations: readonly string[];
}

export const referenceOf = async (given: Scenario, lane: Lane): Promise<Reference> => {
  const world = await makeWorld(given, lane);
  try {
    const before = await world.state();
    lane.proxy.plan();
    const service = world.open(null);
    const answer = await service.perform(given.call);
    const operations = lane.proxy.requests.map(({ operation }) => operation);
    const after = await world.state();
    await service.perform(given.call);
    service.close();
    const { items: repeated } = await world.state();
    return { before, after, repeated, answer: after.named(JSON.stringify(answer)), operations };
  } finally {
    await world.remove();
  }
};

/** Names of errors that a failing call may throw: retryable refusals, and the AWS SDK's errors for these faults. */
const CLEAN = new Set([
  "InternalServerError",
  "ProvisionedThroughputExceededException",
  "ThrottlingException",
  "TimeoutError",
  "Unknown",
  // The AWS SDK's names for a broken connection and an unreadable answer.
  "Error",
  "SyntaxError",
  "503",
]);

export const isClean = (error: unknown): boolean => {
  if (error instanceof ServiceError) return error.status === 503 || error.status === 429;
  return error instanceof Error && CLEAN.has(error.name);
};

/** Differences from the reference, in words; empty when there are none. */
export const differences = async (world: World, reference: Reference, answer: unknown): Promise<string[]> => {
  const state = await world.state();
  const wrong: string[] = [];
  if (state.named(JSON.stringify(answer)) !== reference.answer)
    wrong.push(`answered ${state.named(JSON.stringify(answer))} for ${reference.answer}`);
  if (state.items !== reference.after.items && state.items !== reference.repeated)
    wrong.push(`stored\n${state.items}\nfor\n${reference.after.items}`);
  if (state.acknowledged !== reference.after.acknowledged) wrong.push("is not acknowledged alike");
  if (state.entitlements !== reference.after.entitlements)
    wrong.push(`reads ${state.entitlements} for ${reference.after.entitlements}`);
  return wrong;
};

/**
 * Between failure and retry, an account shows nothing that it neither had nor gets by the retry, and lacks nothing that it
 * had and keeps.
 */
export const readsTrue = async (world: World, { before, after }: Reference): Promise<string[]> => {
  const active = await world.activeEntitlements();
  const given = active.filter(
    (identifier) => !before.active.includes(identifier) && !after.active.includes(identifier),
  );
  const lost = before.active.filter(
    (identifier) => after.active.includes(identifier) && !active.includes(identifier),
  );
  return [
    ...(given.length > 0 ? [`between failure and retry ${given.join()} is given`] : []),
    ...(lost.length > 0 ? [`between failure and retry ${lost.join()} is lost`] : []),
  ];
};

/** Tries all cases, one at a time in each lane, and returns what went wrong. */
export const inLanes = async <Case>(
  lanes: readonly Lane[],
  cases: readonly Case[],
  nameOf: (one: Case) => string,
  attempt: (lane: Lane, one: Case) => Promise<readonly string[]>,
): Promise<string[]> => {
  const waiting = [...cases];
  const wrong: string[] = [];
  await Promise.all(
    lanes.map(async (lane) => {
      for (let one = waiting.shift(); one !== undefined; one = waiting.shift())
        try {
          wrong.push(...(await attempt(lane, one)));
        } catch (error) {
          wrong.push(`${nameOf(one)}: ${String(error)}`);
        }
    }),
  );
  return wrong;
};
