import type { TransferPolicy } from "../../../lib/applications/application.ts";
import { linkAndroidStoreCustomer } from "../../../lib/customers/link-android-store-customer.ts";
import { askGoogle } from "../../../lib/customers/asking/ask-google.ts";
import {
  sourceOf,
  storeAndroidStorePurchase,
  type AndroidStorePurchases,
} from "../../../lib/customers/storing/store-android-store-purchase.ts";
import { customerId } from "../../../lib/identifiers.ts";
import { isoTime } from "../../../lib/entitlements/time.ts";
import type { AndroidStore, AndroidStoreAnswer } from "../../../lib/stores/android-store/android-store.ts";
import { purchaseKeyOfToken } from "../../../lib/stores/android-store/purchase-token.ts";
import { readSubscription } from "../../../lib/stores/android-store/subscription.ts";
import {
  aSubscriptionAnswer,
  aSubscriptionLine,
  DAY,
  NOW,
  PACKAGE_NAME,
} from "../../../testing/support/stores/android-store.ts";
import { aCatalog, aProduct } from "../../../testing/support/stores/purchases.ts";
import { aUseCaseTable } from "../../../testing/support/table/use-case-table.ts";
import { createWorld, refusal } from "../../../testing/support/world.ts";
import { anApplication } from "../../../testing/support/application.ts";

const table = await aUseCaseTable();

type Answer = ReturnType<typeof aSubscriptionAnswer> | Exclude<AndroidStoreAnswer, { outcome: "verified" }>;

const GONE: Answer = { outcome: "gone", status: 410, reason: "purchaseTokenNoLongerValid" };
const UNKNOWN: Answer = { outcome: "rejected", status: 404, reason: "purchaseTokenNotFound" };
const BUSY: Answer = { outcome: "unavailable", status: 429, reason: "quotaExceeded", retryAfterSeconds: 7 };

const PENDING_ACKNOWLEDGEMENT = { acknowledgementState: "ACKNOWLEDGEMENT_STATE_PENDING" };
const owned = (productId: string, days: number) => ({
  lineItems: [aSubscriptionLine({ productId, expiryTime: isoTime(NOW + days * DAY) })],
});

/** Linked for a year. */
const X = aSubscriptionAnswer(owned("premium", 365));
/** Replaced X, and was replaced the next day. */
const Y = aSubscriptionAnswer({
  ...owned("maps", 0),
  subscriptionState: "SUBSCRIPTION_STATE_EXPIRED",
  linkedPurchaseToken: "x",
});
const Z = aSubscriptionAnswer({
  startTime: isoTime(NOW + DAY),
  ...PENDING_ACKNOWLEDGEMENT,
  ...owned("tiles", 30),
  linkedPurchaseToken: "y",
});

/** An application whose Android store answers what the test says. */
const aWorld = (
  environments: readonly ("production" | "sandbox")[] = ["production", "sandbox"],
  transfers: TransferPolicy = "refuse",
) => {
  const world = createWorld(table, {
    application: anApplication({
      transfers,
      androidStore: [
        { packageName: PACKAGE_NAME, credential: { secret: "play" }, environments, notifications: null },
      ],
      catalog: aCatalog(
        ["premium", "maps", "tiles"].map((name) =>
          aProduct({ store: "android-store", productIdentifier: name, grants: [name] }),
        ),
      ),
    }),
  });
  const { application, directory } = world;
  const answers = new Map<string, Answer>([["x", X]]);
  const asked: string[] = [];
  const acknowledged: string[] = [];
  let now = NOW;
  const lookUp: AndroidStore["lookUp"] = async ({ packageName }, { purchaseToken, productKind }) => {
    asked.push(purchaseToken);
    expect(productKind).toBe("subscription");
    const answer = answers.get(purchaseToken) ?? UNKNOWN;
    if ("outcome" in answer) return Promise.resolve(answer);
    const question = { packageName, purchaseToken, productIdentifier: null, answeredAt: now };
    const reading = readSubscription(answer, question);
    if (reading === null || reading === "product-not-in-purchase")
      throw new Error("The answer is malformed.");
    return { outcome: "verified", ...reading };
  };
  const purchases: AndroidStorePurchases = {
    ...world.factStore,
    now: () => now,
    androidStore: {
      lookUp,
      acknowledge: (_, { purchaseToken }) => {
        acknowledged.push(purchaseToken);
        return Promise.resolve({ outcome: "acknowledged" });
      },
    },
    asks: { acknowledged: () => Promise.resolve() },
  };
  const [configuration] = application.androidStore;
  if (configuration === undefined) throw new Error("There is no package.");
  const subscription = (purchaseToken: string) => ({ purchaseToken, productKind: "subscription" }) as const;
  const link = async (purchaseToken: string, account = "user-1") => {
    [asked.length, acknowledged.length] = [0, 0];
    return linkAndroidStoreCustomer({ ...purchases, directory }, application.identifier, {
      ...subscription(purchaseToken),
      packageName: PACKAGE_NAME,
      applicationAccountIdentifier: account,
    });
  };
  const tell = async (purchaseToken: string) => {
    [asked.length, acknowledged.length] = [0, 0];
    const answer = await lookUp(configuration, { ...subscription(purchaseToken), productIdentifier: null });
    if (answer.outcome !== "verified") throw new Error("The test's own purchase has no answer.");
    const question = { source: sourceOf(configuration, subscription(purchaseToken)), askedAt: null };
    const context = { ports: purchases, application, configuration };
    return storeAndroidStorePurchase(context, answer, question, null);
  };
  return {
    world,
    answers,
    asked,
    acknowledged,
    link,
    tell,
    pass: (milliseconds: number) => (now += milliseconds),
    refresh: (purchaseToken: string) =>
      askGoogle(purchases, application, {
        acknowledgement: null,
        purchase: {
          store: "android-store",
          environment: "production",
          key: purchaseKeyOfToken(purchaseToken),
        },
        source: sourceOf(configuration, subscription(purchaseToken)),
      }),
    activeOf: async (account = "user-1") =>
      (await world.at(now).read(account)).entitlements
        .filter(({ active }) => active)
        .map(({ identifier }) => identifier),
    /** Erases the customer of a link. */
    erase: ({ customerIdentifier }: { readonly customerIdentifier: string | null }) =>
      world.erase({ identifier: customerId(customerIdentifier ?? ""), holdings: [] }),
  };
};

/** X is linked; of Y, which replaced it, nobody has told; Z replaced Y. */
const aChain = async (changes: Readonly<Record<string, Answer>> = {}, ...of: Parameters<typeof aWorld>) => {
  const chain = aWorld(...of);
  await chain.link("x");
  chain.pass(DAY);
  for (const [token, answer] of Object.entries({ y: Y, z: Z, ...changes })) chain.answers.set(token, answer);
  return chain;
};

describe("a purchase whose predecessor nobody has told of", () => {
  test.each(["link", "tell"] as const)(
    "belongs to the customer of the ended purchase before it: by %s",
    async (how) => {
      const chain = await aChain();
      await chain[how]("z");
      expect(chain.asked).toEqual(["z", "y"]);
      expect(await chain.activeOf()).toEqual(["tiles"]);
      expect(chain.acknowledged).toEqual(["z"]);
    },
  );

  test.each([
    ["does not answer", BUSY],
    ["does not know it", UNKNOWN],
    ["has dropped it", GONE],
  ])("is stored all the same where the store %s", async (_, answer) => {
    for (const how of ["link", "tell"] as const) {
      const chain = await aChain({ y: answer });
      await chain[how]("z");
      expect(chain.asked).toEqual(["z", "y"]);
      expect(await chain.activeOf()).toEqual(how === "link" ? ["premium", "tiles"] : ["premium"]);
    }
  });

  describe("and that goes on because its replacement was never paid", () => {
    const neverPaid = (state: string): Answer => ({
      ...Z,
      subscriptionState: `SUBSCRIPTION_STATE_PENDING_PURCHASE_${state}`,
      ...owned("maps", 300),
      linkedPurchaseToken: "z",
    });
    test.each([
      ["CANCELED", ["n"]],
      ["EXPIRED", ["n"]],
    ])("is its predecessor's customer's, and acknowledged: %s, %j is told", async (state, told) => {
      const chain = await aChain({ n: neverPaid(state) });
      const acknowledged: string[] = [];
      for (const token of told) {
        await chain.tell(token);
        acknowledged.push(...chain.acknowledged);
      }
      expect(new Set(acknowledged)).toEqual(new Set(["z"]));
      expect(await chain.activeOf()).toEqual(["tiles"]);
      await expect(chain.link("z", "user-2")).rejects.toMatchObject({ code: "CUSTOMER_ALREADY_LINKED" });
    });
  });

  test("of an erased customer is refused, except to a credential", async () => {
    const chain = aWorld();
    await chain.erase(await chain.link("x"));
    chain.pass(DAY);
    chain.answers.set("y", Y).set("z", Z);
    await expect(chain.tell("z")).rejects.toMatchObject({ code: "CUSTOMER_NOT_FOUND" });
    await chain.link("z");
    expect(await chain.activeOf()).toEqual(["tiles"]);
  });

  test("is refused to another account, and stays its customer's", async () => {
    const chain = await aChain();
    await expect(chain.link("z", "user-2")).rejects.toMatchObject({ code: "CUSTOMER_ALREADY_LINKED" });
    expect(await chain.activeOf()).toEqual(["tiles"]);
    expect(chain.acknowledged).toEqual(["z"]);
  });
});

describe("under when_inactive, a purchase of another account", () => {
  const over = { ...X, subscriptionState: "SUBSCRIPTION_STATE_EXPIRED" };
  const linkedBy = async (answer: Answer) => {
    const chain = aWorld(undefined, "when_inactive");
    await chain.link("x");
    chain.pass(DAY);
    chain.answers.set("x", answer);
    return chain;
  };
  const moved = (chain: ReturnType<typeof aWorld>, token = "x") => refusal(chain.link(token, "user-2"));

  test("is moved where it is over", async () => {
    expect(await moved(await linkedBy(over))).toBe("accepted");
  });

  test("is not moved by one without a paid item in Play", async () => {
    const unpaid = aSubscriptionAnswer({
      lineItems: [aSubscriptionLine({ productId: "tiles", latestSuccessfulOrderId: null })],
      linkedPurchaseToken: "x",
    });
    const chain = await linkedBy(over);
    await chain.tell("x");
    chain.answers.set("y", unpaid);
    expect(await moved(chain, "y")).toBe("CUSTOMER_ALREADY_LINKED");
  });
});
