import fc from "fast-check";
import { v7 as uuid } from "uuid";
import type { Destination } from "../../lib/applications/destination.ts";
import { ServiceError } from "../../lib/contract/errors.ts";
import type { AccountChange } from "../../lib/contract/schemas.ts";
import type { Instant } from "../../lib/entitlements/time.ts";
import type { ChangeData } from "../../lib/telling/change.ts";
import { deliverMessages } from "../../lib/delivery/deliver-messages.ts";
import { readChanges } from "../../lib/telling/read-changes.ts";
import type { SendOutcome } from "../../lib/delivery/send-outcome.ts";
import { createDeliveryQueue } from "../../lib/table/telling/delivery-queue.ts";
import { createFeedTable } from "../../lib/table/telling/feed.ts";
import { cases, TIMEOUT } from "../../testing/support/proof.ts";
import { DAY, NOW } from "../../testing/support/stores/purchases.ts";
import { tellingViolations } from "../../testing/support/table/telling-invariants.ts";
import { createToldWorld, createWorld, owned, type ToldWorld } from "../../testing/support/world.ts";
import { createMemoryTable, type MemoryTable } from "../../testing/support/table/memory-table.ts";
import { choice, type Made } from "./model/histories/choices.ts";
import {
  account,
  act as happen,
  ACCOUNTS,
  Crash,
  ownerOf,
  purchase,
  PURCHASES,
  storing,
  type Happening,
} from "./races/happenings.ts";

/**
 * Whatever happens to customers, in any order, with reads that see parts of transactions, and tellers that are killed: who
 * follows the changes, and who keeps only the newest version of each account, ends with what endpoint 3 answers.
 */

const act = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.tuple(storing, fc.boolean()).map(([one, refunds]): Happening => ({ ...one, refunds })),
  },
  { weight: 1, arbitrary: fc.record({ does: choice("unlink", "erase"), purchase }) },
  { weight: 4, arbitrary: fc.record({ does: choice("move"), purchase, to: account }) },
  { weight: 2, arbitrary: fc.record({ does: choice("wait"), days: fc.integer({ min: 1, max: 20 }) }) },
  { weight: 6, arbitrary: fc.record({ does: choice("tell", "tell", "deliver", "follow") }) },
);
const booleans = fc.array(fc.boolean(), { minLength: 1, maxLength: 8 });
const step = fc.record({
  act,
  /** Act beside the step, while its transaction number `at` is applied; null: none. */
  meanwhile: fc.option(fc.record({ at: fc.nat(2), act: choice("tell", "follow", "deliver") }), { freq: 1 }),
  /** The step's transaction that fails, by a crash; null: none. */
  crashesAt: fc.option(fc.nat(2), { freq: 4 }),
  /** For each read of an item of a transaction that is being applied: whether it sees the new one. */
  sees: booleans,
  /** For each message of a delivery, in order: whether the receiver takes it. */
  takes: booleans,
});
type Step = Made<typeof step>;

const WEBHOOK: Destination = { name: "backend", url: "https://api.example.com", secretEpochs: [] };

const repeating = <T>(values: readonly T[]): (() => T) => {
  let next = 0;
  return () => values[next++ % values.length] as T;
};

/** A receiver of the feed: applies every change, and never sees a customer in two accounts. */
const createFollower = (told: ToldWorld, table: MemoryTable) => {
  let after: string | undefined;
  const states = new Map<string, AccountChange>();
  return {
    states,
    follow: async (moment: Instant): Promise<void> => {
      for (;;) {
        const reading = { feed: createFeedTable(table), now: () => moment };
        const page = await readChanges(reading, told.world.application.identifier, {
          ...(after !== undefined && { after }),
          limit: 2,
        });
        for (const change of page.changes) {
          const name = change.applicationAccountIdentifier;
          expect(change.version).toBeGreaterThan(states.get(name)?.version ?? 0);
          states.set(name, change);
          const customers = [...states.values()].flatMap((state) => state.customerIdentifiers);
          expect(new Set(customers).size).toBe(customers.length);
        }
        if (page.next === after) return;
        after = page.next;
      }
    },
  };
};

/** A receiver of messages: keeps the newest version of each account, whatever comes late or twice. */
const createReceiver = () => {
  const states = new Map<string, ChangeData>();
  return {
    states,
    take: (data: ChangeData): void => {
      const known = states.get(data.applicationAccountIdentifier);
      if (known === undefined || known.version < data.version)
        states.set(data.applicationAccountIdentifier, data);
      // The same version is always the same.
      else if (known.version === data.version) expect(data).toEqual(known);
    },
  };
};

interface AccountState {
  readonly customerIdentifiers: readonly string[];
  readonly entitlements: readonly object[];
}

const stateText = (state: AccountState = { customerIdentifiers: [], entitlements: [] }): string =>
  JSON.stringify([
    state.customerIdentifiers,
    state.entitlements.map((one) => ({ ...one, lastVerifiedAt: null })),
  ]);

const expectHistory = async (transfers: "refuse" | "always", steps: readonly Step[]): Promise<void> => {
  const table = createMemoryTable();
  const plain = createWorld(table);
  const told = createToldWorld(
    table,
    plain.with({ application: { ...plain.application, transfers }, pause: () => Promise.resolve() }),
    [WEBHOOK],
  );
  const follower = createFollower(told, table);
  const receiver = createReceiver();
  let moment = NOW;
  const { identifier } = told.world.application;

  const deliver = async (takes: () => boolean): Promise<void> => {
    await deliverMessages(
      {
        directory: { byIdentifier: () => Promise.resolve(told.world.application) },
        queue: createDeliveryQueue(table),
        applications: () => Promise.resolve([identifier]),
        send: (_application, _destination, messages) =>
          Promise.resolve(
            messages.map(({ data }): SendOutcome => {
              const isTaken = takes();
              if (isTaken) receiver.take(data as ChangeData);
              // A receiver may have taken what it seems to have refused.
              return isTaken && takes()
                ? { outcome: "delivered" }
                : { outcome: "failed", because: "status", status: 500, retryAt: null };
            }),
          ),
        newWorker: uuid,
        now: () => moment,
        wait: () => Promise.resolve(),
        onFailure: (error) => {
          throw error;
        },
      },
      Infinity,
    );
  };
  // From now on it is told of everything.
  await follower.follow(moment);
  let takenAt = moment;
  /** The receivers take everything: an attempt comes after a day at the latest. */
  const takeAll = async (days = 3): Promise<void> => {
    await tell();
    await follower.follow(moment);
    for (let day = 0; day < days; day += 1) {
      await deliver(() => true);
      moment += DAY;
    }
    takenAt = moment;
  };
  // A teller that dies leaves its lease.
  const tell = async (): Promise<void> => void (await told.tell(moment));

  const run = async ({ act: acts, takes }: Step): Promise<unknown> => {
    const world = told.world.at(moment);
    switch (acts.does) {
      case "wait":
        // A change that nobody takes for 30 days is no longer kept.
        if (moment + acts.days * DAY > takenAt + 25 * DAY) await takeAll();
        moment += acts.days * DAY;
        return null;
      case "tell":
        return tell();
      case "follow":
        return follower.follow(moment);
      case "deliver":
        return deliver(repeating(takes));
      case "erase":
        return world.erase(await ownerOf(world, acts.purchase));
      default:
        return happen(world, table, acts);
    }
  };

  for (const one of steps) {
    let applied = 0;
    let sent = 0;
    let isNested = false;
    table.seesAfter = repeating(one.sees);
    table.midway = async () => {
      if (isNested || one.meanwhile?.at !== applied++) return;
      isNested = true;
      if (one.meanwhile.act === "tell") await tell();
      else if (one.meanwhile.act === "deliver") await deliver(repeating(one.takes));
      else await follower.follow(moment);
      isNested = false;
    };
    table.turn = (command) => {
      if (command === "TransactWriteItemsCommand" && !isNested && one.crashesAt === sent++) throw new Crash();
      return Promise.resolve();
    };
    await run(one).catch((error: unknown) => {
      if (!(error instanceof ServiceError || error instanceof Crash)) throw error;
    });
    // A worker that was killed in this step gives way after its lease.
    moment += 2 * 60 * 1000;
  }

  table.midway = null;
  table.turn = () => Promise.resolve();
  table.seesAfter = () => true;
  // What a crash left half written, the next request completes.
  for (const key of PURCHASES)
    await told.world
      .at(moment)
      .submit({ purchases: [owned(key)] })
      .catch((error: unknown) => {
        if (!(error instanceof ServiceError)) throw error;
      });
  const end = moment;
  await takeAll(12);
  moment = end;
  for (const name of ACCOUNTS) {
    const answer = await told.world.at(moment).read(name);
    expect(stateText(follower.states.get(name))).toBe(stateText(answer));
    expect(stateText(receiver.states.get(name))).toBe(stateText(answer));
  }
  expect(tellingViolations(await told.world.items())).toEqual([]);
  await table.remove();
};

test(
  "the feed and the newest messages equal endpoint 3's answer",
  () =>
    fc.assert(
      fc.asyncProperty(
        fc.constantFrom("refuse" as const, "always" as const),
        fc.array(step, { minLength: 1, maxLength: 14 }),
        expectHistory,
      ),
      cases(150, 10_000),
    ),
  TIMEOUT,
);
