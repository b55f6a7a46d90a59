import { lostAccess } from "../../../lib/administration/manifest/difference.ts";
import type { Application } from "../../../lib/applications/application.ts";
import type { CatalogProduct } from "../../../lib/entitlements/catalog.ts";
import { aCatalog, aProduct, period } from "../../../testing/support/stores/purchases.ts";
import { anApplication, inBothStores } from "../../../testing/support/application.ts";

const premium = aProduct({ store: "android-store", productIdentifier: "premium", grants: ["premium"] });

const { iosStore, androidStore } = inBothStores("a.b");

const selling = (products: CatalogProduct[], changes: Partial<Application> = {}): Application =>
  anApplication({
    iosStore: iosStore.map((bundle) => ({ ...bundle, xcodeCertificates: ["aa"] })),
    androidStore: androidStore.map((android) => ({ ...android, packageName: "a.c" })),
    catalog: aCatalog(products),
    ...changes,
  });

const before = selling([premium]);
const [ios] = before.iosStore;
const [android] = before.androidStore;
if (ios === undefined || android === undefined) throw new Error("There are both stores.");

test.each<[string, Application]>([
  ["product android-store premium grants nothing any more", selling([])],
  [
    "product android-store premium does not grant premium any more",
    selling([{ ...premium, grants: ["basic"] }]),
  ],
  // A base plan takes precedence over the product of all base plans.
  [
    "product android-store premium monthly does not grant premium any more",
    selling([premium, { ...premium, basePlanIdentifier: "monthly", grants: ["basic"] }]),
  ],
  // It had no end.
  [
    "product android-store premium gives access for P1D only",
    selling([{ ...premium, accessDuration: period("P1D") }]),
  ],
  ["purchases of ios-store a.b are refused", selling([premium], { iosStore: [] })],
  ["purchases of android-store a.c are refused", selling([premium], { androidStore: [] })],
  [
    "purchases of android-store a.c from sandbox are refused",
    selling([premium], { androidStore: [{ ...android, environments: ["production"] }] }),
  ],
  [
    "purchases of ios-store a.b from certificate aa are refused",
    selling([premium], { iosStore: [{ ...ios, xcodeCertificates: [] }] }),
  ],
])("%s", (loss, after) => {
  expect(lostAccess(before, after)).toEqual([loss]);
});

test("removing a base plan loses nothing that the whole product grants", () => {
  const monthly = { ...premium, basePlanIdentifier: "monthly" };
  expect(lostAccess(selling([premium, monthly]), selling([premium]))).toEqual([]);
  expect(lostAccess(selling([monthly]), selling([{ ...premium, basePlanIdentifier: "yearly" }]))).toEqual([
    "product android-store premium monthly grants nothing any more",
  ]);
});

test.each([
  ["P7D", "P1M", false],
  ["P7D", "P7D", false],
  ["P30D", "P1M", true],
  ["P28D", "P1M", false],
  ["P1M", "P30D", true],
  ["P1M", "P31D", false],
  ["P1M", "P1M1D", false],
  ["P59D", "P2M", false],
  ["P62D", "P2M", true],
  ["P1Y", "P365D", true],
  ["P1Y", "P366D", false],
  ["P4Y", "P1461D", false],
])("from %s to %s, some pass ends earlier: %s", (old, now, isLost) => {
  const lasting = (text: string) => selling([{ ...premium, accessDuration: period(text) }]);
  expect(lostAccess(lasting(old), lasting(now))).toEqual(
    isLost ? [`product android-store premium gives access for ${now} only`] : [],
  );
});

test("removing an end is a loss for Android's rentals alone", () => {
  const rented = { ...premium, accessDuration: period("P7D") };
  expect(lostAccess(selling([rented]), before)).toEqual([
    "rentals of product android-store premium grant nothing any more",
  ]);
  const pass = aProduct({ productIdentifier: "pass", accessDuration: period("P7D") });
  expect(lostAccess(selling([pass]), selling([{ ...pass, accessDuration: null }]))).toEqual([]);
});

test("a shorter renewal leeway is a loss, a longer one is not", () => {
  const leeway = (minutes: number) => selling([premium], { renewalLeeway: minutes * 60_000 });
  expect(lostAccess(leeway(15), leeway(0))).toEqual([
    "a subscription that renews late keeps its access for PT0S only, not for PT15M",
  ]);
  expect(lostAccess(leeway(15), leeway(60))).toEqual([]);
});

test("additions, a new name and a new credential lose nothing", () => {
  const more = selling([
    { ...premium, grants: ["premium", "extra"] },
    { ...premium, basePlanIdentifier: "yearly", grants: ["premium"] },
    aProduct({ productIdentifier: "new" }),
  ]);
  expect(
    lostAccess(before, {
      ...more,
      name: "Paths",
      iosStore: [{ ...ios, xcodeCertificates: ["aa", "bb"] }],
      androidStore: [{ ...android, credential: { secret: "t" } }],
    }),
  ).toEqual([]);
});
