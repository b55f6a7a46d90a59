import { questionOf, type NotAskedReason } from "../../../lib/administration/reports/asking.ts";
import type { Application, IosStoreConfiguration } from "../../../lib/applications/application.ts";
import type { StoredPurchase } from "../../../lib/customers/storing/records.ts";
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

const stored = (
  purchase: Parameters<typeof aPurchase>[0],
  more: Partial<StoredPurchase> = {},
): StoredPurchase => ({
  purchase: aPurchase(purchase),
  revision: 1,
  customer: customerId("0198c0de-0000-7000-8000-0000000000cc"),
  acknowledgement: null,
  ask: null,
  bundleOrPackage: BUNDLE,
  ...more,
});

const store = "android-store";
const lifetime = aLine({ nature: "non_consumable", endsAt: null });
const coins = aLine({ nature: "consumable", endsAt: null });
const queued = { ask: { at: NOW, because: "renewal" } } as const;
const own = withBundles({});
const other = { bundleIdentifier: "com.example.other" };

test("a store is asked about a purchase at the time that is stored, by the queue of its bundle", () => {
  const ask = { at: NOW + 20 * DAY, because: "renewal" } as const;
  const queue = { application: APPLICATION, store: "ios-store", environment: "production", bundleOrPackage: BUNDLE };
  expect(questionOf(own, stored({}, { ask }))).toEqual({ outcome: "due", ...ask, queue });
});

test.each<[string, NotAskedReason, StoredPurchase, Application?]>([
  ["without Apple's key, even if it is queued", "no-key", stored({}, queued), withBundles({ serverApi: null })],
  ["by another bundle's key", "no-key", stored({}), withBundles(other)],
  ["where several have a key, and its own is unknown", "unknown-bundle", stored({}, { bundleOrPackage: null }), withBundles({}, other)],
  ["in an environment that is not accepted", "environment", stored({ environment: "sandbox" })],
  ["where it was made in Xcode", "xcode", stored({ environment: "xcode" })],
  ["where only another purchase names it", "mentioned", stored({ lines: [], verifiedAt: 0 })],
  ["where it is over", "over", stored({ lines: [coins] })],
  ["until it is queued", "not-queued", stored({ lines: [lifetime] })],
  ["as an Android one-time purchase that is paid", "voided-list", stored({ store, lines: [coins] })],
  ["where its package is gone, even if queued", "no-package", stored({ store }, queued), { ...own, androidStore: [] }],
  ["where Google has dropped it", "dropped", stored({ store })],
  ["where another has replaced it", "replaced", stored({ store, replacedBy: purchaseKey("2") })],
  ["where only another Android purchase names it", "mentioned", stored({ store, lines: [], verifiedAt: 0 })],
])("a store is not asked about a purchase %s: %s", (_, because, purchase, application = own) => {
  expect(questionOf(application, purchase)).toEqual({ outcome: "none", because });
});
