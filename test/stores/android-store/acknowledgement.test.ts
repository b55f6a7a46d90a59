import type { Fault } from "../../../sandbox/android-store/publisher.ts";
import type { ProductKind } from "../../../lib/contract/schemas.ts";
import type { PendingAcknowledgement } from "../../../lib/stores/android-store/reading.ts";
import {
  aGoogleError,
  HASTY,
  PACKAGE_NAME,
  TIMING,
  NOW,
} from "../../../testing/support/stores/android-store.ts";
import { storeForFile } from "./store-for-file.ts";

const local = storeForFile();

const google = (status: number, reason: string): Fault => ({ status, body: aGoogleError(status, reason) });

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
  const DONE = { outcome: "acknowledged" };
  const ACKNOWLEDGED = "ACKNOWLEDGEMENT_STATE_ACKNOWLEDGED";
  let pending: PendingAcknowledgement;
  beforeEach(async () => {
    pending = await unacknowledged(productKind);
  });

  test("is acknowledged at the store, and its acknowledgement is no longer pending", async () => {
    expect(await acknowledge(pending)).toEqual(DONE);
    expect([stateOf(pending), publisherCalls()]).toStrictEqual([ACKNOWLEDGED, ["POST"]]);
    const request = { purchaseToken: pending.purchaseToken, productKind, productIdentifier: null };
    const verified = { outcome: "verified", acknowledgement: null };
    expect(await local.store().lookUp(local.androidPackage, request)).toMatchObject(verified);
  });

  test("that was acknowledged elsewhere is read again and counts as acknowledged", async () => {
    await acknowledge(pending);
    expect(await acknowledge(pending)).toEqual(DONE);
    expect(publisherCalls()).toStrictEqual(["POST", "GET"]);
  });

  test("stays due when the store refuses it and still has it pending", async () => {
    const due = { outcome: "rejected", status: 400, reason: "invalid" };
    expect(await acknowledge(pending, google(400, "invalid"))).toEqual(due);
    expect(publisherCalls()).toStrictEqual(["POST", "GET"]);
    expect(stateOf(pending)).toBe("ACKNOWLEDGEMENT_STATE_PENDING");
  });

  test("is acknowledged by another of its products, where Google refuses one", async () => {
    expect(await acknowledge({ ...pending, productIdentifier: "something-else" })).toEqual(DONE);
    expect([stateOf(pending), publisherCalls()]).toStrictEqual([ACKNOWLEDGED, ["POST", "GET", "POST"]]);
  });
});

test("an acknowledgement with add-ons is tried by another name each minute", async () => {
  const REFUSED: Fault = google(400, "invalid");
  const lineItems = ["premium", "a", "b", "c", "d", "e"].map((productId) => ({ productId }));
  const acknowledgementState = "ACKNOWLEDGEMENT_STATE_PENDING";
  const read: Fault = { status: 200, body: { acknowledgementState, lineItems } };
  const pending = await unacknowledged("subscription");
  const named = [];
  for (let minute = 0; minute < 6; minute += 1) {
    local.sandbox.failNext("publisher", REFUSED, read, REFUSED);
    local.sandbox.calls.length = 0;
    const store = local.store({ now: () => NOW + minute * 60_000 });
    const due = { outcome: "rejected", status: 400 };
    expect(await store.acknowledge(local.androidPackage, pending)).toMatchObject(due);
    expect(publisherCalls()).toStrictEqual(["POST", "GET", "POST"]);
    named.push(/subscriptions\/([^/]+)\//.exec(local.sandbox.calls.at(-1)?.path ?? "")?.[1]);
  }
  expect(new Set(named)).toEqual(new Set(["a", "b", "c", "d", "e"]));
});

const CONFLICT: Fault = google(409, "concurrentUpdate");

test("a conflict is retried once", async () => {
  const pending = await unacknowledged("subscription");
  expect(await acknowledge(pending, CONFLICT)).toEqual({ outcome: "acknowledged" });
  expect(publisherCalls()).toStrictEqual(["POST", "POST"]);
});

test.each<[Fault, outcome: string, status: number | null, reason: string]>([
  [google(403, "permissionDenied"), "credential-rejected", 403, "permissionDenied"],
  [google(404, "purchaseTokenNotFound"), "rejected", 404, "purchaseTokenNotFound"],
  [google(410, "purchaseTokenNoLongerValid"), "gone", 410, "purchaseTokenNoLongerValid"],
  [google(500, "backendError"), "unavailable", 500, "backendError"],
  ["disconnect", "unavailable", null, "connection"],
  ["hang", "unavailable", null, "timeout"],
])("an acknowledgement that meets %j stays due and says why", async (fault, outcome, status, reason) => {
  const pending = await unacknowledged("subscription");
  expect(await acknowledge(pending, fault, fault)).toMatchObject({ outcome, status, reason });
  expect(publisherCalls()).not.toContain("GET");
});
