import * as z from "zod";
import { eraseCustomer } from "../../lib/administration/acts/operations.ts";
import { ERASURE_BLOCKS_MILLISECONDS } from "../../lib/customers/storing/bury-remains.ts";
import type { FactsOrigin } from "../../lib/customers/asking/ask.ts";
import { accountId, customerId } from "../../lib/identifiers.ts";
import { purchaseKeyOfToken } from "../../lib/stores/android-store/purchase-token.ts";
import { bury } from "../../lib/table/customers/burial.ts";
import { operationsOn } from "../../operator/composition.ts";
import { anAcknowledgement, DAY, NOW, proven } from "../../testing/support/purchases.ts";
import { aUseCaseTable } from "../../testing/support/use-case-table.ts";
import { fromApple, queuedOf } from "./refreshing.ts";
import {
  android,
  byClient,
  byCredential,
  createWorld,
  device,
  type GivenFacts,
  keyedHash,
  meetingAWriteAt,
  owned,
  refunded,
  refusal,
  replacing,
  type World,
} from "../../testing/support/world.ts";

const table = await aUseCaseTable();

/** An erased customer of account a, who had an app transaction id and two purchases. */
const erased = async () => {
  const world = createWorld(table);
  const customer = await world.store(
    { identities: [device("1")], purchases: [owned("1"), owned("2")] },
    byCredential("a"),
  );
  await world.erase(customer);
  return { world, customer };
};

const REPLAYS: [string, GivenFacts][] = [
  ["a purchase", { purchases: [owned("1")] }],
  ["the app transaction", { identities: [device("1")] }],
  ["a purchase beside a new one", { purchases: [owned("1"), owned("9")] }],
  ["a replacement of a purchase", { purchases: [replacing(owned("9"), owned("1"))] }],
];

describe("after an erasure, a request without a credential", () => {
  test.each(REPLAYS)("is refused with CUSTOMER_NOT_FOUND: %s", async (_, facts) => {
    const { world } = await erased();
    const before = await world.items();
    for (const claim of [null, byClient("a"), byClient("b")])
      expect(await refusal(world.store(facts, claim))).toBe("CUSTOMER_NOT_FOUND");
    expect(await world.items()).toEqual(before);
  });
});

describe("after an erasure, a link with a credential", () => {
  test.each(REPLAYS)("creates a new customer: %s", async (_, facts) => {
    const { world, customer } = await erased();
    const made = await world.store(facts, byCredential("b"));
    expect(made?.identifier).not.toBe(customer?.identifier);
    expect((await world.read("b")).customerIdentifiers).toEqual([made?.identifier]);
    expect((await world.read("a")).customerIdentifiers).toEqual([]);
  });
  test("restores only the purchases it brings", async () => {
    const { world } = await erased();
    const made = await world.store({ purchases: [owned("1")] }, byCredential("a"));
    expect(made?.holdings.map(({ key }) => key)).toEqual(["1"]);
    expect((await world.read("a")).entitlements).toHaveLength(1);
  });
  test("lets the app store what the link brought, and nothing else", async () => {
    const { world } = await erased();
    const brought = { identities: [device("1")], purchases: [owned("1")] };
    const made = await world.store(brought, byCredential("a"));
    expect(await world.store(brought, byClient("a"))).toEqual(made);
    expect(await refusal(world.store({ purchases: [owned("2")] }, byClient("a")))).toBe("CUSTOMER_NOT_FOUND");
  });
  test("does not join the erased facts", async () => {
    const world = createWorld(table);
    const customer = await world.store({ purchases: [refunded("1")] }, byCredential("a"));
    await world.erase(customer);
    await world.at(NOW + 1).store({ purchases: [owned("1")] }, byCredential("a"));
    expect((await world.read("a")).entitlements).toMatchObject([{ active: true }]);
  });
});

describe("after the link of an erased app transaction id, without credential", () => {
  const linkedAgain = async () => {
    const { world } = await erased();
    const made = await world.store({ identities: [device("1")] }, byCredential("a"));
    return { world, made };
  };
  const named = proven(owned("2"), { identity: device("1") });
  test("stores purchases whose transactions name that id", async () => {
    const { world, made } = await linkedAgain();
    const shown = { identities: [device("1")], purchases: [named] };
    expect(await world.store(shown, byClient("a"))).toMatchObject({ identifier: made?.identifier });
    expect((await world.read("a")).entitlements).toMatchObject([{ active: true }]);
  });
  test("is refused for purchases that do not name that id", async () => {
    const { world } = await linkedAgain();
    const shown = { identities: [device("1")], purchases: [owned("2")] };
    expect(await refusal(world.store(shown, byClient("a")))).toBe("CUSTOMER_NOT_FOUND");
  });
  test("is refused when only a client has linked that id", async () => {
    const world = createWorld(table);
    await world.erase(await world.store({ purchases: [owned("2")] }, byCredential("a")));
    await world.store({ identities: [device("1")], purchases: [owned("3")] }, byClient("a"));
    const shown = { identities: [device("1")], purchases: [named] };
    expect(await refusal(world.store(shown, byClient("a")))).toBe("CUSTOMER_NOT_FOUND");
  });
});

/** Two merged customers whose erasure stopped after its first step: the survivor is ended, nothing is buried. */
const brokenOff = async () => {
  const world = createWorld(table);
  const both = [
    await world.store({ purchases: [owned("1")] }, byCredential("a")),
    await world.store({ purchases: [owned("2")] }, byCredential("a")),
  ];
  await world.beginErasure(await world.store({ purchases: [owned("1"), owned("2")] }));
  return { world, both };
};

describe("an erasure that stopped after its first step", () => {
  test.each([0, 1])("is completed under either identifier of a merged customer (%s)", async (which) => {
    const { world, both } = await brokenOff();
    await world.erase(both[which] ?? null);
    const left = (await world.items()).filter(({ sk }) => !String(sk).startsWith("2"));
    expect(left.filter((item) => !("erasedUntil" in item))).toEqual([]);
    expect(await world.store({ purchases: [owned("1")] }, byCredential("a"))).not.toBeNull();
  });
});

/** Whether the item is a tombstone, which holds nothing of what was erased. */
const isBuried = (item: Record<string, unknown>): boolean =>
  JSON.stringify(Object.keys(item).sort()) === JSON.stringify(["erasedUntil", "expiresAt", "pk", "sk"]);

describe("after an erasure that stopped after its first step,", () => {
  const android1 = android(purchaseKeyOfToken("the-token"));
  const facts = {
    identities: [device("1")],
    purchases: [owned("1"), owned("2"), android1],
    acknowledgementDue: anAcknowledgement(android1),
  };
  const begun = async () => {
    const world = createWorld(table);
    const customer = await world.store(facts, byCredential("a"));
    await world.beginErasure(customer);
    unfinished.push(() => world.erase(customer));
    return { world, customer };
  };
  const unfinished: (() => Promise<unknown>)[] = [];
  afterEach(async () => {
    for (const finish of unfinished.splice(0)) await finish();
  });
  const leftOf = async (world: World) =>
    (await world.items()).filter(({ sk }) => sk === "PURCHASE" || sk === "IDENTITY");

  test.each<[what: string, shown: GivenFacts, buried: number]>([
    ["a purchase", { purchases: [owned("1")] }, 1],
    ["the app transaction", { identities: [device("1")] }, 1],
    ["a replacement of a purchase", { purchases: [replacing(owned("9"), owned("1"))] }, 1],
    ["everything", facts, 4],
  ])("a request without a credential is refused and buries purchases: %s", async (_, shown, buried) => {
    const { world } = await begun();
    for (const claim of [null, byClient("a"), byClient("b")])
      expect(await refusal(world.store(shown, claim))).toBe("CUSTOMER_NOT_FOUND");
    const left = await leftOf(world);
    expect(left).toHaveLength(4);
    expect(left.filter(isBuried)).toHaveLength(buried);
  });
  test("burying a purchase deletes its queued acknowledgement with the purchase token", async () => {
    const { world } = await begun();
    expect(await refusal(world.store({ purchases: [android1] }))).toBe("CUSTOMER_NOT_FOUND");
    const queued = (await table.items()).filter(
      ({ application }) => application === world.application.identifier,
    );
    expect(queued.filter((item) => "purchaseToken" in item)).toEqual([]);
  });
  test("a buried purchase stays blocked without a credential for thirty days", async () => {
    const { world, customer } = await begun();
    const found = NOW + 90 * DAY;
    const show = (moment: number) => world.at(moment).store({ purchases: [owned("1")] });
    expect(await refusal(show(found))).toBe("CUSTOMER_NOT_FOUND");
    expect(await refusal(show(found + ERASURE_BLOCKS_MILLISECONDS - 1))).toBe("CUSTOMER_NOT_FOUND");
    const made = await show(found + ERASURE_BLOCKS_MILLISECONDS);
    expect(made?.identifier).not.toBe(customer?.identifier);
    expect(made?.holdings.map(({ key }) => key)).toEqual(["1"]);
  });
  test("a link with a credential creates a new customer", async () => {
    const world = createWorld(table);
    const customer = await world.store(
      { identities: [device("1")], purchases: [refunded("1")] },
      byCredential("a"),
    );
    await world.beginErasure(customer);
    const made = await world
      .at(NOW + 1)
      .store({ identities: [device("1")], purchases: [owned("1")] }, byCredential("b"));
    expect(made?.identifier).not.toBe(customer?.identifier);
    expect((await world.read("b")).entitlements).toMatchObject([{ active: true }]);
    expect((await world.read("a")).customerIdentifiers).toEqual([]);
  });

  test("what remains is found through the aliases of merged customers", async () => {
    const { world, both } = await brokenOff();
    unfinished.push(() => world.erase(both[0] ?? null));
    expect(await refusal(world.store({ purchases: [owned("2")] }))).toBe("CUSTOMER_NOT_FOUND");
    expect((await leftOf(world)).filter(isBuried)).toMatchObject([{ pk: expect.stringMatching(/#2$/) }]);
    expect(await world.store({ purchases: [owned("2")] }, byCredential("b"))).not.toBeNull();
  });

  test("nothing of an existing customer can be buried", async () => {
    const world = createWorld(table);
    const customer = await world.store(facts, byCredential("a"));
    const before = await world.items();
    const named = customer?.identifier ?? customerId("");
    const remains = await world.operations.findOwnership(world.application.identifier, named);
    expect(await bury(table, world.application.identifier, named, remains, NOW + DAY)).toBe("conflict");
    expect(await world.items()).toEqual(before);
  });
});

describe("an index that is behind the table", () => {
  /** A customer whose last purchase the index shows only after `waits` waits. */
  const behindBy = async (waits: number) => {
    const plain = createWorld(table);
    const customer = await plain.store({ purchases: [owned("1")] }, byCredential("a"));
    await plain.store({ purchases: [owned("1"), owned("2")] }, byCredential("a"));
    const client = table.connect();
    let waited = 0;
    client.middlewareStack.add(
      (next, context) => async (args) => {
        const answer = await next(args);
        if (context["commandName"] !== "QueryCommand" || waited >= waits) return answer;
        const { Items = [] } = z
          .object({ Items: z.array(z.looseObject({ pk: z.string() })) })
          .parse(answer.output);
        Object.assign(answer.output ?? {}, { Items: Items.filter(({ pk }) => !pk.endsWith("#2")) });
        return answer;
      },
      { step: "initialize" },
    );
    const { operations, application } = plain;
    const erase = () =>
      eraseCustomer(
        {
          ...operationsOn({ name: table.name, client }, { ...operations, keyedHash }),
          waitForIndex: () => {
            waited += 1;
            return Promise.resolve();
          },
        },
        application.identifier,
        customer?.identifier ?? customerId(""),
        { by: "ada", caller: null, reason: "r" },
        () => undefined,
      );
    const buried = async () => (await plain.items()).filter(({ sk }) => sk === "PURCHASE").map(isBuried);
    return { world: plain, erase, buried };
  };
  test.each([1, 2])("for at most %s waits hides nothing from an erasure", async (waits) => {
    const { erase, buried } = await behindBy(waits);
    expect(await erase()).toEqual({ purchases: 2, identities: 0, aliases: 0 });
    expect(await buried()).toEqual([true, true]);
  });

  test("for longer hides a purchase; the next request buries it", async () => {
    const { world, erase, buried } = await behindBy(3);
    await erase();
    expect(await refusal(world.store({ purchases: [owned("2")] }))).toBe("CUSTOMER_NOT_FOUND");
    expect(await buried()).toEqual([true, true]);
  });
});

test("a late burial touches nothing that a new customer owns by now", async () => {
  const world = createWorld(table);
  const { identifier: application } = world.application;
  const customer = await world.store({ purchases: [owned("1")] }, byCredential("a"));
  const owned1 = await world.operations.findOwnership(application, customer?.identifier ?? customerId(""));
  await world.erase(customer);
  const again = await world.store({ purchases: [owned("1")] }, byCredential("a"));
  const erased = customer?.identifier ?? customerId("");
  expect(await bury(table, application, erased, owned1, NOW + 1_000_000)).toBe("conflict");
  expect(await world.store({ purchases: [owned("1")] }, byClient("a"))).toMatchObject({
    identifier: again?.identifier,
  });
});

test("an erasure leaves nothing that names the account", async () => {
  const world = createWorld(table);
  const account = "jane.doe@example.com";
  await world.store({ purchases: [owned("1")] }, byClient(account));
  await world.store({ purchases: [owned("1"), owned("2")] }, byClient(account));
  const customer = await world.store({ purchases: [owned("1")] }, byCredential(account));
  await world.erase(customer);
  expect(JSON.stringify(await world.items())).not.toContain(account);
});

test("an account's erasure spares a customer who has left the account meanwhile", async () => {
  const world = createWorld(table);
  const customer = await world.store({ purchases: [owned("1")] }, byCredential("a"));
  await world.unlink(customer, "b");
  const { operations, application } = world;
  const erasure = eraseCustomer(
    operations,
    application.identifier,
    customer?.identifier ?? customerId(""),
    { by: "ada", caller: null, reason: "r" },
    () => undefined,
    { account: accountId("a") },
  );
  expect(await erasure).toBeNull();
  expect((await world.read("b")).entitlements).toMatchObject([{ active: true }]);
});

describe("a link that lifts an erasure", () => {
  const linked = async (
    changes: Partial<FactsOrigin>,
    before = async (_world: World): Promise<unknown> => null,
  ) => {
    const world = createWorld(table);
    await before(world);
    await world.store({ purchases: [owned("1")], origin: fromApple(changes) }, byCredential("a"));
    return queuedOf(world);
  };
  const buried = async (world: World) =>
    world.erase(await world.store({ purchases: [refunded("1")] }, byCredential("a")));

  test("is asked about at once, as the erasure forgot a possible refund", async () => {
    expect(await linked({}, buried)).toEqual({ "1": NOW + 5000 });
    expect((await linked({}))["1"]).toBeGreaterThan(NOW + DAY);
    expect(await linked({ canAsk: false }, buried)).toEqual({});
  });
  test("asks about nothing that was not erased, nor about anything of Xcode's", async () => {
    const world = createWorld(table);
    await buried(world);
    const origin = fromApple();
    await world.store({ purchases: [owned("1"), owned("2")], origin }, byCredential("a"));
    const queued = await queuedOf(world);
    expect(queued["1"]).toBe(NOW + 5000);
    expect(queued["2"]).toBeGreaterThan(NOW + DAY);
    const xcode = {
      environment: "xcode" as const,
      purchases: [{ ...owned("9"), environment: "xcode" as const }],
      origin,
    };
    await world.erase(await world.store(xcode, byCredential("c")));
    await world.store(xcode, byCredential("c"));
    expect(Object.keys(await queuedOf(world)).sort()).toEqual(["1", "2"]);
  });
});

describe("a refused request with an erased purchase or identity", () => {
  /** The app transaction id and a purchase of one person, which two accounts were linked with; the one of the id is erased. */
  const inTwoAccounts = async () => {
    const world = createWorld(table);
    await world.store({ purchases: [owned("1")] }, byCredential("a"));
    const other = await world.store(
      { identities: [device("1")], purchases: [owned("2")] },
      byCredential("b"),
    );
    await world.erase(other);
    return world;
  };

  test.each<[what: string, shown: GivenFacts]>([
    ["its app transaction id was erased", { identities: [device("1")], purchases: [refunded("1")] }],
    ["another purchase beside it was erased", { purchases: [refunded("1"), owned("2")] }],
    [
      "a notification names an erased person",
      { purchases: [proven(refunded("1"), { identity: device("1") })] },
    ],
  ])("stores what the store said of a living owner's purchase: %s", async (what, shown) => {
    const world = await inTwoAccounts();
    const identities = what.startsWith("a notification") ? [device("1")] : (shown.identities ?? []);
    for (const claim of [null, byClient("a")])
      expect(await refusal(world.store({ ...shown, identities }, claim))).toBe("CUSTOMER_NOT_FOUND");
    expect((await world.read("a")).entitlements).toMatchObject([{ status: "revoked" }]);
    expect((await world.read("b")).entitlements).toEqual([]);
    // The erasure stands.
    expect(await refusal(world.store({ purchases: [owned("2")] }))).toBe("CUSTOMER_NOT_FOUND");
  });
});

describe("a refused link", () => {
  test("lifts no erasure, and keeps an owner's facts", async () => {
    const { world } = await erased();
    await world.store({ purchases: [owned("3")] }, byCredential("b"));
    const shown = {
      identities: [device("1")],
      purchases: [owned("1"), refunded("3")],
    };
    expect(await world.submit(shown, byCredential("c"))).toMatchObject({ code: "CUSTOMER_ALREADY_LINKED" });
    expect((await world.read("b")).entitlements).toMatchObject([{ status: "revoked" }]);
    for (const [, facts] of REPLAYS.slice(0, 2))
      expect(await refusal(world.store(facts, byClient("a")))).toBe("CUSTOMER_NOT_FOUND");
  });
});

test("an erasure retried after a conflict leaves no absorbed customer", async () => {
  const world = createWorld(table);
  await world.store({ purchases: [owned("1")] }, byCredential("a"));
  await world.store({ purchases: [owned("2")] }, byCredential("a"));
  const one = await world.store({ purchases: [owned("1"), owned("2")] });
  await meetingAWriteAt(table, 0, () => world.erase(one));
  expect((await world.read("a")).customerIdentifiers).toEqual([]);
});
