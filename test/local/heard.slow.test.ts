import { followPurchases, type FollowedPurchases, type Shown } from "../support/followed-purchases.ts";
import { storeRequest, type StoreRequest } from "../../lib/contract/schemas.ts";
import { DEMO } from "../../local/demo.ts";
import { startWholeService, type WholeService } from "../../testing/support/local-gateway.ts";

/** A purchase is linked once. From then on only the stores speak. */

let service: WholeService;
let followed: FollowedPurchases;

/** Lines of what the demo application's destination got. */
const told: string[] = [];

beforeAll(async () => {
  service = await startWholeService({ tell: (line) => void told.push(line) });
  followed = followPurchases(service);
}, 90_000);

afterAll(async () => {
  await service?.stop();
});

const ends = ({ expiresAt }: Shown): number => Date.parse(expiresAt ?? "");

const STORES = {
  "ios-store": { buy: "onIos", refund: "refund", refunded: "revoked" },
  // Google says that the subscription is over, and not that it was refunded.
  "android-store": { buy: "onAndroid", refund: "revoke", refunded: "expired" },
} as const;

test.each(["ios-store", "android-store"] as const)(
  "%s: a purchase that is linked once is followed through renewal, grace period, retry, recovery and refund",
  async (store) => {
    const { buy, refund, refunded } = STORES[store];
    const change = await followed[buy](store);
    const first = await followed.read(store);
    expect(first).toMatchObject({ status: "active", willRenew: true });

    const renewed = await followed.move({ advance: "P1M" });
    const second = await followed.read(store);
    expect(second).toMatchObject({ status: "active", willRenew: true });
    expect(ends(second)).toBeGreaterThan(renewed);

    await change("fail-billing");
    const failed = await followed.move({ at: ends(second) + 1000 });
    const inGrace = await followed.read(store);
    expect(inGrace).toMatchObject({ status: "grace_period", active: true });
    expect(ends(inGrace)).toBeGreaterThan(failed);

    await followed.move({ at: ends(inGrace) + 1000 });
    expect(await followed.read(store)).toMatchObject({ status: "billing_retry", active: false });

    await change("recover");
    expect(await followed.read(store)).toMatchObject({ status: "active", active: true, willRenew: true });

    await change(refund);
    expect(await followed.read(store)).toMatchObject({ status: refunded, active: false, willRenew: false });
  },
  120_000,
);

test("a subscription renews for three months without a link, and ends once it is cancelled", async () => {
  const changes = await Promise.all([followed.onIos("ios-renewing"), followed.onAndroid("android-renewing")]);
  const later = await followed.move({ advance: "P3M" });
  for (const account of ["ios-renewing", "android-renewing"]) {
    const shown = await followed.read(account);
    expect(shown).toMatchObject({ status: "active", willRenew: true });
    expect(ends(shown)).toBeGreaterThan(later);
  }
  for (const change of changes) await change("cancel");
  for (const account of ["ios-renewing", "android-renewing"])
    expect(await followed.read(account)).toMatchObject({ status: "active", willRenew: false });
  await followed.move({ advance: "P1M" });
  for (const account of ["ios-renewing", "android-renewing"])
    expect(await followed.read(account)).toMatchObject({ status: "expired", active: false });
}, 240_000);

test("a refund that is told before anybody linked the purchase counts after the link", async () => {
  const bought = await followed.buyOnIos("late");
  await followed.post(`/sandbox/ios-store/purchases/${bought.originalTransactionIdentifiers[0]}`, {
    change: "refund",
  });
  await followed.post("/v1/customers/ios-store/link", bought);
  expect(await followed.read("late")).toMatchObject({ status: "revoked", active: false });
});

/** The stores' requests at the destination, oldest first. */
const asked = (): StoreRequest[] =>
  told.flatMap((line) => {
    const [, data] = /^told {2}store\.request {2}(.*)$/.exec(line) ?? [];
    return data === undefined ? [] : [storeRequest().parse(JSON.parse(data))];
  });

test("what the stores ask of the application reaches its destination, about the account where they name it", async () => {
  const [onIos, onAndroid] = [await followed.onIos("asked-ios"), await followed.onAndroid("asked-android")];
  await onIos("consumption-request", { reason: "LEGAL" });
  await onIos("rescind-consent");
  await onAndroid("refund-review");
  const now = await followed.move({ advance: "PT1M" });
  const requests = asked().toSorted((a, b) => a.kind.localeCompare(b.kind));
  const application = { applicationIdentifier: DEMO.applicationIdentifier };
  const person = { applicationAccountIdentifier: "asked-ios", customerIdentifier: expect.any(String) };
  expect(requests).toMatchObject([
    {
      ...application,
      ...person,
      kind: "CONSUMPTION_REQUEST",
      productIdentifier: DEMO.iosSubscription,
      transactionIdentifier: expect.any(String),
      reason: "LEGAL",
    },
    {
      ...application,
      applicationAccountIdentifier: null,
      customerIdentifier: null,
      kind: "pendingRefundReviewNotification",
      productIdentifier: null,
      packageName: DEMO.packageName,
      orderIdentifier: expect.stringMatching(/^GPA/),
      pendingRefundToken: expect.any(String),
    },
    { ...application, ...person, kind: "RESCIND_CONSENT", productIdentifier: null, answerBy: null },
  ]);
  const hoursLeft = requests.map(({ answerBy }) =>
    answerBy === null ? null : Math.round((Date.parse(answerBy) - now) / 3_600_000),
  );
  expect(hoursLeft).toEqual([12, 24, null]);
}, 120_000);
