import fc from "fast-check";
import type { TransferPolicy } from "../../lib/applications/application.ts";
import type { AccountChange } from "../../lib/contract/schemas.ts";
import { MINUTE } from "../../lib/duration.ts";
import type { Instant } from "../../lib/entitlements/time.ts";
import type { ChangeData } from "../../lib/telling/change.ts";
import { readChanges } from "../../lib/telling/read-changes.ts";
import type { SendOutcome } from "../../lib/delivery/message.ts";
import { createFeedTable } from "../../lib/table/telling/changes.ts";
import { cases, TIMEOUT } from "../../testing/support/proof.ts";
import { DAY, NOW } from "../../testing/support/stores/purchases.ts";
import { tellingViolations } from "../../testing/support/table/telling-invariants.ts";
import { createToldWorld, createWorld, owned, type ToldWorld } from "../../testing/support/world.ts";
import { createMemoryTable, type MemoryTable } from "../../testing/support/table/memory-table.ts";
import { delivererOf, pause } from "../delivery/delivering.ts";
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
  unlessStopped,
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

type Takes = () => boolean;

/** An application on a clock, with a receiver of its feed and one of its messages. */
const createTelling = (transfers: TransferPolicy) => {
  const table = createMemoryTable();
  const plain = createWorld(table);
  const told = createToldWorld(
    table,
    plain.with({ application: { ...plain.application, transfers }, pause }),
  );
  const follower = createFollower(told, table);
  const receiver = createReceiver();
  const deliverAt = delivererOf(table, told);
  const clock = { now: NOW };

  // A teller that dies leaves its lease.
  const tell = async (): Promise<void> => void (await told.tell(clock.now));
  const follow = (): Promise<void> => follower.follow(clock.now);
  const deliver = async (takes: Takes): Promise<void> => {
    const attempt = ({ data }: { readonly data: unknown }): SendOutcome => {
      const isTaken = takes();
      if (isTaken) receiver.take(data as ChangeData);
      // A receiver may have taken what it seems to have refused.
      return isTaken && takes()
        ? { outcome: "delivered" }
        : { outcome: "failed", because: "status", status: 500, retryAt: null };
    };
    await deliverAt(clock.now, {
      send: (_application, _destination, message) => Promise.resolve(attempt(message)),
      wait: pause,
    });
  };
  let takenAt = clock.now;
  /** The receivers take everything: an attempt comes after a day at the latest. */
  const takeAll = async (days: number): Promise<void> => {
    await tell();
    await follow();
    for (let day = 0; day < days; day += 1) {
      await deliver(() => true);
      clock.now += DAY;
    }
    takenAt = clock.now;
  };
  return {
    table,
    clock,
    world: () => told.world.at(clock.now),
    states: { feed: follower.states, messages: receiver.states },
    tell,
    follow,
    deliver,
    takeAll,
    /** Lets days pass. A change that nobody takes for 30 days is no longer kept. */
    wait: async (days: number): Promise<void> => {
      if (clock.now + days * DAY > takenAt + 25 * DAY) await takeAll(3);
      clock.now += days * DAY;
    },
  };
};
type Telling = ReturnType<typeof createTelling>;

/** Does what happens in a step. */
const perform = async (telling: Telling, { act: acts, takes }: Step): Promise<unknown> => {
  const world = telling.world();
  switch (acts.does) {
    case "wait":
      return telling.wait(acts.days);
    case "tell":
    case "follow":
    case "deliver":
      return telling[acts.does](repeating(takes));
    case "erase":
      return world.erase(await ownerOf(world, acts.purchase));
    default:
      return happen(world, telling.table, acts);
  }
};

/** Performs a step, with what is done meanwhile, up to its crash. */
const take = async (telling: Telling, step: Step): Promise<void> => {
  const { table, clock } = telling;
  const { meanwhile, crashesAt, sees, takes } = step;
  let applied = 0;
  let sent = 0;
  let isNested = false;
  table.seesAfter = repeating(sees);
  table.midway = async () => {
    if (isNested || meanwhile?.at !== applied++) return;
    isNested = true;
    await telling[meanwhile.act](repeating(takes));
    isNested = false;
  };
  table.turn = (command) => {
    if (command === "TransactWriteItemsCommand" && !isNested && crashesAt === sent++) throw new Crash();
    return Promise.resolve();
  };
  await unlessStopped(perform(telling, step));
  // A worker that was killed in this step gives way after its lease.
  clock.now += 2 * MINUTE;
};

const expectHistory = async (transfers: TransferPolicy, steps: readonly Step[]): Promise<void> => {
  const telling = createTelling(transfers);
  const { table, clock, world, states } = telling;
  // From now on it is told of everything.
  await telling.follow();
  for (const step of steps) await take(telling, step);

  table.midway = null;
  table.turn = () => Promise.resolve();
  table.seesAfter = () => true;
  // What a crash left half written, the next request completes.
  for (const key of PURCHASES) await unlessStopped(world().submit({ purchases: [owned(key)] }));
  const end = clock.now;
  await telling.takeAll(12);
  clock.now = end;
  for (const name of ACCOUNTS) {
    const answer = stateText(await world().read(name));
    const toldOf = { feed: stateText(states.feed.get(name)), messages: stateText(states.messages.get(name)) };
    expect(toldOf).toEqual({ feed: answer, messages: answer });
  }
  expect(tellingViolations(await world().items())).toEqual([]);
};

test(
  "the feed and the newest messages equal endpoint 3's answer",
  () =>
    fc.assert(
      fc.asyncProperty(
        fc.constantFrom<TransferPolicy>("refuse", "always"),
        fc.array(step, { minLength: 1, maxLength: 14 }),
        expectHistory,
      ),
      cases(150, 10_000),
    ),
  TIMEOUT,
);
