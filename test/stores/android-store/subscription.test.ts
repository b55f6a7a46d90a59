import { joinPurchases } from "../../../lib/entitlements/join.ts";
import { verifiedAs } from "../../../lib/entitlements/purchase.ts";
import type { androidpublisher_v3 } from "googleapis/build/src/apis/androidpublisher/v3.js";
import { isoTime } from "../../../lib/entitlements/time.ts";
import type { AndroidStoreAnswer } from "../../../lib/stores/android-store/android-store.ts";
import { purchaseKeyOfToken } from "../../../lib/stores/android-store/purchase-token.ts";
import {
  aSubscriptionAnswer,
  aSubscriptionLine,
  DAY,
  NOW,
  PACKAGE_NAME,
  startAndroidStore,
  type LocalAndroidStore,
} from "../../../testing/support/android-store.ts";

let local: LocalAndroidStore;
beforeAll(async () => {
  local = await startAndroidStore();
});
afterAll(() => local.close());

const TOKEN = "subscription-token.AO-J1O";

const lookUp = (
  answer: androidpublisher_v3.Schema$SubscriptionPurchaseV2,
  productIdentifier: string | null = null,
): Promise<AndroidStoreAnswer> => {
  local.sandbox.put(TOKEN, { packageName: PACKAGE_NAME, productKind: "subscription", answer });
  const request = { purchaseToken: TOKEN, productKind: "subscription", productIdentifier } as const;
  return local.store().lookUp(local.androidPackage, request);
};

const verified = async (...args: Parameters<typeof lookUp>) => {
  const answer = await lookUp(...args);
  if (answer.outcome !== "verified") throw new Error(`expected verified, got ${JSON.stringify(answer)}`);
  return answer;
};

test("a subscription is keyed by its token's SHA-256, with its product's line", async () => {
  expect(await verified(aSubscriptionAnswer())).toStrictEqual({
    outcome: "verified",
    purchase: {
      store: "android-store",
      environment: "production",
      key: purchaseKeyOfToken(TOKEN),
      lines: [
        {
          transactionIdentifier: null,
          event: null,
          productIdentifier: "premium",
          basePlanIdentifier: "monthly",
          purchaseOptionIdentifier: null,
          nature: "auto_renewable",
          standing: "entitled",
          startsAt: NOW - DAY,
          purchasedAt: null,
          endsAt: NOW + 30 * DAY,
          revokedAt: null,
          revokedSince: null,
          quantity: 1,
          refundedQuantity: 0,
          rented: false,
          willRenew: true,
          verifiedAt: NOW,
        },
      ],
      selectedProducts: null,
      replacedBy: null,
      replacedAt: null,
      renewal: null,
      verifiedAt: NOW,
    },
    replaces: null,
    samePerson: [],
    predecessors: [],
    isPending: false,
    isClosed: false,
    goesOn: null,
    acknowledgement: null,
  });
});

test.each([
  ["ACTIVE", "entitled", true],
  ["IN_GRACE_PERIOD", "grace_period", true],
  ["CANCELED", "entitled", false],
  ["ON_HOLD", "billing_retry", true],
  ["PAUSED", "paused", true],
  ["EXPIRED", "expired", false],
] as const)(
  "%s has the standing %s until the line's expiryTime; it renews: %s",
  async (state, standing, willRenew) => {
    const answer = aSubscriptionAnswer({ subscriptionState: `SUBSCRIPTION_STATE_${state}` });
    const { purchase } = await verified(answer);
    expect(purchase.lines).toMatchObject([{ standing, endsAt: NOW + 30 * DAY, willRenew }]);
  },
);

test.each(["PENDING", "PENDING_PURCHASE_CANCELED", "PENDING_PURCHASE_EXPIRED"])(
  "%s is verified and grants, replaces and acknowledges nothing",
  async (state) => {
    const answer = await verified(
      aSubscriptionAnswer({
        subscriptionState: `SUBSCRIPTION_STATE_${state}`,
        acknowledgementState: "ACKNOWLEDGEMENT_STATE_PENDING",
        linkedPurchaseToken: "older-token",
        outOfAppPurchaseContext: { expiredPurchaseToken: "expired-token" },
        lineItems: [{ productId: "premium", autoRenewingPlan: {} }],
      }),
    );
    expect(answer).toMatchObject({
      purchase: { lines: [] },
      replaces: null,
      samePerson: [],
      acknowledgement: null,
    });
  },
);

test("every product of a purchase is a line with its own end", async () => {
  const { purchase } = await verified(
    aSubscriptionAnswer({
      lineItems: [
        aSubscriptionLine({ productId: "premium", expiryTime: isoTime(NOW + 30 * DAY) }),
        aSubscriptionLine({ productId: "maps", expiryTime: isoTime(NOW + 7 * DAY) }),
      ],
    }),
  );
  expect(purchase.lines).toMatchObject([
    { productIdentifier: "maps", endsAt: NOW + 7 * DAY },
    { productIdentifier: "premium", endsAt: NOW + 30 * DAY },
  ]);
});

test("lines are sorted, whatever the store's order", async () => {
  const lineItems = [aSubscriptionLine({ productId: "premium" }), aSubscriptionLine({ productId: "maps" })];
  const one = await verified(aSubscriptionAnswer({ lineItems }));
  const other = await verified(aSubscriptionAnswer({ lineItems: lineItems.toReversed() }));
  expect(one.purchase).toStrictEqual(other.purchase);
});

test("a deferred line has no successful order and is not owned yet", async () => {
  const { latestSuccessfulOrderId: _, expiryTime: __, ...deferred } = aSubscriptionLine({ productId: "pro" });
  const { purchase } = await verified(aSubscriptionAnswer({ lineItems: [aSubscriptionLine(), deferred] }));
  expect(purchase.lines.map(({ productIdentifier }) => productIdentifier)).toStrictEqual(["premium"]);
});

test("an expired purchase without named orders has the lines with an end", async () => {
  const { latestSuccessfulOrderId: _, ...refunded } = aSubscriptionLine({ expiryTime: isoTime(NOW - 1) });
  const { expiryTime: __, ...incoming } = refunded;
  const lineItems = [refunded, { ...incoming, productId: "pro" }];
  const expired = aSubscriptionAnswer({ subscriptionState: "SUBSCRIPTION_STATE_EXPIRED", lineItems });
  const { purchase } = await verified(expired);
  expect(purchase.lines).toMatchObject([
    { productIdentifier: "premium", standing: "expired", endsAt: NOW - 1 },
  ]);

  // It ends no other purchase.
  const linked = await verified({ ...expired, linkedPurchaseToken: "older" });
  expect(linked).toMatchObject({ replaces: null, predecessors: ["older"] });

  const paid = (await verified(aSubscriptionAnswer({ lineItems: [aSubscriptionLine()] }))).purchase;
  const later = verifiedAs(purchase, NOW + 1);
  expect(joinPurchases(paid, later).lines).toMatchObject([{ standing: "expired" }]);
});

test("an active purchase without named orders has the lines with an end", async () => {
  const { latestSuccessfulOrderId: _, ...promoted } = aSubscriptionLine();
  const { expiryTime: __, ...incoming } = promoted;
  const lineItems = [promoted, { ...incoming, productId: "pro" }];
  for (const state of ["ACTIVE", "CANCELED", "IN_GRACE_PERIOD"]) {
    const subscriptionState = `SUBSCRIPTION_STATE_${state}`;
    const answer = aSubscriptionAnswer({ ...UNACKNOWLEDGED, subscriptionState, lineItems });
    const reading = await verified(answer);
    expect(reading.purchase.lines.map(({ productIdentifier }) => productIdentifier)).toEqual(["premium"]);
    expect(reading).toMatchObject({ isPending: false, acknowledgement: { productIdentifier: "premium" } });
  }
  const pending = { subscriptionState: "SUBSCRIPTION_STATE_PENDING", lineItems };
  expect(await verified(aSubscriptionAnswer(pending))).toMatchObject({ isPending: true });
});

test.each([null, "ACKNOWLEDGEMENT_STATE_UNSPECIFIED", "ACKNOWLEDGEMENT_STATE_PENDING"])(
  "an answer that does not say acknowledged has an acknowledgement due: %s",
  async (acknowledgementState) => {
    const { acknowledgementState: _, ...rest } = aSubscriptionAnswer();
    const answer = acknowledgementState === null ? rest : { ...rest, acknowledgementState };
    expect((await verified(answer)).acknowledgement).not.toBeNull();
  },
);

test("an expired purchase without any line's end is over too", async () => {
  const [{ productId = "" } = {}] = aSubscriptionAnswer().lineItems ?? [];
  const answer = aSubscriptionAnswer({
    subscriptionState: "SUBSCRIPTION_STATE_EXPIRED",
    lineItems: [{ productId }],
  });
  const { purchase } = await verified(answer);
  expect(purchase.lines).toMatchObject([{ productIdentifier: productId, standing: "expired" }]);
  // Each answer gives the same end: its steps must not count from the answer.
  expect(purchase.lines[0]?.endsAt).toBe(purchase.lines[0]?.startsAt);
  const paid = (await verified(aSubscriptionAnswer())).purchase;
  expect(joinPurchases(paid, verifiedAs(purchase, NOW + 1)).lines).toMatchObject([{ standing: "expired" }]);
  const { startTime: _, ...undated } = answer;
  expect((await verified(undated)).purchase.lines).toMatchObject([{ standing: "expired", endsAt: 0 }]);
});

describe("a deferred change", () => {
  const end = isoTime(NOW + 7 * DAY);
  const { latestSuccessfulOrderId: _, expiryTime: __, ...incoming } = aSubscriptionLine({ productId: "pro" });
  const leaving = (mark: object, line = {}) => aSubscriptionLine({ expiryTime: end, ...mark, ...line });
  const linesOf = async (...lineItems: androidpublisher_v3.Schema$SubscriptionPurchaseLineItem[]) =>
    (await verified(aSubscriptionAnswer({ lineItems }))).purchase.lines.map(
      ({ productIdentifier, endsAt, willRenew, standing }) => [
        productIdentifier,
        endsAt,
        willRenew,
        standing,
      ],
    );
  const stays = ["premium", NOW + 7 * DAY, false, "entitled"];
  const replaced = { deferredItemReplacement: { productId: "pro" } };
  const unpaid = { autoRenewingPlan: { autoRenewEnabled: false } };

  test("of a removal: the line stays until its end, without renewal", async () => {
    expect(await linesOf(leaving({ deferredItemRemoval: {} }), incoming)).toStrictEqual([stays]);
  });
  test.each([{}, unpaid, { latestSuccessfulOrderId: null }])(
    "of a replacement: the line stays, and is paid as another: %j",
    async (line) => {
      expect(await linesOf(leaving(replaced, line), incoming)).toStrictEqual([
        ["premium", NOW + 7 * DAY, true, "entitled"],
      ]);
    },
  );
  test("of a replacement in the past is over beside a running line", async () => {
    const past = leaving({ ...replaced, expiryTime: isoTime(NOW - DAY) });
    const current = aSubscriptionLine({ productId: "pro" });
    expect(await linesOf(past, current)).toStrictEqual([
      ["premium", NOW - DAY, false, "expired"],
      ["pro", NOW + 30 * DAY, true, "entitled"],
    ]);
  });
  test("of a replacement in the past, all unpaid, has its silent day", async () => {
    const past = leaving({ ...replaced, expiryTime: isoTime(NOW - DAY) });
    expect(await linesOf(past, incoming)).toStrictEqual([["premium", NOW - DAY, true, "entitled"]]);
  });
  test("of a replacement in the past waits for the replacement's payment", async () => {
    const past = leaving({ ...replaced, expiryTime: isoTime(NOW - DAY) });
    const addOn = aSubscriptionLine({ productId: "maps", expiryTime: isoTime(NOW + 20 * DAY) });
    const addOnLine = ["maps", NOW + 20 * DAY, true, "entitled"];
    expect(await linesOf(past, incoming, addOn)).toEqual(
      expect.arrayContaining([["premium", NOW - DAY, true, "entitled"], addOnLine]),
    );
    const lapsed = aSubscriptionLine({ productId: "pro", expiryTime: isoTime(NOW) });
    expect(await linesOf(past, lapsed, addOn)).toContainEqual(["premium", NOW - DAY, true, "entitled"]);
    const paid = aSubscriptionLine({ productId: "pro", expiryTime: isoTime(NOW + 1) });
    expect(await linesOf(past, paid, addOn)).toContainEqual(["premium", NOW - DAY, false, "expired"]);
    // Without its replacement in the answer, nothing else is to come.
    expect(await linesOf(past, addOn)).toContainEqual(["premium", NOW - DAY, false, "expired"]);
  });
  test("of a replacement by the same product's other plan is distinct", async () => {
    const past = leaving({
      deferredItemReplacement: { productId: "premium" },
      expiryTime: isoTime(NOW - DAY),
    });
    const yearly = aSubscriptionLine({ productId: "premium", expiryTime: isoTime(NOW + 300 * DAY) });
    expect(await linesOf(past, yearly)).toStrictEqual([
      ["premium", NOW - DAY, false, "expired"],
      ["premium", NOW + 300 * DAY, true, "entitled"],
    ]);
  });
  test("does not stop another line from renewing", async () => {
    const addOn = aSubscriptionLine({ productId: "maps" });
    expect(await linesOf(leaving({ deferredItemRemoval: {} }), addOn)).toStrictEqual([
      stays,
      ["maps", NOW + 30 * DAY, true, "entitled"],
    ]);
  });
  test("replaces the older purchase at once", async () => {
    const { replaces } = await verified(
      aSubscriptionAnswer({
        linkedPurchaseToken: "older-token",
        lineItems: [leaving({ deferredItemReplacement: { productId: "pro" } }), incoming],
      }),
    );
    expect(replaces).toBe(purchaseKeyOfToken("older-token"));
  });
});

describe("a line that ends before another", () => {
  const line = (productId: string, days: number, more = {}) =>
    aSubscriptionLine({ productId, expiryTime: isoTime(NOW + days * DAY), ...more });
  const ends = { autoRenewingPlan: { autoRenewEnabled: false } };
  const removed = { deferredItemRemoval: {} };
  test.each([
    ["and does not renew is over at its end", 0, 30, ends, "expired", false],
    ["and does not renew is over after its end", -1, 30, ends, "expired", false],
    ["and was to be removed is over", -1, 30, removed, "expired", false],
    ["and renews is charged by itself, like an add-on after its trial", -1, 30, {}, "entitled", true],
    ["is not over before its end", 1, 30, ends, "entitled", false],
    [
      "is not over when all lines have ended: the store is retrying the payment",
      -1,
      -1,
      {},
      "entitled",
      true,
    ],
    [
      "and does not renew is over when the other line, which renews, ends with the answer",
      -1,
      0,
      ends,
      "expired",
      false,
    ],
  ])("%s", async (_, lagging, other, plan, standing, willRenew) => {
    const { purchase } = await verified(
      aSubscriptionAnswer({ lineItems: [line("maps", lagging, plan), line("premium", other)] }),
    );
    expect(purchase.lines.find(({ productIdentifier }) => productIdentifier === "maps")).toMatchObject({
      standing,
      willRenew,
    });
  });
  test.each([
    ["IN_GRACE_PERIOD", "grace_period"],
    ["ON_HOLD", "billing_retry"],
  ])("and renews has the standing of its purchase: %s", async (state, standing) => {
    const { purchase } = await verified(
      aSubscriptionAnswer({
        subscriptionState: `SUBSCRIPTION_STATE_${state}`,
        lineItems: [line("maps", -1), line("premium", 30)],
      }),
    );
    expect(purchase.lines).toMatchObject([{ standing }, { standing }]);
  });
  test.each([
    ["was cancelled by itself", ends],
    ["was to be removed", removed],
  ])("and %s is over, not on hold, where the others are", async (_, plan) => {
    const { purchase } = await verified(
      aSubscriptionAnswer({
        subscriptionState: "SUBSCRIPTION_STATE_ON_HOLD",
        lineItems: [line("maps", 0, plan), line("premium", 0)],
      }),
    );
    expect(purchase.lines).toMatchObject([
      { productIdentifier: "maps", standing: "expired", willRenew: false },
      { productIdentifier: "premium", standing: "billing_retry", willRenew: true },
    ]);
  });
  describe("in a grace period", () => {
    const endsOf = async (...lineItems: ReturnType<typeof line>[]): Promise<unknown> => {
      const { purchase } = await verified(
        aSubscriptionAnswer({ subscriptionState: "SUBSCRIPTION_STATE_IN_GRACE_PERIOD", lineItems }),
      );
      return Object.fromEntries(
        purchase.lines.map(({ productIdentifier, endsAt }) => [
          productIdentifier,
          ((endsAt ?? 0) - NOW) / DAY,
        ]),
      );
    };
    test("and renews keeps access to the period's end past its own date", async () => {
      expect(await endsOf(line("maps", -1), line("premium", 0.5))).toEqual({ maps: 0.5, premium: 0.5 });
    });
    test("keeps its own date while that is ahead", async () => {
      expect(await endsOf(line("maps", 2), line("premium", 14))).toEqual({ maps: 2, premium: 14 });
    });
    test("ends at the first date ahead, not at a later one", async () => {
      const lines = [line("maps", -1), line("premium", 14), line("tiles", 0.25)];
      expect(await endsOf(...lines)).toEqual({ maps: 0.25, premium: 14, tiles: 0.25 });
    });
    test("lends a day at most: then Google's answer is the same", async () => {
      expect(await endsOf(line("maps", 0), line("premium", 25))).toEqual({ maps: 1, premium: 25 });
    });
    test("ends at the last date if all have passed", async () => {
      expect(await endsOf(line("maps", -3), line("premium", -1))).toEqual({ maps: -1, premium: -1 });
    });
    test.each([1, 3, 6])("that waits for payment keeps access day by day, %i days on", async (days) => {
      const { latestSuccessfulOrderId: _, ...unpaid } = line("pro", 2);
      const { expiryTime: __, ...undated } = unpaid;
      const replaced = { ...ends, deferredItemReplacement: { productId: "pro" } };
      expect(await endsOf(line("premium", -days, replaced), undated)).toEqual({ premium: 1 });
      expect(await endsOf(line("premium", -days, replaced), unpaid)).toEqual({ premium: 1 });
      const soon = { ...unpaid, expiryTime: isoTime(NOW + DAY / 4) };
      expect(await endsOf(line("premium", -days, replaced), soon)).toEqual({ premium: 0.25 });
    });
    test("and does not renew ends at its own date", async () => {
      const lines = [line("maps", -1, ends), line("premium", 14), line("tiles", 2, ends)];
      expect(await endsOf(...lines)).toEqual({ maps: -1, premium: 14, tiles: 2 });
    });
    test("does not end at the date of one that does not renew", async () => {
      const lines = [line("maps", -1), line("premium", 0.5), line("tiles", 0.25, ends)];
      expect(await endsOf(...lines)).toEqual({ maps: 0.5, premium: 0.5, tiles: 0.25 });
    });
  });
  test("is not the one that the purchase is acknowledged by", async () => {
    const { acknowledgement } = await verified(
      aSubscriptionAnswer({
        acknowledgementState: "ACKNOWLEDGEMENT_STATE_PENDING",
        lineItems: [line("maps", -1, ends), line("premium", 30)],
      }),
    );
    expect(acknowledgement).toMatchObject({ productIdentifier: "premium" });
  });
  test("is not over when the other line is not owned yet", async () => {
    const { latestSuccessfulOrderId: _, ...notOwned } = line("premium", 30);
    const { purchase } = await verified(aSubscriptionAnswer({ lineItems: [line("maps", -1), notOwned] }));
    expect(purchase.lines).toMatchObject([{ productIdentifier: "maps", standing: "entitled" }]);
  });
});

test("a prepaid plan ends at its expiryTime and does not renew", async () => {
  const { autoRenewingPlan: _, ...line } = aSubscriptionLine();
  const { purchase } = await verified(
    aSubscriptionAnswer({ lineItems: [{ ...line, prepaidPlan: { allowExtendAfterTime: isoTime(NOW) } }] }),
  );
  expect(purchase.lines).toMatchObject([{ endsAt: NOW + 30 * DAY, willRenew: false }]);
});

test("a plan that the store does not call renewing does not renew", async () => {
  const { purchase } = await verified(
    aSubscriptionAnswer({ lineItems: [aSubscriptionLine({ autoRenewingPlan: {} })] }),
  );
  expect(purchase.lines).toMatchObject([{ willRenew: false }]);
});

test("a line without an offer has no base plan", async () => {
  const { offerDetails: _, ...line } = aSubscriptionLine();
  const { startTime: __, ...answer } = aSubscriptionAnswer({ lineItems: [line] });
  const { purchase } = await verified(answer);
  expect(purchase.lines).toMatchObject([{ basePlanIdentifier: null, startsAt: null }]);
});

test.each([
  ["2026-02-14T12:00:00Z", Date.UTC(2026, 1, 14, 12)],
  ["2026-02-14T12:00:00.123456789Z", Date.UTC(2026, 1, 14, 12, 0, 0, 123)],
  ["2026-02-14T13:30:00.5+01:30", Date.UTC(2026, 1, 14, 12, 0, 0, 500)],
])("times are read as RFC 3339: %s", async (expiryTime, endsAt) => {
  const { purchase } = await verified(
    aSubscriptionAnswer({ lineItems: [aSubscriptionLine({ expiryTime })] }),
  );
  expect(purchase.lines).toMatchObject([{ endsAt }]);
});

test("a test purchase has the sandbox environment", async () => {
  const { purchase } = await verified(aSubscriptionAnswer({ testPurchase: {} }));
  expect(purchase.environment).toBe("sandbox");
});

test.each(["hash-of-account", "", "h".repeat(257), "\ud800"])(
  "the obfuscated account id is the client's, and not read: %j",
  async (obfuscatedExternalAccountId) => {
    const answer = aSubscriptionAnswer({ externalAccountIdentifiers: { obfuscatedExternalAccountId } });
    expect(await verified(answer)).toStrictEqual(await verified(aSubscriptionAnswer()));
  },
);

test("linkedPurchaseToken names the purchase that this one replaces", async () => {
  const { replaces, samePerson } = await verified(
    aSubscriptionAnswer({ linkedPurchaseToken: "older-token" }),
  );
  expect(replaces).toBe(purchaseKeyOfToken("older-token"));
  expect(samePerson).toStrictEqual([]);
});

test("a purchase without an owned line only names the person's other purchase", async () => {
  const { replaces, samePerson } = await verified(
    aSubscriptionAnswer({
      linkedPurchaseToken: "older-token",
      lineItems: [{ productId: "pro", autoRenewingPlan: {} }],
    }),
  );
  expect(replaces).toBeNull();
  expect(samePerson).toStrictEqual([purchaseKeyOfToken("older-token")]);
});

test("a purchase does not replace itself", async () => {
  const { replaces } = await verified(aSubscriptionAnswer({ linkedPurchaseToken: TOKEN }));
  expect(replaces).toBeNull();
});

test("a resubscription outside the app names the expired purchase, replacing nothing", async () => {
  const { replaces, samePerson } = await verified(
    aSubscriptionAnswer({ outOfAppPurchaseContext: { expiredPurchaseToken: "expired-token" } }),
  );
  expect(replaces).toBeNull();
  expect(samePerson).toStrictEqual([purchaseKeyOfToken("expired-token")]);
});

test("productIdentifier does not select among the lines of a subscription", async () => {
  const { purchase } = await verified(aSubscriptionAnswer(), "something-else");
  expect(purchase).toMatchObject({ selectedProducts: null, lines: [{ productIdentifier: "premium" }] });
});

const UNACKNOWLEDGED = { acknowledgementState: "ACKNOWLEDGEMENT_STATE_PENDING" };
const MINUTE = 60_000;

/** A prepaid line with `days` days left. */
const prepaid = (days: number, productId = "premium") => {
  const { autoRenewingPlan: _, ...line } = aSubscriptionLine({
    productId,
    expiryTime: isoTime(NOW + days * DAY),
  });
  return { ...line, prepaidPlan: {} };
};

test.each(["ACTIVE", "IN_GRACE_PERIOD", "CANCELED", "PAUSED", "ON_HOLD"])(
  "%s is paid: an unacknowledged purchase needs acknowledgement",
  async (state) => {
    const { latestSuccessfulOrderId: _, ...deferred } = aSubscriptionLine({ productId: "pro" });
    const { acknowledgement } = await verified(
      aSubscriptionAnswer({
        ...UNACKNOWLEDGED,
        subscriptionState: `SUBSCRIPTION_STATE_${state}`,
        lineItems: [deferred, aSubscriptionLine()],
      }),
    );
    expect(acknowledgement).toStrictEqual({
      purchase: { store: "android-store", environment: "production", key: purchaseKeyOfToken(TOKEN) },
      packageName: PACKAGE_NAME,
      purchaseToken: TOKEN,
      productKind: "subscription",
      productIdentifier: "premium",
      deadline: NOW + 2 * DAY,
    });
  },
);

test.each<[string, androidpublisher_v3.Schema$SubscriptionPurchaseV2, number]>([
  ["three days from its start", {}, NOW + 2 * DAY],
  ["a licence tester's three minutes", { testPurchase: {}, startTime: isoTime(NOW) }, NOW + 3 * MINUTE],
  ["three days from the answer when it has no start", { startTime: null }, NOW + 3 * DAY],
  ["half of a prepaid plan below a week", { lineItems: [prepaid(3)] }, NOW + DAY],
  ["three days of a prepaid plan of a week", { lineItems: [prepaid(6)] }, NOW + 2 * DAY],
  [
    "a third of that from the answer, where it is past its end and renews",
    {
      lineItems: [aSubscriptionLine({ expiryTime: isoTime(NOW - 1) }), prepaid(-1, "maps")],
      startTime: isoTime(NOW - 30 * DAY),
    },
    NOW + DAY,
  ],
  ["half of the longest of its prepaid lines", { lineItems: [prepaid(1), prepaid(3, "maps")] }, NOW + DAY],
])("it is to be acknowledged within %s", async (_, changes, deadline) => {
  const { acknowledgement } = await verified(aSubscriptionAnswer({ ...UNACKNOWLEDGED, ...changes }));
  expect(acknowledgement?.deadline).toBe(deadline);
});

test.each<[string, androidpublisher_v3.Schema$SubscriptionPurchaseV2]>([
  ["an expired subscription", { ...UNACKNOWLEDGED, subscriptionState: "SUBSCRIPTION_STATE_EXPIRED" }],
  [
    "a subscription without an owned line",
    { ...UNACKNOWLEDGED, lineItems: [{ productId: "pro", autoRenewingPlan: {} }] },
  ],
  ...["ACTIVE", "CANCELED"].map((state): [string, androidpublisher_v3.Schema$SubscriptionPurchaseV2] => [
    `a prepaid plan that has ended and is ${state}`,
    {
      ...UNACKNOWLEDGED,
      subscriptionState: `SUBSCRIPTION_STATE_${state}`,
      startTime: isoTime(NOW - 2 * DAY),
      lineItems: [prepaid(0), prepaid(-1, "maps")],
    },
  ]),
  ["an acknowledged subscription", {}],
])("%s is not to be acknowledged", async (_, changes) => {
  expect((await verified(aSubscriptionAnswer(changes))).acknowledgement).toBeNull();
});

test("unknown fields are tolerated", async () => {
  const answer = { ...aSubscriptionAnswer(), aFieldOfNextYear: { of: ["any", "shape"] } };
  expect((await verified(answer)).purchase.lines).toHaveLength(1);
});

test.each<[string, androidpublisher_v3.Schema$SubscriptionPurchaseV2]>([
  ["an unknown state", { subscriptionState: "SUBSCRIPTION_STATE_OF_NEXT_YEAR" }],
  ["an unspecified state", { subscriptionState: "SUBSCRIPTION_STATE_UNSPECIFIED" }],
  ["no state", { subscriptionState: null }],
  ["no lines", { lineItems: [] }],
  ["an owned line without an end", { lineItems: [aSubscriptionLine({ expiryTime: null })] }],
  ["an invalid end", { lineItems: [aSubscriptionLine({ expiryTime: "in a month" })] }],
  ["a line without a product", { lineItems: [aSubscriptionLine({ productId: null })] }],
  [
    "a line that ends after the year 9999",
    { lineItems: [aSubscriptionLine({ expiryTime: "9999-12-31T23:59:59-01:00" })] },
  ],
])("an answer with %s is malformed: unavailable", async (_, changes) => {
  expect(await lookUp(aSubscriptionAnswer(changes))).toMatchObject({
    outcome: "unavailable",
    retryAfterSeconds: 5,
    reason: "malformedAnswer",
  });
});
