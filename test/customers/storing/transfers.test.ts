import type { TransferPolicy } from "../../../lib/applications/application.ts";
import type { CustomerChange } from "../../../lib/customers/storing/fact-store.ts";
import { storeFacts } from "../../../lib/customers/storing/store-facts.ts";
import type { AssertedBy } from "../../../lib/contract/schemas.ts";
import { createAuditTable } from "../../../lib/table/applications/audit.ts";
import { createOperationTable } from "../../../lib/table/customers/operations.ts";
import { tellsIn } from "../../../operator/session.ts";
import { transact } from "../../../lib/table/dynamodb/writes.ts";
import { transactionsOf } from "../../../lib/table/customers/customer-change.ts";
import { assertInvariants } from "../../../testing/support/table/invariants.ts";
import { aPurchase, DAY, NOW, proven } from "../../../testing/support/stores/purchases.ts";
import { aUseCaseTable } from "../../../testing/support/table/use-case-table.ts";
import {
  byClient,
  byCredential,
  createWorld,
  device,
  extended,
  owned,
  refusal,
  type World,
} from "../../../testing/support/world.ts";

const table = await aUseCaseTable();

const aWorld = (transfers: TransferPolicy = "refuse"): World => {
  const world = createWorld(table);
  return world.with({ application: { ...world.application, transfers } });
};

const customersOf = async (world: World, account: string) => (await world.read(account)).customerIdentifiers;
const transfersOf = (world: World) =>
  createOperationTable(table, tellsIn(table)).transfersOf(world.application.identifier);

const active = owned("1");
/** Ended so long ago that it cannot be about to be renewed. */
const inactive = owned("1", { startsAt: NOW - 32 * DAY, endsAt: NOW - 2 * DAY });

const STAYS = "CUSTOMER_ALREADY_LINKED";

describe("a customer that a credential has linked", () => {
  const MOVES = "moves";
  test.each<[policy: TransferPolicy, now: string, by: AssertedBy, outcome: string]>([
    ["refuse", "inactive", "credential", STAYS],
    ["when_inactive", "active", "credential", STAYS],
    ["when_inactive", "inactive", "credential", MOVES],
    ["always", "active", "credential", MOVES],
    ["always", "inactive", "credential", MOVES],
    ["always", "inactive", "client", STAYS],
    ["when_inactive", "inactive", "client", STAYS],
  ])("with transfers %s, while %s, claimed by a %s: %s", async (policy, now, assertedBy, outcome) => {
    const world = aWorld(policy);
    const facts = { purchases: [now === "active" ? active : inactive] };
    const customer = await world.store(facts, byCredential("a"));
    const moves = outcome === MOVES;
    expect(await refusal(world.store(facts, { ...byCredential("b"), assertedBy }))).toBe(
      moves ? "accepted" : outcome,
    );
    expect(await customersOf(world, "a")).toEqual(moves ? [] : [customer?.identifier]);
    expect(await customersOf(world, "b")).toEqual(moves ? [customer?.identifier] : []);
    expect((await transfersOf(world)).map(({ because }) => because)).toEqual(moves ? ["policy"] : []);
  });
  test("is active if the request's own facts make it so", async () => {
    const world = aWorld("when_inactive");
    await world.store({ purchases: [inactive] }, byCredential("a"));
    expect(await refusal(world.store({ purchases: [extended("1")] }, byCredential("b")))).toBe(STAYS);
  });

  test("is not inactive while the payment of the request's purchase is pending", async () => {
    const bought = aPurchase({ store: "android-store", key: "pending", lines: [], verifiedAt: NOW });
    const facts = (isPending: boolean) => ({ purchases: [bought], isPending });
    const world = aWorld("when_inactive");
    const customer = await world.store(facts(true), byCredential("a"));
    expect(await refusal(world.store(facts(true), byCredential("b")))).toBe(STAYS);
    expect(await customersOf(world, "a")).toEqual([customer?.identifier]);
    // It was never paid.
    expect(await refusal(world.store(facts(false), byCredential("b")))).toBe("accepted");
    expect(await customersOf(world, "b")).toEqual([customer?.identifier]);
  });
});

test("customers of different accounts keep their links under every policy", async () => {
  const world = aWorld("always");
  const accounts = ["a", "b"];
  for (const account of accounts) await world.store({ purchases: [owned(account)] }, byCredential(account));
  const customers = () => Promise.all(accounts.map((account) => customersOf(world, account)));
  const before = await customers();
  const both = { purchases: accounts.map((account) => owned(account)) };
  for (const account of ["a", "c"])
    expect(await refusal(world.store(both, byCredential(account)))).toBe("IDENTITY_CONFLICT");
  expect([await customers(), await transfersOf(world)]).toEqual([before, []]);
});

test.each([21, 45])("more customers than one transaction can merge move together: %s", async (count) => {
  const world = aWorld("always");
  const purchases = Array.from({ length: count }, (_, index) => owned(String(index)));
  await Promise.all(purchases.map((one) => world.store({ purchases: [one] }, byCredential("a"))));
  const facts = { identities: [device("1")], purchases };
  const one = await world.store(facts, byCredential("b"));
  expect(one?.holdings).toHaveLength(count);
  expect(await customersOf(world, "a")).toEqual([]);
  expect(await customersOf(world, "b")).toEqual([one?.identifier]);
  expect(await world.store(facts, byCredential("b"))).toEqual(one);
});

test("a client's claim that yields is recorded under every policy", async () => {
  const world = aWorld();
  const customer = await world.store({ purchases: [active] }, byClient("a"));
  await world.store({ purchases: [active] }, byCredential("b"));
  expect(await transfersOf(world)).toEqual([
    { customer: customer?.identifier, moment: NOW, because: "claim-gave-way" },
  ]);
});

test.each<[what: string, act: (world: World) => Promise<unknown>]>([
  ["a link that is refused", (world) => world.submit({ purchases: [active] }, byCredential("b"))],
  ["a merge in one account", (world) => world.store({ purchases: [active, owned("3")] })],
])("%s is not recorded as a transfer", async (_, act) => {
  const world = aWorld();
  await world.store({ purchases: [active] }, byCredential("a"));
  await world.store({ purchases: [owned("3")] }, byCredential("a"));
  await act(world);
  expect(await transfersOf(world)).toEqual([]);
});

test("an operator's move is one step, recorded only in the audit", async () => {
  const world = aWorld();
  const customer = await world.store({ purchases: [active] }, byCredential("a"));
  expect(await world.unlink(customer, "b")).toEqual({ outcome: "unlinked", account: "a" });
  expect(await customersOf(world, "a")).toEqual([]);
  expect(await customersOf(world, "b")).toEqual([customer?.identifier]);
  const audit = await createAuditTable(table).of(world.application.identifier);
  expect(audit).toMatchObject([{ action: "move", customer: customer?.identifier, by: "ada" }]);
  expect(await transfersOf(world)).toEqual([]);
});

test("when_inactive never moves a customer whose first request is only partly written", async () => {
  const world = aWorld("when_inactive");
  const many = Array.from({ length: 120 }, (_, index) => proven(owned(String(index))));
  const facts = { environment: "production", identities: [device("1")], purchases: many } as const;
  const write = async (change: CustomerChange) => {
    const [first = []] = transactionsOf(change, new Set());
    await transact(table, first);
    throw new Error("The function was killed.");
  };
  const whole = { ...facts, renewals: [], acknowledgementDue: null, origin: null };
  const killed = storeFacts({ ...world.factStore, write }, world.application, whole, byCredential("a"));
  await expect(killed).rejects.toThrow("killed");
  await assertInvariants(table);
  const another = { identities: [device("1")], purchases: [owned("ended", { endsAt: NOW - DAY })] };
  for (const _ of [1, 2]) expect(await refusal(world.store(another, byCredential("b")))).toBe(STAYS);
  // The same request again completes it.
  await world.store(facts, byCredential("a"));
  expect((await world.read("a")).entitlements).toMatchObject([{ active: true }]);
});
