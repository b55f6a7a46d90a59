import { v7 as uuid } from "uuid";
import type { Application } from "../../lib/applications/application.ts";
import { askDuePurchases, type AskReport, type AskRun } from "../../lib/customers/ask-due-purchases.ts";
import type { AskOutcome } from "../../lib/customers/ask-outcome.ts";
import type { Environment } from "../../lib/contract/schemas.ts";
import type { Purchase } from "../../lib/entitlements/purchase.ts";
import type { Instant } from "../../lib/entitlements/time.ts";
import type { DueAsk, FactsOrigin } from "../../lib/customers/ask.ts";
import { applicationId, type ApplicationId } from "../../lib/identifiers.ts";
import { createCustomerTable } from "../../lib/table/customers.ts";
import { createAskQueues } from "../../lib/table/asks.ts";
import type { Table } from "../../lib/table/table.ts";
import { BUNDLE } from "../../testing/support/ios-store.ts";
import { NOW } from "../../testing/support/purchases.ts";
import type { TestTable } from "../../testing/support/table.ts";
import { createWorld, owned, type World } from "../../testing/support/world.ts";

/** Origin of facts of {@link BUNDLE}, whose application has Apple's key. */
export const fromApple = (changes: Partial<FactsOrigin> = {}): FactsOrigin => ({
  source: { store: "ios-store", bundleIdentifier: BUNDLE },
  canAsk: true,
  askedAt: null,
  ...changes,
});

export const aName = (): ApplicationId => applicationId(uuid());

/** The refreshes that an application's items hold, by key of their purchase. */
export const queuedOf = async (world: World): Promise<Record<string, number>> =>
  Object.fromEntries(
    (await world.items())
      .filter(({ pk, sk }) => String(pk).includes("#ASK#") && /^\d/.test(String(sk)))
      .map(({ key, dueAt }) => [String(key), Number(dueAt)]),
  );

/** The times that an application's purchases record of their refreshes. */
export const recordedOf = async (world: World): Promise<Record<string, number>> =>
  Object.fromEntries(
    (await world.items())
      .filter(({ sk, askAt }) => sk === "PURCHASE" && askAt !== undefined)
      .map(({ key, askAt }) => [String(key), Number(askAt)]),
  );

type Answer = (due: DueAsk, moment: Instant) => AskOutcome | Purchase | Promise<AskOutcome | Purchase>;

/** A question to the scripted store. */
export interface Asked {
  readonly at: Instant;
  readonly application: ApplicationId;
  readonly key: string;
}

/** Applications whose store answers as a test says, on one clock that waiting moves. */
export const createRefreshing = (table: TestTable, applications: readonly ApplicationId[] = [aName()]) => {
  const clock = { now: NOW };
  const asked: Asked[] = [];
  const failures: unknown[] = [];
  const worlds = new Map(
    applications.map((identifier) => {
      const world = createWorld(table);
      return [identifier, world.with({ application: { ...world.application, identifier } })];
    }),
  );
  const worldOf = (identifier: ApplicationId): World => {
    const world = worlds.get(identifier);
    if (world === undefined) throw new Error("There is no such application.");
    return world;
  };
  /** The store's answer to a question: a subscription for 30 days more. */
  const renewed: Answer = ({ purchase }, moment) =>
    owned(purchase.key, { endsAt: moment + 30 * 24 * 3600_000, verifiedAt: moment });
  let answer: Answer = renewed;

  const ask = async ({ identifier }: Application, due: DueAsk): Promise<AskOutcome> => {
    const moment = clock.now;
    asked.push({ at: moment, application: identifier, key: due.purchase.key });
    const said = await answer(due, moment);
    if ("outcome" in said) return said;
    const origin = fromApple({ askedAt: said.verifiedAt });
    await worldOf(identifier)
      .at(moment)
      .store({ environment: due.purchase.environment, purchases: [said], origin });
    return { outcome: "stored" };
  };
  const runOn = (on: Table, changes: Partial<AskRun> = {}): AskRun => ({
    store: "ios-store",
    directory: { byIdentifier: (identifier) => Promise.resolve(worldOf(identifier).application) },
    queues: createAskQueues(on),
    table: createCustomerTable(on, () => Promise.resolve()),
    applications: () => Promise.resolve(applications),
    ask,
    newWorker: uuid,
    now: () => clock.now,
    wait: (milliseconds) => {
      clock.now += milliseconds;
      return Promise.resolve();
    },
    onFailure: (error) => failures.push(error),
    ...changes,
  });
  return {
    clock,
    asked,
    failures,
    worldOf,
    /** The only application, or the first. */
    world: worldOf(applications[0] ?? aName()),
    answering: (by: Answer = renewed) => {
      answer = by;
    },
    /** Stores a subscription, whose refresh becomes due just after its end. */
    hold: (
      key: string,
      endsAt: Instant,
      [identifier = applications[0]]: readonly ApplicationId[] = [],
      environment: Environment = "production",
    ) =>
      worldOf(identifier ?? aName())
        .at(endsAt - 60_000)
        .store({
          environment,
          purchases: [{ ...owned(key, { endsAt, verifiedAt: endsAt - 60_000 }), environment }],
          origin: fromApple(),
        }),
    run: (changes: Partial<AskRun> = {}, minutes = 10): Promise<AskReport> =>
      askDuePurchases(runOn(table, changes), clock.now + minutes * 60_000),
    runOn,
  };
};
export type Refreshing = ReturnType<typeof createRefreshing>;
