import * as z from "zod";
import { eraseCustomer } from "../../../lib/administration/acts/operations.ts";
import { ERASURE_BLOCKS_MILLISECONDS } from "../../../lib/customers/storing/fact-store.ts";
import { customerId } from "../../../lib/identifiers.ts";
import { purchaseKeyOfToken } from "../../../lib/stores/android-store/reading.ts";
import { bury } from "../../../lib/table/customers/owned-items.ts";
import { operationsOn } from "../../../operator/session.ts";
import { anAcknowledgement, DAY, NOW } from "../../../testing/support/stores/purchases.ts";
import { aUseCaseTable } from "../../../testing/support/table/use-case-table.ts";
import {
  android,
  byClient,
  byCredential,
  createWorld,
  device,
  type GivenFacts,
  keyedHash,
  owned,
  refusal,
  replacing,
  type World,
} from "../../../testing/support/world.ts";

const table = await aUseCaseTable();

test.each([0, 1])(
  "an erasure is completed under either identifier of a merged customer (%s)",
  async (which) => {
    const world = createWorld(table);
    const both = [
      await world.store({ purchases: [owned("1")] }, byCredential("a")),
      await world.store({ purchases: [owned("2")] }, byCredential("a")),
    ];
    await world.beginErasure(await world.store({ purchases: [owned("1"), owned("2")] }));
    await world.erase(both[which] ?? null);
    const left = (await world.items()).filter(({ sk }) => !String(sk).startsWith("2"));
    expect(left.filter((item) => !("erasedUntil" in item))).toEqual([]);
    expect(await world.store({ purchases: [owned("1")] }, byCredential("a"))).not.toBeNull();
  },
);

/** Whether the item is a tombstone, which holds nothing of what was erased. */
const isBuried = (item: Record<string, unknown>): boolean =>
  JSON.stringify(Object.keys(item).sort()) === JSON.stringify(["erasedUntil", "pk", "sk", "timeToLive"]);

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
    const waitForIndex = () => {
      waited += 1;
      return Promise.resolve();
    };
    const acting = operationsOn({ name: table.name, client }, { ...operations, keyedHash });
    const named = customer?.identifier ?? customerId("");
    const by = { by: "ada", caller: null, reason: "r" };
    const erase = () =>
      eraseCustomer({ ...acting, waitForIndex }, application.identifier, named, by, () => undefined);
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
