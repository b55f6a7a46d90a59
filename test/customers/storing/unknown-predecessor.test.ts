import type { Application } from "../../../lib/applications/application.ts";
import { isoTime } from "../../../lib/entitlements/time.ts";
import { customerId } from "../../../lib/identifiers.ts";
import type { AndroidStoreAnswer } from "../../../lib/stores/android-store/android-store.ts";
import {
  aSubscriptionAnswer,
  aSubscriptionLine,
  DAY,
  NOW,
  PACKAGE_NAME,
} from "../../../testing/support/stores/android-store.ts";
import { aUseCaseTable } from "../../../testing/support/table/use-case-table.ts";
import { refusal } from "../../../testing/support/world.ts";
import { askedGoogle } from "../asking/asked-google.ts";

const table = await aUseCaseTable();

type Answer = ReturnType<typeof aSubscriptionAnswer> | Exclude<AndroidStoreAnswer, { outcome: "verified" }>;

const GONE: Answer = { outcome: "gone", status: 410, reason: "purchaseTokenNoLongerValid" };
const UNKNOWN: Answer = { outcome: "rejected", status: 404, reason: "purchaseTokenNotFound" };
const BUSY: Answer = { outcome: "unavailable", status: 429, reason: "quotaExceeded", retryAt: NOW + 7_000 };

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

let close = (): Promise<void> => Promise.resolve();
afterEach(() => close());

/** An application whose Android store answers what the test says; X is linked. */
const aLink = async (changes: Partial<Application> = {}) => {
  const failures = new Map<string, AndroidStoreAnswer>();
  const asked: string[] = [];
  const acknowledged: string[] = [];
  await close();
  const google = await askedGoogle(
    table,
    ({ lookUp }) => ({
      lookUp: async (of, question) => {
        asked.push(question.purchaseToken);
        return failures.get(question.purchaseToken) ?? lookUp(of, question);
      },
      acknowledge: (_, { purchaseToken }) => {
        acknowledged.push(purchaseToken);
        return Promise.resolve({ outcome: "acknowledged" });
      },
    }),
    changes,
  );
  close = google.close;
  const { clock, sandbox, world } = google;
  const fresh = () => ([asked.length, acknowledged.length] = [0, 0]);
  const answer = (token: string, answered: Answer) =>
    void ("outcome" in answered
      ? failures.set(token, answered)
      : sandbox.put(token, { packageName: PACKAGE_NAME, productKind: "subscription", answer: answered }));
  const link = (token: string, account?: string) => {
    fresh();
    return google.link(token, "subscription", account);
  };
  answer("x", X);
  const { customerIdentifier } = await link("x");
  return {
    asked,
    acknowledged,
    answer,
    link,
    tell: (token: string) => {
      fresh();
      return google.hear(token);
    },
    pass: (milliseconds: number) => (clock.now += milliseconds),
    activeOf: async () =>
      (await world.at(clock.now).read("user-1")).entitlements
        .filter(({ active }) => active)
        .map(({ identifier }) => identifier),
    erase: () => world.erase({ identifier: customerId(customerIdentifier ?? "") }),
  };
};

/** X is linked; of Y, which replaced it, nobody has told; Z replaced Y. */
const aChain = async (changes: Readonly<Record<string, Answer>> = {}) => {
  const chain = await aLink();
  chain.pass(DAY);
  for (const [token, answer] of Object.entries({ y: Y, z: Z, ...changes })) chain.answer(token, answer);
  return chain;
};

describe("a purchase whose predecessor nobody has told of", () => {
  test.each(["link", "tell"] as const)("belongs to the ended one's customer: by %s", async (how) => {
    const chain = await aChain();
    await chain[how]("z");
    expect(chain.asked).toEqual(["z", "y"]);
    expect(await chain.activeOf()).toEqual(["tiles"]);
    expect(chain.acknowledged).toEqual(["z"]);
  });

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

  test.each(["CANCELED", "EXPIRED"])(
    "whose replacement was never paid is acknowledged: %s",
    async (state) => {
      const subscriptionState = `SUBSCRIPTION_STATE_PENDING_PURCHASE_${state}`;
      const n = { ...Z, subscriptionState, ...owned("maps", 300), linkedPurchaseToken: "z" };
      const chain = await aChain({ n });
      await chain.tell("n");
      expect(new Set(chain.acknowledged)).toEqual(new Set(["z"]));
      expect(await chain.activeOf()).toEqual(["tiles"]);
      expect(await refusal(chain.link("z", "user-2"))).toBe("CUSTOMER_ALREADY_LINKED");
    },
  );

  test("of an erased customer is refused, except to a credential", async () => {
    const chain = await aChain();
    await chain.erase();
    expect(await refusal(chain.tell("z"))).toBe("CUSTOMER_NOT_FOUND");
    await chain.link("z");
    expect(await chain.activeOf()).toEqual(["tiles"]);
  });

  test("is refused to another account, and stays its customer's", async () => {
    const chain = await aChain();
    expect(await refusal(chain.link("z", "user-2"))).toBe("CUSTOMER_ALREADY_LINKED");
    expect(await chain.activeOf()).toEqual(["tiles"]);
    expect(chain.acknowledged).toEqual(["z"]);
  });
});

describe("under when_inactive, a purchase of another account", () => {
  const ended = async () => {
    const chain = await aLink({ transfers: "when_inactive" });
    chain.pass(DAY);
    chain.answer("x", { ...X, subscriptionState: "SUBSCRIPTION_STATE_EXPIRED" });
    return chain;
  };

  test("is moved where it is over", async () => {
    const chain = await ended();
    expect(await refusal(chain.link("x", "user-2"))).toBe("accepted");
  });

  test("is not moved by one without a paid item in Play", async () => {
    const unpaid = aSubscriptionAnswer({
      lineItems: [aSubscriptionLine({ productId: "tiles", latestSuccessfulOrderId: null })],
      linkedPurchaseToken: "x",
    });
    const chain = await ended();
    await chain.tell("x");
    chain.answer("y", unpaid);
    expect(await refusal(chain.link("y", "user-2"))).toBe("CUSTOMER_ALREADY_LINKED");
  });
});
