import type { Fault } from "../../../sandbox/android-store/publisher.ts";
import type { ProductKind } from "../../../lib/contract/schemas.ts";
import type { AcknowledgementAnswer } from "../../../lib/stores/android-store/android-store.ts";
import type { PendingAcknowledgement } from "../../../lib/stores/android-store/reading.ts";
import {
  aGoogleError,
  HASTY,
  PACKAGE_NAME,
  startAndroidStore,
  TIMING,
  type LocalAndroidStore,
  NOW,
} from "../../../testing/support/android-store.ts";

let local: LocalAndroidStore;
beforeAll(async () => {
  local = await startAndroidStore();
});
afterEach(() => local.sandbox.clearFaults());
afterAll(() => local.close());

const PRODUCT = { subscription: "premium", one_time_product: "lifetime" } as const;

/** The pending acknowledgement of a new purchase, from its look-up. */
const unacknowledged = async (productKind: ProductKind): Promise<PendingAcknowledgement> => {
  const productIdentifier = PRODUCT[productKind];
  const purchaseToken = local.sandbox.buy({ packageName: PACKAGE_NAME, productKind, productIdentifier });
  const answer = await local
    .store()
    .lookUp(local.androidPackage, { purchaseToken, productKind, productIdentifier: null });
  if (answer.outcome !== "verified" || answer.acknowledgement === null)
    throw new Error("expected a purchase to acknowledge");
  return answer.acknowledgement;
};

const stateOf = ({ purchaseToken }: PendingAcknowledgement) =>
  local.sandbox.read(purchaseToken)?.answer.acknowledgementState;

const acknowledge = (pending: PendingAcknowledgement, ...faults: Fault[]) => {
  local.sandbox.failNext("publisher", ...faults);
  local.sandbox.calls.length = 0;
  const timing = faults.includes("hang") ? HASTY : TIMING;
  return local.store({ timing }).acknowledge(local.androidPackage, pending);
};

const publisherCalls = () =>
  local.sandbox.calls.filter(({ endpoint }) => endpoint === "publisher").map(({ method }) => method);

describe.each(["subscription", "one_time_product"] as const)("a %s", (productKind) => {
  test("is acknowledged at the store, and its acknowledgement is no longer pending", async () => {
    const pending = await unacknowledged(productKind);
    expect(await acknowledge(pending)).toEqual({ outcome: "acknowledged" });
    expect(stateOf(pending)).toBe("ACKNOWLEDGEMENT_STATE_ACKNOWLEDGED");
    expect(publisherCalls()).toStrictEqual(["POST"]);
    const { purchaseToken } = pending;
    expect(
      await local
        .store()
        .lookUp(local.androidPackage, { purchaseToken, productKind, productIdentifier: null }),
    ).toMatchObject({ outcome: "verified", acknowledgement: null });
  });

  test("that was acknowledged elsewhere is read again and counts as acknowledged", async () => {
    const pending = await unacknowledged(productKind);
    await acknowledge(pending);
    expect(await acknowledge(pending)).toEqual({ outcome: "acknowledged" });
    expect(publisherCalls()).toStrictEqual(["POST", "GET"]);
  });

  test("stays due when the store refuses it and still has it pending", async () => {
    const pending = await unacknowledged(productKind);
    expect(await acknowledge(pending, { status: 400, body: aGoogleError(400, "invalid") })).toEqual({
      outcome: "due",
      because: "rejected",
      status: 400,
      reason: "invalid",
    });
    expect(publisherCalls()).toStrictEqual(["POST", "GET"]);
    expect(stateOf(pending)).toBe("ACKNOWLEDGEMENT_STATE_PENDING");
  });

  test("is acknowledged by another of its products, where Google refuses one", async () => {
    const pending = await unacknowledged(productKind);
    expect(await acknowledge({ ...pending, productIdentifier: "something-else" })).toEqual({
      outcome: "acknowledged",
    });
    expect(publisherCalls()).toStrictEqual(["POST", "GET", "POST"]);
    expect(stateOf(pending)).toBe("ACKNOWLEDGEMENT_STATE_ACKNOWLEDGED");
  });
});

describe("the acknowledgement of a purchase with add-ons", () => {
  const REFUSED: Fault = { status: 400, body: aGoogleError(400, "invalid") };
  const read: Fault = {
    status: 200,
    body: {
      acknowledgementState: "ACKNOWLEDGEMENT_STATE_PENDING",
      lineItems: ["premium", "a", "b", "c", "d", "e"].map((productId) => ({ productId })),
    },
  };
  test("is tried by another name each minute, and stays due until accepted", async () => {
    const pending = await unacknowledged("subscription");
    const named = [];
    for (let minute = 0; minute < 6; minute += 1) {
      local.sandbox.failNext("publisher", REFUSED, read, REFUSED);
      local.sandbox.calls.length = 0;
      const store = local.store({ timing: TIMING, now: () => NOW + minute * 60_000 });
      expect(await store.acknowledge(local.androidPackage, pending)).toEqual({
        outcome: "due",
        because: "rejected",
        status: 400,
        reason: "invalid",
      });
      expect(publisherCalls()).toStrictEqual(["POST", "GET", "POST"]);
      named.push(/subscriptions\/([^/]+)\//.exec(local.sandbox.calls.at(-1)?.path ?? "")?.[1]);
    }
    expect(new Set(named)).toEqual(new Set(["a", "b", "c", "d", "e"]));
  });
  test("says why another name was refused", async () => {
    const pending = await unacknowledged("subscription");
    const denied: Fault = { status: 403, body: aGoogleError(403, "permissionDenied") };
    expect(await acknowledge(pending, REFUSED, read, denied, denied)).toMatchObject({
      outcome: "due",
      reason: "permissionDenied",
    });
    expect(publisherCalls()).toStrictEqual(["POST", "GET", "POST", "POST"]);
  });
});

const CONFLICT: Fault = { status: 409, body: aGoogleError(409, "concurrentUpdate") };

test("a conflict is retried once", async () => {
  const pending = await unacknowledged("subscription");
  expect(await acknowledge(pending, CONFLICT)).toEqual({ outcome: "acknowledged" });
  expect(publisherCalls()).toStrictEqual(["POST", "POST"]);
});

test("a purchase with a second conflict is read again", async () => {
  const pending = await unacknowledged("subscription");
  expect(await acknowledge(pending, CONFLICT, CONFLICT)).toMatchObject({
    outcome: "due",
    status: 409,
    reason: "concurrentUpdate",
  });
  expect(publisherCalls()).toStrictEqual(["POST", "POST", "GET"]);
});

test("a resubscription outside the app names the expired purchase until acknowledged", async () => {
  const purchaseToken = local.sandbox.buy({
    packageName: PACKAGE_NAME,
    productKind: "subscription",
    productIdentifier: "premium",
    resubscribes: "expired-token",
  });
  const look = () =>
    local.store().lookUp(local.androidPackage, {
      purchaseToken,
      productKind: "subscription",
      productIdentifier: null,
    });
  const first = await look();
  if (first.outcome !== "verified" || first.acknowledgement === null) throw new Error("expected verified");
  expect(first.samePerson).toHaveLength(1);
  await acknowledge(first.acknowledgement);
  expect(await look()).toMatchObject({ samePerson: [] });
});

test.each<[string, Fault, AcknowledgementAnswer & { outcome: "due" }]>([
  [
    "403 permissionDenied",
    { status: 403, body: aGoogleError(403, "permissionDenied") },
    { outcome: "due", because: "credential-rejected", status: 403, reason: "permissionDenied" },
  ],
  [
    "404 purchaseTokenNotFound",
    { status: 404, body: aGoogleError(404, "purchaseTokenNotFound") },
    { outcome: "due", because: "rejected", status: 404, reason: "purchaseTokenNotFound" },
  ],
  [
    "410",
    { status: 410, body: aGoogleError(410, "purchaseTokenNoLongerValid") },
    { outcome: "due", because: "gone", status: 410, reason: "purchaseTokenNoLongerValid" },
  ],
  [
    "500",
    { status: 500, body: aGoogleError(500, "backendError") },
    { outcome: "due", because: "unavailable", status: 500, reason: "backendError" },
  ],
  [
    "a closed connection",
    "disconnect",
    { outcome: "due", because: "unavailable", status: null, reason: "connection" },
  ],
  ["no answer in time", "hang", { outcome: "due", because: "unavailable", status: null, reason: "timeout" }],
])("an acknowledgement that meets %s stays due and reports why", async (_, fault, answer) => {
  const pending = await unacknowledged("subscription");
  expect(await acknowledge(pending, fault, fault)).toEqual(answer);
  expect(publisherCalls()).not.toContain("GET");
});

test("an acknowledgement whose credential cannot be read stays due", async () => {
  const pending = await unacknowledged("subscription");
  const androidPackage = { packageName: PACKAGE_NAME, credential: { secret: "missing" } };
  expect(await local.store().acknowledge(androidPackage, pending)).toMatchObject({
    outcome: "due",
    because: "unavailable",
  });
});

test("an acknowledgement ends in time, even when it reads the purchase again", async () => {
  const pending = await unacknowledged("subscription");
  expect(await acknowledge(pending, CONFLICT, CONFLICT, "hang", "hang")).toMatchObject({
    outcome: "due",
    because: "unavailable",
  });
});
