import {
  acknowledgeDuePurchases,
  type AcknowledgementReport,
  type AcknowledgementRun,
} from "../../lib/customers/acknowledge-due-purchases.ts";
import type { DueAcknowledgement } from "../../lib/customers/records.ts";
import { HOUR, MINUTE } from "../../lib/duration.ts";
import { keepingSome } from "../../lib/in-turns.ts";
import { customerId, purchaseKey } from "../../lib/identifiers.ts";
import { aCatalog, aLine, aPurchase, DAY, NOW } from "../../testing/support/purchases.ts";
import { aCustomer, APPLICATION, knownFacts, LINK, stored } from "./planning.ts";
import { anApplication, directoryOf } from "../../testing/support/application.ts";

/** Time that a run has for its tries, and what a read of the table and a call of the store take of it. */
const RUN = 35_000;
const READ = 10;
const CALL = 200;

/**
 * How a purchase's acknowledgement goes: nobody has linked the purchase, its item cannot be read, the store rejects the credential, it
 * refuses the acknowledgement, or it accepts.
 */
type Kind = "unclaimed" | "unreadable" | "rejected" | "refused" | "good";

const UNREADABLE = new Error("The item cannot be read.");
const UNREADABLE_PAGE = new Error("An item of the page cannot be read.");

/** A queue of one shard, in memory; entry number n is due n milliseconds after the first. */
const aQueue = (...bursts: readonly (readonly [count: number, kind: Kind, packageName: string])[]) => {
  const kinds = new Map<string, Kind>();
  let waiting = bursts
    .flatMap(([count, kind, packageName]) => Array.from({ length: count }, () => ({ kind, packageName })))
    .map(({ kind, packageName }, place): DueAcknowledgement => {
      const key = purchaseKey(`${packageName} ${place}`);
      kinds.set(key, kind);
      return {
        application: APPLICATION,
        packageName,
        purchaseToken: key,
        productKind: "subscription",
        productIdentifier: "premium",
        purchase: { store: "android-store", environment: "production", key },
        dueSince: NOW + place,
        deadline: NOW + place + 3 * DAY,
      };
    });
  let now = NOW;
  const after = <Answer>(milliseconds: number, answer: Answer): Promise<Answer> => {
    now += milliseconds;
    return Promise.resolve(answer);
  };
  const asked: string[] = [];
  const failures: unknown[] = [];
  const names = [...new Set(bursts.map(([, , packageName]) => packageName))];
  const application = anApplication({
    identifier: APPLICATION,
    androidStore: names.map((packageName) => ({
      packageName,
      credential: { secret: "secret" },
      environments: ["production"],
      notifications: null,
    })),
    catalog: aCatalog([]),
  });
  const purchaseOf = (key: string) =>
    aPurchase({ store: "android-store", key: purchaseKey(key), lines: [aLine({ willRenew: true })] });
  const run: AcknowledgementRun = {
    directory: directoryOf(application),
    androidStore: {
      lookUp: ({ packageName }, { purchaseToken }) => {
        asked.push(purchaseToken);
        const due = waiting.find((one) => one.purchaseToken === purchaseToken);
        if (due === undefined) throw new Error("It waits.");
        if (kinds.get(purchaseToken) === "rejected")
          return after(CALL, { outcome: "credential-rejected", status: 401, reason: null });
        return after(CALL, {
          outcome: "verified",
          purchase: purchaseOf(purchaseToken),
          replaces: null,
          samePerson: [],
          predecessors: [],
          isPending: false,
          isClosed: false,
          goesOn: null,
          acknowledgement: { ...due, packageName, deadline: now + DAY },
        });
      },
      acknowledge: (_, { purchaseToken }) =>
        after(
          CALL,
          kinds.get(purchaseToken) === "good"
            ? { outcome: "acknowledged" }
            : { outcome: "due", because: "unavailable", status: 400, reason: null },
        ),
    },
    queue: {
      shards: 1,
      waiting: async function* () {
        const entries = waiting;
        for (let place = 0; place < entries.length; place += 50)
          yield await after(READ, entries.slice(place, place + 50));
      },
      remove: ({ purchase }) => {
        waiting = waiting.filter((one) => one.purchase.key !== purchase.key);
        return after(READ, undefined);
      },
    },
    refreshes: { set: () => Promise.resolve("written") },
    table: {
      findFacts: async (_, __, purchases) => {
        if (purchases.some(({ key }) => kinds.get(key) === "unreadable"))
          throw purchases.length > 1 ? UNREADABLE_PAGE : UNREADABLE;
        return after(
          READ,
          knownFacts(purchases.map(({ key }) => stored(purchaseOf(key), { customer: customerId(key) }))),
        );
      },
      findCustomers: (_, identifiers) =>
        after(READ, {
          living: new Map(
            [...identifiers].map((identifier) => [
              identifier,
              aCustomer({ identifier, link: kinds.get(identifier) === "unclaimed" ? null : LINK }),
            ]),
          ),
          gone: new Map(),
        }),
    },
    now: () => now,
    onFailure: (error) => failures.push(error),
  };
  return {
    failures,
    waiting: () => waiting.length,
    /** Keys of the purchases that the store was asked about in a run. */
    runAt: async (
      moment: number,
      time = RUN,
    ): Promise<{ report: AcknowledgementReport; tried: readonly string[] }> => {
      now = moment;
      asked.length = 0;
      const report = await acknowledgeDuePurchases(run, moment + time);
      return { report, tried: [...asked] };
    },
  };
};

test.each([
  ["of its package", "com.example.a"],
  ["of another package", "com.example.b"],
])("a linked purchase is tried at once, behind ten thousand that nobody has linked: %s", async (_, other) => {
  const queue = aQueue(
    [10_000, "unclaimed", other],
    [5, "refused", "com.example.a"],
    [1, "good", "com.example.a"],
  );
  const { report, tried } = await queue.runAt(NOW + HOUR);
  expect(report).toMatchObject({ done: 1, due: 5 });
  expect(tried).toHaveLength(6);
});

test("purchases that the store refuses, however many, delay no other package's second round", async () => {
  const queue = aQueue(
    [10_000, "refused", "com.example.a"],
    [6, "refused", "com.example.b"],
    [1, "good", "com.example.b"],
  );
  expect((await queue.runAt(NOW + HOUR)).report).toMatchObject({ done: 1 });
});

test("each of a package's refused purchases has its turn, and all are counted in every run", async () => {
  const queue = aQueue([2000, "refused", "com.example.a"]);
  const tried = new Set<string>();
  for (let minute = 0; minute < 120; minute += 1) {
    const { report, tried: some } = await queue.runAt(NOW + 2 * DAY + HOUR + minute * MINUTE + minute * 37);
    expect(report).toMatchObject({ done: 0, due: 2000, nearDeadline: 2000 });
    expect(some.length).toBeGreaterThan(50);
    for (const key of some) tried.add(key);
  }
  expect(tried.size).toBeGreaterThan(1900);
});

test("purchases that are given up, as nobody has linked them, are no reason to put off their package's others", async () => {
  const queue = aQueue(
    [4, "unclaimed", "com.example.a"],
    [1, "good", "com.example.a"],
    [100, "good", "com.example.b"],
  );
  const { report, tried } = await queue.runAt(NOW + 3 * DAY + HOUR, 5000);
  expect(report.done).toBeGreaterThan(1);
  expect(tried[0]).toMatch(/^com\.example\.a /);
});

test("the second round begins with another package each minute, so that none is always last", async () => {
  const packages = ["com.example.a", "com.example.b", "com.example.c"];
  const queue = aQueue(...packages.map((name) => [10, "refused", name] as const));
  const firstRound = packages.length * 3;
  const begins = new Set<string>();
  for (let minute = 0; minute < packages.length; minute += 1) {
    // There is time for the first round and the first try of the second.
    const { tried } = await queue.runAt(NOW + HOUR + minute * MINUTE, firstRound * 2 * (READ + CALL) + 100);
    expect(tried).toHaveLength(firstRound + 1);
    begins.add(tried.at(-1)?.split(" ")[0] ?? "");
  }
  expect([...begins].toSorted()).toEqual(packages);
});

test("however many purchases a package has whose credential is rejected, those of others are tried", async () => {
  const queue = aQueue([10_000, "rejected", "com.example.a"], [1, "good", "com.example.b"]);
  const { report, tried } = await queue.runAt(NOW + HOUR);
  expect(report).toMatchObject({ done: 1, due: 10_000, credentialRejectedOf: [APPLICATION] });
  expect(tried).toHaveLength(2);
});

test("a purchase that nobody has linked is not due, though its page cannot be read and its credential is rejected", async () => {
  const queue = aQueue(
    [1, "rejected", "com.example.a"],
    [1, "unreadable", "com.example.a"],
    [3, "unclaimed", "com.example.a"],
  );
  expect((await queue.runAt(NOW + HOUR)).report).toMatchObject({ done: 0, due: 2 });
});

test("a purchase that cannot be read holds up no other of its page, and is counted", async () => {
  const queue = aQueue(
    [1, "unreadable", "com.example.a"],
    [4, "unclaimed", "com.example.a"],
    [1, "good", "com.example.a"],
  );
  expect((await queue.runAt(NOW + HOUR)).report).toMatchObject({ done: 1, due: 1 });
  expect(queue.failures).toEqual([UNREADABLE_PAGE, UNREADABLE]);
});

test("purchases that nobody has linked are given up some at a time, and are counted neither as due nor as failed", async () => {
  const queue = aQueue([300, "unclaimed", "com.example.a"], [4, "refused", "com.example.a"]);
  const { report } = await queue.runAt(NOW + 3 * DAY + HOUR);
  expect(report).toMatchObject({ due: 4, nearDeadline: 4, failed: 0 });
  expect(queue.waiting()).toBe(204);
  await queue.runAt(NOW + 3 * DAY + HOUR + MINUTE);
  await queue.runAt(NOW + 3 * DAY + HOUR + 2 * MINUTE);
  expect(queue.waiting()).toBe(4);
});

test.each([1, 7, 8, 9, 17, 100, 1000])(
  "at most eight of %i items are kept in a turn, and each item in at least one of the next turns",
  (length) => {
    const items = Array.from({ length }, (_, place) => place);
    const inTurn = (turn: number) => {
      const left: number[] = [];
      const kept = keepingSome<number>(8, turn, (item) => left.push(item));
      for (const item of items) kept.add(item);
      expect([...kept.items(), ...left].toSorted((a, b) => a - b)).toEqual(items);
      return kept.items();
    };
    const turns = Math.max(1, Math.floor((2 * length) / 8));
    const kept = Array.from({ length: turns }, (_, turn) => inTurn(NOW + turn));
    expect(Math.max(...kept.map((some) => some.length))).toBeLessThanOrEqual(8);
    expect([...new Set(kept.flat())].toSorted((a, b) => a - b)).toEqual(items);
  },
);
