import { askingOf, type Asking } from "../../../lib/administration/reports/asking.ts";
import type { Application, IosStoreConfiguration } from "../../../lib/applications/application.ts";
import type { StoredPurchase } from "../../../lib/customers/storing/records.ts";
import type { AskReason } from "../../../lib/entitlements/next-ask.ts";
import type { Purchase } from "../../../lib/entitlements/purchase.ts";
import type { Instant } from "../../../lib/entitlements/time.ts";
import { applicationId, customerId, purchaseKey } from "../../../lib/identifiers.ts";
import { anApplication, inBothStores } from "../../../testing/support/application.ts";
import { aLine, aPurchase, DAY, NOW } from "../../../testing/support/stores/purchases.ts";

const APPLICATION = applicationId("0198c0de-0000-7000-8000-000000000001");
const BUNDLE = "com.example.trails";
const { iosStore, androidStore } = inBothStores(BUNDLE);

/** An application of the production environment, with a bundle for each change and a key of Apple's. */
const withBundles = (...changes: Partial<IosStoreConfiguration>[]): Application => {
  const serverApi = { issuerIdentifier: "i", keyIdentifier: "k", secret: "s" };
  return anApplication({
    identifier: APPLICATION,
    androidStore,
    iosStore: iosStore.flatMap((bundle) =>
      changes.map((change): IosStoreConfiguration => ({
        ...bundle,
        environments: ["production"],
        serverApi,
        ...change,
      })),
    ),
  });
};

const stored = (purchase: Purchase, more: Partial<StoredPurchase> = {}): StoredPurchase => ({
  purchase,
  revision: 1,
  customer: customerId("0198c0de-0000-7000-8000-0000000000cc"),
  acknowledgement: null,
  ask: null,
  bundleOrPackage: BUNDLE,
  ...more,
});

const android = (purchase: Parameters<typeof aPurchase>[0]): Purchase =>
  aPurchase({ store: "android-store", ...purchase });
const none = (because: Extract<Asking, { outcome: "none" }>["because"]): Asking => ({
  outcome: "none",
  because,
});

const due = (at: Instant, because: AskReason): Asking => ({
  outcome: "due",
  at,
  because,
  queue: {
    application: APPLICATION,
    store: "ios-store",
    environment: "production",
    bundleOrPackage: BUNDLE,
  },
});
const asked = (at: Instant, because: AskReason) => stored(aPurchase(), { ask: { at, because } });

const lifetime = aLine({ nature: "non_consumable", endsAt: null });
const coins = aLine({ nature: "consumable", endsAt: null });

describe("a store is asked about a purchase next", () => {
  const both = withBundles({}, { bundleIdentifier: "com.example.other" });
  const own = withBundles({});
  const unnamed = stored(aPurchase(), { bundleOrPackage: null });
  const queued = stored(android({}), { ask: { at: NOW, because: "renewal" } });
  test.each<[string, Asking, StoredPurchase, Application]>([
    [
      "at the time that is stored, by the queue of its bundle",
      due(NOW + 20 * DAY, "renewal"),
      asked(NOW + 20 * DAY, "renewal"),
      own,
    ],
    [
      "not without Apple's key, even if it is queued",
      none("no-key"),
      asked(NOW, "requested"),
      withBundles({ serverApi: null }),
    ],
    [
      "not by another bundle's key",
      none("no-key"),
      stored(aPurchase()),
      withBundles({ bundleIdentifier: "com.example.other" }),
    ],
    ["not where its bundle is not known and several have a key", none("unknown-bundle"), unnamed, both],
    [
      "not in an environment that is not accepted",
      none("environment"),
      stored(aPurchase({ environment: "sandbox" })),
      own,
    ],
    ["not where it was made in Xcode", none("xcode"), stored(aPurchase({ environment: "xcode" })), own],
    [
      "not where only another purchase names it",
      none("mentioned"),
      stored(aPurchase({ lines: [], verifiedAt: 0 })),
      own,
    ],
    ["not where it is over", none("over"), stored(aPurchase({ lines: [coins] })), own],
    ["not until it is queued", none("not-queued"), stored(aPurchase({ lines: [lifetime] })), own],
    [
      "not as an Android one-time purchase that is paid",
      none("voided-list"),
      stored(android({ lines: [coins] })),
      own,
    ],
    ["not where its package is gone, even if queued", none("no-package"), queued, { ...own, androidStore: [] }],
    ["not where Google has dropped it", none("dropped"), stored(android({})), own],
    [
      "not where another has replaced it",
      none("replaced"),
      stored(android({ replacedBy: purchaseKey("2") })),
      own,
    ],
    [
      "not where only another Android purchase names it",
      none("mentioned"),
      stored(android({ lines: [], verifiedAt: 0 })),
      own,
    ],
  ])("%s", (_, asking, purchase, application) => {
    expect(askingOf(application, purchase)).toEqual(asking);
  });
});
