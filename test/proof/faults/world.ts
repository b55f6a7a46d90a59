import { BatchWriteCommand } from "@aws-sdk/lib-dynamodb";
import * as z from "zod/mini";
import { accountEntitlements } from "../../../lib/contract/schemas.ts";
import { isoTime } from "../../../lib/entitlements/time.ts";
import { applicationId } from "../../../lib/identifiers.ts";
import { originOf } from "../../../lib/stores/android-store/workload-identity.ts";
import { fingerprintOf } from "../../../sandbox/ios-store/signing.ts";
import { manifestFrom, saveApplication } from "../../../testing/application.ts";
import { PRODUCTS } from "../../../testing/support/service.ts";
import {
  aSubscriptionAnswer,
  aSubscriptionLine,
  startAndroidStore,
  type LocalAndroidStore,
} from "../../../testing/support/stores/android-store.ts";
import { APPLE_ID } from "../../../testing/support/stores/ios-store.ts";
import { DAY, NOW } from "../../../testing/support/stores/purchases.ts";
import {
  AUDIENCE,
  makePushKey,
  SERVICE_ACCOUNT,
  startKeyServer,
} from "../../../testing/support/stores/push-tokens.ts";
import { createTestTable, type TestTable } from "../../../testing/support/table/table.ts";
import { startFaultProxy, type FaultProxy } from "../fault-proxy.ts";
import { ACCOUNT, chain, NAME, TOKEN, type Scenario } from "./scenarios.ts";
import { openService, type Service, type ServiceOptions } from "./use-cases.ts";

const APPLICATION = applicationId("0198c0de-0000-7000-8000-000000000001");
/** Time of the calls before a scenario's. */
const EARLIER = NOW - 500;

const answerUntil = (end: number) =>
  aSubscriptionAnswer({
    startTime: isoTime(NOW - DAY),
    acknowledgementState: "ACKNOWLEDGEMENT_STATE_PENDING",
    lineItems: [aSubscriptionLine({ expiryTime: isoTime(end) })],
  });

/** An unacknowledged subscription. */
export const PENDING_ANSWER = answerUntil(NOW + 20 * DAY);
const EARLIER_ANSWER = answerUntil(NOW + DAY);

/** Resources of one case: cases run concurrently, each in a lane of its own. */
export interface Lane {
  readonly proxy: FaultProxy;
  readonly store: LocalAndroidStore;
  readonly options: Omit<ServiceOptions, "tableName">;
  stop(): Promise<void>;
}

const directEndpoint = (): string => process.env["AWS_ENDPOINT_URL_DYNAMODB"] ?? "";

const startLane = async (): Promise<Lane> => {
  const proxy = await startFaultProxy(directEndpoint());
  const store = await startAndroidStore({ now: () => NOW });
  const pushKey = await makePushKey(() => NOW, "faults");
  const googleKeys = await startKeyServer(pushKey);
  return {
    proxy,
    store,
    options: {
      endpoint: proxy.endpoint,
      trustedRoots: [fingerprintOf(chain.root)],
      androidPublisherUrl: store.rootUrl,
      googleCertificatesUrl: googleKeys.url,
      pushAuthorization: `Bearer ${await pushKey.sign()}`,
      application: APPLICATION,
      moment: NOW,
    },
    stop: async () => {
      await Promise.all([proxy.stop(), store.close(), googleKeys.close()]);
    },
  };
};

/** Lanes of a file of tests. */
export const useLanes = (count: number): { readonly all: readonly Lane[]; readonly first: () => Lane } => {
  const all: Lane[] = [];
  beforeAll(async () => {
    all.push(...(await Promise.all(Array.from({ length: count }, startLane))));
  });
  afterAll(async () => {
    await Promise.all(all.map((lane) => lane.stop()));
  });
  return {
    all,
    first: () => {
      const [lane] = all;
      if (lane === undefined) throw new Error("There is no lane.");
      return lane;
    },
  };
};

const putAnswer = ({ store }: Lane, answer: typeof PENDING_ANSWER): void =>
  store.sandbox.put(TOKEN, { packageName: NAME, productKind: "subscription", answer });

/** A database and a store in the state before the scenario's call. */
export interface World {
  readonly table: TestTable;
  readonly lane: Lane;
  readonly options: ServiceOptions;
  /** A service behind the lane's proxy. */
  open(): Service;
  state(): Promise<State>;
  remove(): Promise<void>;
}

export interface State {
  /** Everything stored, except for counters of writes. */
  readonly items: string;
  readonly acknowledged: boolean;
  /** The account's entitlements, as read, and those that are active. */
  readonly entitlements: string;
  readonly active: readonly string[];
  /** The text with names instead of customers' identifiers, which differ between worlds. */
  named(text: string): string;
}

type Items = readonly Record<string, unknown>[];

/** The items before a scenario's call, by scenario and address of the Android store. */
const templates = new Map<string, Promise<Items>>();

const makeTemplate = async ({ before }: Scenario, lane: Lane): Promise<Items> => {
  const table = await createTestTable();
  const { rootUrl, androidPackage } = lane.store;
  const manifest = manifestFrom(
    {
      application: { identifier: APPLICATION, name: "Trails" },
      stores: {
        "ios-store": [{ bundleIdentifier: NAME, appAppleIdentifier: APPLE_ID }],
        "android-store": [
          { ...androidPackage, notifications: { serviceAccount: SERVICE_ACCOUNT, audience: AUDIENCE } },
        ],
      },
      entitlements: { premium: { displayName: "Premium" }, basics: {}, maps: {} },
      products: PRODUCTS,
    },
    originOf(rootUrl),
  );
  await saveApplication(table, manifest);
  putAnswer(lane, EARLIER_ANSWER);
  const options = { ...lane.options, tableName: table.name, endpoint: directEndpoint(), moment: EARLIER };
  const service = openService(options);
  for (const call of before) await service.perform(call);
  service.close();
  const items = await table.items();
  await table.remove();
  return items;
};

const ITEMS_PER_BATCH = 25;

const putItems = async ({ name, client }: TestTable, items: Items): Promise<void> => {
  for (let from = 0; from < items.length; from += ITEMS_PER_BATCH) {
    const batch = items.slice(from, from + ITEMS_PER_BATCH);
    const puts = batch.map((item) => ({ PutRequest: { Item: item } }));
    await client.send(new BatchWriteCommand({ RequestItems: { [name]: puts } }));
  }
};

const COUNTERS: ReadonlySet<string> = new Set(["version", "revision"]);

/** JSON with sorted names, without counters. */
const canonical = (item: unknown): string =>
  JSON.stringify(item, (_, value: unknown) =>
    typeof value !== "object" || value === null || Array.isArray(value)
      ? value
      : Object.fromEntries(
          Object.entries(value)
            .filter(([name]) => !COUNTERS.has(name))
            .sort(([a], [b]) => (a < b ? -1 : 1)),
        ),
  );

/** Names customers in the order of their creation, which is the order of their identifiers. */
const namesOf = (items: Items, { store }: Lane) => {
  const customers = items.flatMap(({ sk, customer }) => (sk === "CUSTOMER" ? [String(customer)] : [])).sort();
  return (text: string): string =>
    customers
      .reduce((named, customer, index) => named.replaceAll(customer, `customer-${index + 1}`), text)
      .replaceAll(new URL(store.rootUrl).origin, "android-store");
};

const readAnswer = z.pick(accountEntitlements(), { entitlements: true });

export const makeWorld = async (given: Scenario, lane: Lane): Promise<World> => {
  const key = JSON.stringify([given.name, lane.store.rootUrl]);
  const template = templates.get(key) ?? makeTemplate(given, lane);
  templates.set(key, template);
  const items = await template;
  const table = await createTestTable();
  await putItems(table, items);
  lane.store.sandbox.clearFaults();
  putAnswer(lane, PENDING_ANSWER);
  const options = { ...lane.options, tableName: table.name };
  const direct = openService({ ...options, endpoint: directEndpoint() });
  return {
    table,
    lane,
    options,
    open: () => openService(options),
    state: async () => {
      const stored = await table.items();
      const named = namesOf(stored, lane);
      const { entitlements } = readAnswer.parse(await direct.perform({ useCase: "read", account: ACCOUNT }));
      const { acknowledgementState } = Object(lane.store.sandbox.read(TOKEN)?.answer);
      return {
        items: stored
          .map((item) => named(canonical(item)))
          .sort()
          .join("\n"),
        acknowledged: acknowledgementState === "ACKNOWLEDGEMENT_STATE_ACKNOWLEDGED",
        entitlements: named(JSON.stringify(entitlements)),
        active: entitlements.flatMap(({ active, identifier }) => (active ? [identifier] : [])),
        named,
      };
    },
    remove: async () => {
      direct.close();
      await table.remove();
    },
  };
};
