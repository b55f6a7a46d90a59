import { createServer, type IncomingMessage } from "node:http";
import { v7 as uuid } from "uuid";
import { composeAndroidStoreReception } from "../../functions/wiring/android-store.ts";
import { composeAndroidStoreRefresh } from "../../functions/wiring/android-store-asking.ts";
import { composeIosStoreReception } from "../../functions/wiring/ios-store.ts";
import { composeIosStoreRefresh } from "../../functions/wiring/ios-store-asking.ts";
import type { Application } from "../../lib/applications/application.ts";
import type { Store } from "../../lib/contract/schemas.ts";
import { linkAndroidStoreCustomer } from "../../lib/customers/link-android-store-customer.ts";
import { linkIosStoreCustomer } from "../../lib/customers/link-ios-store-customer.ts";
import { receiveAndroidStoreNotification } from "../../lib/customers/receive-android-store-notification.ts";
import { receiveIosStoreNotification } from "../../lib/customers/receive-ios-store-notification.ts";
import { askDuePurchases, askQueuesOf, type AskRun } from "../../lib/customers/ask-due-purchases.ts";
import { DAY, MINUTE } from "../../lib/duration.ts";
import type { AskReason } from "../../lib/entitlements/next-ask.ts";
import { parsePeriod, plusPeriod, times, type Instant } from "../../lib/entitlements/time.ts";
import { createApplicationTable } from "../../lib/table/applications/applications.ts";
import { DEMO } from "../../local/demo.ts";
import { close, listen } from "../../local/server.ts";
import type { TimedStore } from "../../sandbox/clock.ts";
import { createIosStoreSandbox } from "../../sandbox/ios-store/ios-store.ts";
import { fingerprintOf } from "../../sandbox/ios-store/signing.ts";
import { PACKAGE_NAME, startAndroidStore } from "../../testing/support/android-store.ts";
import { createTestTable, type TestTable } from "../../testing/support/table.ts";
import { sum } from "../measure.ts";
import { meter, type Consumption, type Meter } from "../meter.ts";
import { newChain } from "../purchases.ts";
import { anApplication } from "../../testing/support/application.ts";
import { aCatalog, aProduct } from "../../testing/support/purchases.ts";

/** Lives of subscriptions, from one period to the next, on both sandbox stores and a clock that is moved. */

const START: Instant = Date.UTC(2027, 0, 10, 12);
const LIFETIME_PRODUCT = "lifetime";

export type Plan = "monthly" | "yearly" | "lifetime";

/** Outcomes of a period's end; those of a lifetime purchase are its first year and its second. */
const OUTCOMES = [
  /** On iOS charged a day ahead, on Android at the end. */
  "renewed",
  /** The renewal was turned off ten days before the end. */
  "canceled",
  /** The charge failed, and succeeded two days after the end. */
  "recovered in grace",
  /** The charge failed, and succeeded twenty days after the end. */
  "recovered later",
  /** The charge failed, and never succeeded. */
  "lost",
  "first year",
  "second year",
] as const;
export type Outcome = (typeof OUTCOMES)[number];

/**
 * Cost of one period of a subscription, or one year of a lifetime purchase; of one that ends, with all that follows.
 */
export interface Life {
  readonly store: Store;
  readonly isNotified: boolean;
  readonly plan: Plan;
  readonly outcome: Outcome;
  readonly refreshes: Readonly<Partial<Record<AskReason, number>>>;
  readonly storeRequests: number;
  /** Requests for asking and storing. */
  readonly refreshing: Consumption;
  /** Runs of the schedule with something due. */
  readonly runs: number;
  /** Requests of the runs, except for asking and storing. */
  readonly running: Consumption;
}

type Change = "renew-ahead" | "cancel" | "fail-billing" | "recover";

interface LiveStore {
  readonly store: Store;
  readonly sandbox: Pick<TimedStore, "nextEventAt" | "runUntil">;
  readonly run: AskRun;
  /** Buys and links; returns how the purchase is changed. */
  buy(plan: Plan): Promise<(change: Change) => Promise<unknown>>;
  /** Requests to the store about purchases so far. */
  requests(): number;
  close(): Promise<void>;
}

interface Clock {
  now: Instant;
}

const fail = (error: unknown): never => {
  throw error;
};

const bodyOf = async (request: IncomingMessage): Promise<string> => {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(Buffer.from(chunk));
  return Buffer.concat(chunks).toString("utf8");
};

/** Receives a store's pushes. */
const receiving = async (receive: (body: unknown, authorization: string | undefined) => Promise<unknown>) => {
  const server = createServer((request, response) => {
    bodyOf(request)
      .then(async (body) => receive(JSON.parse(body), request.headers.authorization))
      .then(
        () => response.writeHead(200).end(),
        (error: unknown) => {
          process.stderr.write(`${String(error)}\n`);
          response.writeHead(500).end();
        },
      );
  });
  return { url: `http://127.0.0.1:${await listen(server, 0)}/`, close: () => close(server) };
};

const PERIODS: Readonly<Record<Plan, string>> = { monthly: "P1M", yearly: "P1Y", lifetime: "P1Y" };

export const applicationWith = (stores: Partial<Application>): Application =>
  anApplication({
    name: DEMO.name,
    catalog: aCatalog(
      (["ios-store", "android-store"] as const).flatMap((store) => [
        aProduct({
          store,
          productIdentifier: store === "ios-store" ? DEMO.iosSubscription : DEMO.androidSubscription,
        }),
        aProduct({ store, productIdentifier: LIFETIME_PRODUCT }),
      ]),
    ),
    renewalLeeway: 15 * MINUTE,
    ...stores,
  });

const KEY_SECRET = "key";

const liveIosStore = async (table: TestTable, clock: Clock, isNotified: boolean): Promise<LiveStore> => {
  const chain = newChain();
  const now = () => clock.now;
  const trustedRoots = new Set([fingerprintOf(chain.root)]);
  const reception = composeIosStoreReception({ table, now, trustedRoots, onNoteFailure: fail });
  const pushes = await receiving((body) =>
    receiveIosStoreNotification(reception, body as { signedPayload: string }),
  );
  const sandbox = createIosStoreSandbox({
    prefix: "/store",
    signer: chain,
    bundleIdentifier: DEMO.bundleIdentifier,
    appAppleIdentifier: DEMO.appAppleIdentifier,
    now,
    notificationUrl: isNotified ? pushes.url : null,
    saved: null,
  });
  const { issuerIdentifier, keyIdentifier, privateKey } = sandbox.serverKey;
  const application = applicationWith({
    iosStore: [
      {
        bundleIdentifier: DEMO.bundleIdentifier,
        appAppleIdentifier: DEMO.appAppleIdentifier,
        environments: ["production", "sandbox"],
        xcodeCertificates: [],
        serverApi: { issuerIdentifier, keyIdentifier, secret: KEY_SECRET },
      },
    ],
  });
  await createApplicationTable(table).save(null, application);
  const server = createServer((request, response) => {
    void sandbox.handle(request, response);
  });
  const run = composeIosStoreRefresh({
    table,
    now,
    trustedRoots,
    appStoreServerUrl: `http://127.0.0.1:${await listen(server, 0)}/store`,
    readSecret: () => Promise.resolve(privateKey),
    onFailure: fail,
  });
  return {
    store: "ios-store",
    sandbox,
    run,
    buy: async (plan) => {
      const isLifetime = plan === "lifetime";
      const { originalTransactionIdentifiers, ...bought } = await sandbox.buy({
        environment: "production",
        transactions: [
          isLifetime
            ? { productIdentifier: LIFETIME_PRODUCT, type: "Non-Consumable" }
            : { productIdentifier: DEMO.iosSubscription, period: PERIODS[plan] },
        ],
      });
      await linkIosStoreCustomer(reception, application.identifier, {
        signedAppTransaction: bought.signedAppTransaction,
        signedTransactions: [...bought.signedTransactions],
        signedRenewalInfos: [...bought.signedRenewalInfos],
        applicationAccountIdentifier: uuid(),
      });
      const [purchase = ""] = originalTransactionIdentifiers;
      return (change) => sandbox.change(purchase, { change });
    },
    requests: () => sum(Object.values(sandbox.requests())),
    close: async () => {
      await close(server);
      await pushes.close();
    },
  };
};

const PUSHED_AS = {
  serviceAccount: "play-push@bench.iam.gserviceaccount.com",
  audience: "https://api.example.com/v1/notifications/android-store",
} as const;

const liveAndroidStore = async (table: TestTable, clock: Clock, isNotified: boolean): Promise<LiveStore> => {
  const now = () => clock.now;
  let url: string | null = null;
  const { sandbox, rootUrl, androidPackage, ...local } = await startAndroidStore({
    now,
    ...PUSHED_AS,
    pushUrl: () => url,
  });
  const reception = composeAndroidStoreReception({
    table,
    now,
    readSecret: () => Promise.resolve(null),
    androidPublisherUrl: rootUrl,
    googleCertificatesUrl: `${rootUrl}certs`,
    onNoteFailure: fail,
  });
  const pushes = await receiving((body, authorization) =>
    receiveAndroidStoreNotification(reception, {
      request: body as Parameters<typeof receiveAndroidStoreNotification>[1]["request"],
      authorization: authorization ?? null,
      address: PUSHED_AS.audience,
    }),
  );
  if (isNotified) url = pushes.url;
  const application = applicationWith({
    androidStore: [{ ...androidPackage, environments: ["production"], notifications: PUSHED_AS }],
  });
  await createApplicationTable(table).save(null, application);
  const run = composeAndroidStoreRefresh({
    table,
    now,
    readSecret: () => Promise.resolve(null),
    androidPublisherUrl: rootUrl,
    onFailure: fail,
  });
  return {
    store: "android-store",
    sandbox,
    run,
    buy: async (plan) => {
      const isLifetime = plan === "lifetime";
      const productKind = isLifetime ? ("one_time_product" as const) : ("subscription" as const);
      const purchaseToken = sandbox.buy({
        packageName: PACKAGE_NAME,
        productKind,
        productIdentifier: isLifetime ? LIFETIME_PRODUCT : DEMO.androidSubscription,
        ...(!isLifetime && { basePlanIdentifier: DEMO.androidBasePlan, period: PERIODS[plan] }),
      });
      await sandbox.pushed();
      await linkAndroidStoreCustomer(reception, application.identifier, {
        packageName: PACKAGE_NAME,
        purchaseToken,
        productKind,
        applicationAccountIdentifier: uuid(),
        ...(isLifetime && { productIdentifier: LIFETIME_PRODUCT }),
      });
      return async (change) => {
        if (change === "renew-ahead") return;
        sandbox.change(purchaseToken, change);
        await sandbox.pushed();
      };
    },
    // A request for an access token, and one again after the token has expired, belong to no refresh.
    requests: () =>
      sandbox.calls.filter(({ endpoint, method }) => endpoint === "publisher" && method === "GET").length,
    close: async () => {
      await pushes.close();
      await local.close();
    },
  };
};

const NOTHING: Consumption = { requests: {}, readUnits: 0, writeUnits: 0 };

const combined = (a: Consumption, b: Consumption, sign = 1): Consumption => ({
  requests: Object.fromEntries(
    [...new Set([...Object.keys(a.requests), ...Object.keys(b.requests)])]
      .map((name) => [name, (a.requests[name] ?? 0) + sign * (b.requests[name] ?? 0)] as const)
      .filter(([, count]) => count !== 0),
  ),
  readUnits: a.readUnits + sign * b.readUnits,
  writeUnits: a.writeUnits + sign * b.writeUnits,
});

const taken = (of: Meter): Consumption => {
  const { milliseconds: _, ...consumption } = of.take();
  return consumption;
};

interface Tally {
  refreshes: Partial<Record<AskReason, number>>;
  storeRequests: number;
  refreshing: Consumption;
  runs: number;
  running: Consumption;
}

const emptyTally = (): Tally => ({
  refreshes: {},
  storeRequests: 0,
  refreshing: NOTHING,
  runs: 0,
  running: NOTHING,
});

/** Changes of a period's end, by days from it. */
const SCRIPTS: Readonly<Partial<Record<Outcome, readonly (readonly [days: number, change: Change])[]>>> = {
  renewed: [[-9, "renew-ahead"]],
  canceled: [[-10, "cancel"]],
  "recovered in grace": [
    [-10, "fail-billing"],
    [2, "recover"],
  ],
  "recovered later": [
    [-10, "fail-billing"],
    [20, "recover"],
  ],
  lost: [[-10, "fail-billing"]],
};

/** Days after the period's end until which a life is followed. */
const FOLLOWED: Readonly<Partial<Record<Outcome, number>>> = {
  "recovered in grace": 3,
  "recovered later": 21,
  canceled: 400,
  lost: 400,
};

const periodsAfter = (plan: Plan, count: number): Instant => {
  const period = parsePeriod(PERIODS[plan]);
  if (period === null) throw new Error(`${plan} has no period.`);
  return plusPeriod(START, times(count, period));
};

/** Lives one life on a table of its own. */
const live = async (
  start: typeof liveIosStore,
  { plan, outcome, isNotified }: Pick<Life, "plan" | "outcome" | "isNotified">,
): Promise<Life> => {
  const table = await createTestTable();
  const metered = meter(table.client);
  const clock: Clock = { now: START };
  const store = await start(table, clock, isNotified);
  let tally = emptyTally();
  const ask: AskRun["ask"] = async (application, due) => {
    tally.running = combined(tally.running, taken(metered));
    const before = store.requests();
    const asked = await store.run.ask(application, due);
    tally.refreshing = combined(tally.refreshing, taken(metered));
    // An expired token is refused once, and the question repeated; the sandbox follows the moved clock.
    tally.storeRequests += Math.min(1, store.requests() - before);
    tally.refreshes[due.because] = (tally.refreshes[due.because] ?? 0) + 1;
    return asked;
  };
  const wait: AskRun["wait"] = async (milliseconds) => {
    clock.now += milliseconds;
  };
  const [application] = await store.run.applications();
  if (application === undefined) throw new Error("There is no application.");
  const sold = await store.run.directory.byIdentifier(application);
  if (sold === null) throw new Error("There is no application.");
  const queues = askQueuesOf(sold, store.store).map((one) => store.run.queues.of(one));
  const refresh = async (): Promise<void> => {
    metered.take();
    await askDuePurchases({ ...store.run, ask, wait }, clock.now + MINUTE);
    tally.running = combined(tally.running, taken(metered));
    tally.runs += 1;
  };

  const change = await store.buy(plan);
  const isLifetime = plan === "lifetime";
  const end = periodsAfter(plan, isLifetime ? 1 : 2);
  const script = (SCRIPTS[outcome] ?? []).map(([days, name]) => ({ at: end + days * DAY, name }));
  const advance = async (until: Instant): Promise<void> => {
    for (;;) {
      const first = await Promise.all(queues.map((one) => one.due(until, 1)));
      const [due] = first.flat().sort((a, b) => a.dueAt - b.dueAt);
      // The schedule runs on the minute.
      const run = due === undefined ? Infinity : Math.ceil(Math.max(due.dueAt, clock.now) / MINUTE) * MINUTE;
      const next = Math.min(run, store.sandbox.nextEventAt() ?? Infinity, script[0]?.at ?? Infinity);
      if (next > until) break;
      clock.now = Math.max(clock.now, next);
      await store.sandbox.runUntil(clock.now);
      while (script[0] !== undefined && script[0].at <= clock.now) {
        const scripted = script.shift();
        if (scripted !== undefined) await change(scripted.name);
      }
      if (run <= clock.now) await refresh();
    }
    clock.now = until;
  };
  try {
    if (!isLifetime || outcome === "second year") await advance(periodsAfter(plan, 1) + DAY);
    tally = emptyTally();
    await advance(
      isLifetime && outcome === "second year"
        ? periodsAfter(plan, 2) + DAY
        : end + (FOLLOWED[outcome] ?? 1) * DAY,
    );
    return { store: store.store, isNotified, plan, outcome, ...tally };
  } finally {
    await store.close();
    await table.remove();
  }
};

const SUBSCRIPTION_OUTCOMES = [
  "renewed",
  "canceled",
  "recovered in grace",
  "recovered later",
  "lost",
] as const;

/** Lives every life: of each store, with and without notifications. */
export const liveAll = async (
  wanted: (life: Pick<Life, "plan" | "outcome" | "isNotified" | "store">) => boolean = () => true,
): Promise<Life[]> => {
  const lives: Life[] = [];
  for (const [store, start] of [
    ["ios-store", liveIosStore],
    ["android-store", liveAndroidStore],
  ] as const)
    for (const isNotified of [false, true])
      for (const plan of ["monthly", "yearly", "lifetime"] as const)
        for (const outcome of plan === "lifetime"
          ? (["first year", "second year"] as const)
          : SUBSCRIPTION_OUTCOMES)
          if (wanted({ store, isNotified, plan, outcome }))
            lives.push(await live(start, { plan, outcome, isNotified }));
  return lives;
};
