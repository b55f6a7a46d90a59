import fc from "fast-check";
import type { TransferPolicy } from "../../../lib/applications/application.ts";
import { ServiceError } from "../../../lib/contract/errors.ts";
import type { Purchase } from "../../../lib/entitlements/purchase.ts";
import { byCredential, createWorld, owned, refunded, type World } from "../../../testing/support/world.ts";
import { cases, TIMEOUT } from "../../../testing/support/proof.ts";
import { DAY, NOW } from "../../../testing/support/stores/purchases.ts";
import { createMemoryTable } from "../../../testing/support/table/memory-table.ts";
import {
  act,
  Crash,
  DEVICES,
  happening,
  MERGED,
  ownerOf,
  requestOf,
  stored,
  storedOf,
  storing,
  tableOf,
  unlessStopped,
  type Happening,
  type Item,
  type Step,
  type Storing,
} from "./happenings.ts";

/** A request that sees some items of a transaction and not the others is answered as before it or after it. */

/** Returns the values one after the other, then the last one repeatedly. */
const takenFrom = <T>(values: readonly T[]): (() => T) => {
  let next = 0;
  return () => {
    const value = values[Math.min(next, values.length - 1)];
    if (value === undefined) throw new RangeError("There is nothing to take from.");
    next += 1;
    return value;
  };
};

interface Meeting {
  readonly history: readonly Step[];
  /** Its transaction number `at`, from 0, is seen half done; it does not go on after that. */
  readonly met: Happening;
  readonly at: number;
  readonly request: Storing;
  /** For each read of one of the transaction's items, in order: whether the read sees the new item. */
  readonly sees: readonly boolean[];
  readonly transfers: TransferPolicy;
}

type Answer =
  { readonly refused: string } | { readonly customer: string | null; readonly holdings: readonly Purchase[] };

/** The answer; a customer that did not exist before is called `new`. */
const answerTo = async (world: World, request: Storing, before: readonly Item[]): Promise<Answer> => {
  const customers = new Set(before.map(({ customer }) => customer));
  const stored = await world.submit(...requestOf(request)).catch((error: unknown) => {
    if (error instanceof ServiceError) return error.code;
    throw error;
  });
  if (typeof stored === "string") return { refused: stored };
  if (stored.outcome === "refused") return { refused: stored.code };
  if (stored.customer === null) return { customer: null, holdings: [] };
  const { identifier, holdings } = stored.customer;
  return { customer: customers.has(identifier) ? identifier : "new", holdings };
};

/** The request's answer, and its answers just before and just after the transaction; null: there is no transaction. */
const answersOf = async ({ history: before, met, at, request, sees, transfers }: Meeting) => {
  const table = createMemoryTable();
  const plain = createWorld(table);
  const world = plain.with({ application: { ...plain.application, transfers } });
  for (const { happening } of before) await unlessStopped(act(world, table, happening));

  const states: Item[][] = [];
  table.turn = async (command) => {
    if (command === "TransactWriteItemsCommand") states.push(await table.items());
  };
  const [waits, isOver] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  // A request that pauses waits until the transaction is over.
  const requesting = world.with({
    pause: () => {
      waits.resolve();
      return isOver.promise;
    },
  });
  let answer: Promise<Answer> | null = null;
  table.seesAfter = takenFrom(sees);
  table.midway = async () => {
    if (states.length <= at) return;
    table.turn = () => Promise.resolve();
    table.midway = null;
    answer = answerTo(requesting, request, states.at(-1) ?? []);
    states.push(await table.items());
    await Promise.race([answer, waits.promise]);
    throw new Crash();
  };
  await unlessStopped(act(world, table, met));
  isOver.resolve();
  if (answer === null) return null;
  const [old = [], young = []] = states.slice(-2);
  const answerIn = async (items: readonly Item[]): Promise<Answer> => {
    const { application } = world;
    return answerTo(createWorld(await tableOf(items), { application }), request, old);
  };
  return { answer: await answer, expected: [await answerIn(old), await answerIn(young)] };
};

/** Two customers, each with an app transaction id and a purchase. {@link MERGE} shows that they are one. */
const TWO_DEVICES = ["1", "2"].map((name): Step => ({
  happening: storedOf({ device: name, purchases: [name] }),
  failure: null,
}));
const MERGE = storedOf({ purchases: ["1", "2"] });

const expectAnswer = async (meeting: Meeting): Promise<void> => {
  const answers = await answersOf(meeting);
  if (answers !== null) expect(answers.expected).toContainEqual(answers.answer);
};

// The purchase, the alias or the app transaction id is seen; the customer, the survivor or the customer's move is not.
test.each<[string, Pick<Meeting, "met" | "request"> & Partial<Meeting>]>([
  [
    "finds a new customer's purchase without the customer, and is not refused",
    { met: storedOf({ purchases: ["1"] }), request: storedOf({ purchases: ["1"] }) },
  ],
  [
    "finds a merge's alias without its survivor, and answers the absorbed purchases",
    { history: TWO_DEVICES, met: MERGE, request: storedOf({ device: "2" }) },
  ],
  [
    "finds a moved customer's identity in the old account, and succeeds",
    {
      history: [stored(["1"], "a"), stored(["2"], "b")],
      met: storedOf({ device: "1", purchases: ["1"], claim: { account: "b", assertedBy: "credential" } }),
      request: storedOf({ device: "1", purchases: ["2"] }),
      transfers: "always",
    },
  ],
])("%s", (_, meeting) =>
  expectAnswer({ history: [], at: 0, sees: [true, false], transfers: "refuse", ...meeting }),
);

test("stores a half-seen new customer's facts, even when refused", async () => {
  const table = createMemoryTable();
  const world = createWorld(table);
  await world.store({ purchases: [owned("1")] }, byCredential("a"));
  const [isRead, isOver] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  let refusing: ReturnType<World["submit"]> | undefined;
  // The first request's purchase 2 is seen, purchase 3 is not. The transaction is over before customers are read.
  table.seesAfter = takenFrom([true, false]);
  table.midway = () => {
    let reads = 0;
    table.turn = () => {
      reads += 1;
      if (reads !== 2) return Promise.resolve();
      isRead.resolve();
      return isOver.promise;
    };
    refusing = world.submit({ purchases: [owned("1"), refunded("2"), refunded("3")] });
    return isRead.promise;
  };
  await world.store({ purchases: [owned("2"), owned("3")] }, byCredential("b"));
  table.midway = null;
  isOver.resolve();
  expect(await refusing).toMatchObject({ outcome: "refused", code: "IDENTITY_CONFLICT" });
  for (const key of ["2", "3"])
    expect(await ownerOf(world, key)).toMatchObject({
      holdings: ["2", "3"].map((held) => ({ key: held, lines: [{ revokedAt: NOW - DAY }] })),
    });
});

test(
  "is answered as before the transaction or after it",
  () =>
    fc.assert(
      fc.asyncProperty(
        fc.record({
          history: fc
            .tuple(
              fc.constantFrom<Step[][]>([], TWO_DEVICES, TWO_DEVICES, MERGED),
              fc.array(fc.record({ happening, failure: fc.constant(null) }), { maxLength: 3 }),
            )
            .map((steps) => steps.flat()),
          met: fc.oneof({ weight: 2, arbitrary: fc.constant(MERGE) }, { weight: 3, arbitrary: happening }),
          at: fc.constantFrom(0, 0, 1, 2),
          request: fc.oneof(
            storing,
            fc.constantFrom(...DEVICES).map((device) => storedOf({ device })),
          ),
          sees: fc.array(fc.boolean(), { minLength: 1, maxLength: 6 }),
          transfers: fc.constantFrom<TransferPolicy>("refuse", "always"),
        }),
        expectAnswer,
      ),
      cases(180, 20_000),
    ),
  TIMEOUT,
);
