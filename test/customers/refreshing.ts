import { v7 as uuid } from "uuid";
import type { Application } from "../../lib/applications/application.ts";
import {
  askDuePurchases,
  type AskReport,
  type AskRun,
} from "../../lib/customers/asking/ask-due-purchases.ts";
import { MINUTE } from "../../lib/duration.ts";
import type { Environment } from "../../lib/contract/schemas.ts";
import type { Purchase } from "../../lib/entitlements/purchase.ts";
import type { Instant } from "../../lib/entitlements/time.ts";
import type { AskOutcome, DueAsk, FactsOrigin } from "../../lib/customers/asking/ask.ts";
import { applicationId, type ApplicationId } from "../../lib/identifiers.ts";
import { createCustomerTable } from "../../lib/table/customers/customers.ts";
import { createAskQueues } from "../../lib/table/queues/asks.ts";
import type { Table } from "../../lib/table/dynamodb/table.ts";
import { aBundle, BUNDLE } from "../../testing/support/stores/ios-store.ts";
import { DAY, NOW } from "../../testing/support/stores/purchases.ts";
import type { TestTable } from "../../testing/support/table/table.ts";
import { createWorld, owned, type World } from "../../testing/support/world.ts";
import { createVirtualClock } from "../queues/virtual-clock.ts";

/** A second bundle of each application, beside {@link BUNDLE}. */
export const OTHER_BUNDLE = "com.example.other";

/** Origin of facts of {@link BUNDLE}, whose application has Apple's key. */
export const fromApple = (changes: Partial<FactsOrigin> = {}): FactsOrigin => ({
  source: { store: "ios-store", bundleIdentifier: BUNDLE },
  canAsk: true,
  askedAt: null,
  ...changes,
});

/** Origin of facts about a subscription, which Google is asked about by this token. */
export const fromGoogle = (purchaseToken = "the-token", changes: Partial<FactsOrigin> = {}): FactsOrigin => ({
  source: {
    store: "android-store",
    packageName: "com.example.trails",
    purchaseToken,
    productKind: "subscription",
  },
  canAsk: true,
  askedAt: null,
  ...changes,
});

export const aName = (): ApplicationId => applicationId(uuid());

/** The questions that an application's queues hold, by key of their purchase. */
export const queuedOf = async (world: World): Promise<Record<string, number>> =>
  Object.fromEntries(
    (await world.items())
      .filter(({ pk, sk }) => String(pk).includes("#ASK#") && /^\d/.test(String(sk)))
      .map(({ key, ask }) => [String(key), (ask as { at: number }).at]),
  );

/** The times that an application's purchases record of their questions. */
export const recordedOf = async (world: World): Promise<Record<string, number>> =>
  Object.fromEntries(
    (await world.items())
      .filter(({ sk, ask }) => sk === "PURCHASE" && ask != null)
      .map(({ key, ask }) => [String(key), (ask as { at: number }).at]),
  );

type Answer = (due: DueAsk, moment: Instant) => AskOutcome | Purchase | Promise<AskOutcome | Purchase>;

/** A question to the scripted store. */
export interface Asked {
  readonly at: Instant;
  readonly application: ApplicationId;
  readonly key: string;
}

/** Which of its application's purchases a test means. */
interface Place {
  readonly application?: ApplicationId;
  readonly bundleIdentifier?: string;
  readonly environment?: Environment;
}

const iosStore = [BUNDLE, OTHER_BUNDLE].map((bundleIdentifier) =>
  aBundle({
    bundleIdentifier,
    environments: ["production", "sandbox"],
    serverApi: { issuerIdentifier: "i", keyIdentifier: "k", secret: "s" },
  }),
);

/** Applications with two bundles, whose store answers as a test says, on one clock that waiting moves. */
export const createRefreshing = (table: TestTable, applications: readonly ApplicationId[] = [aName()]) => {
  let requests = 0;
  table.client.middlewareStack.add(
    (next) => async (args) => {
      requests += 1;
      return next(args).finally(() => (requests -= 1));
    },
    { step: "initialize", name: "counting requests", override: true },
  );
  const clock = createVirtualClock(NOW, () => requests > 0);
  const asked: Asked[] = [];
  const failures: unknown[] = [];
  const worlds = new Map(
    applications.map((identifier) => {
      const world = createWorld(table);
      return [identifier, world.with({ application: { ...world.application, identifier, iosStore } })];
    }),
  );
  const worldOf = (identifier = applications[0]): World => {
    const world = identifier === undefined ? undefined : worlds.get(identifier);
    if (world === undefined) throw new Error("There is no such application.");
    return world;
  };
  /** The store's answer to a question: a subscription for 30 days more. */
  const renewed: Answer = ({ purchase }, moment) =>
    owned(purchase.key, { endsAt: moment + 30 * DAY, verifiedAt: moment });
  let answer: Answer = renewed;

  const ask = async ({ identifier }: Application, due: DueAsk): Promise<AskOutcome> => {
    const moment = clock.now();
    asked.push({ at: moment, application: identifier, key: due.purchase.key });
    const said = await answer(due, moment);
    if ("outcome" in said) return said;
    const { environment } = due.purchase;
    const origin = { source: due.source, canAsk: true, askedAt: said.verifiedAt };
    await worldOf(identifier)
      .at(clock.now())
      .store({ environment, purchases: [{ ...said, environment }], origin });
    return { outcome: "stored" };
  };
  const runOn = (on: Table, changes: Partial<AskRun> = {}): AskRun => ({
    store: "ios-store",
    directory: { byIdentifier: (identifier) => Promise.resolve(worldOf(identifier).application) },
    queues: createAskQueues(on),
    table: createCustomerTable(on),
    applications: () => Promise.resolve(applications),
    ask,
    newWorker: uuid,
    now: clock.now,
    wait: clock.wait,
    onFailure: (error) => failures.push(error),
    ...changes,
  });
  return {
    clock,
    asked,
    failures,
    worldOf,
    /** The only application, or the first. */
    world: worldOf(),
    answering: (by: Answer = renewed) => {
      answer = by;
    },
    /** Stores a subscription, whose question becomes due just after its end. */
    hold: (
      key: string,
      endsAt: Instant,
      { application, bundleIdentifier = BUNDLE, environment = "production" }: Place = {},
    ) =>
      worldOf(application)
        .at(endsAt - MINUTE)
        .store({
          environment,
          purchases: [{ ...owned(key, { endsAt, verifiedAt: endsAt - MINUTE }), environment }],
          origin: fromApple({ source: { store: "ios-store", bundleIdentifier } }),
        }),
    run: (changes: Partial<AskRun> = {}, minutes = 10): Promise<AskReport> =>
      clock.during(askDuePurchases(runOn(table, changes), clock.now() + minutes * MINUTE)),
    runOn,
  };
};
export type Refreshing = ReturnType<typeof createRefreshing>;
