import { askingOf, type Asking } from "../../lib/administration/asking.ts";
import type { Application, IosStoreConfiguration } from "../../lib/applications/application.ts";
import type { StoredPurchase } from "../../lib/customers/records.ts";
import type { Purchase } from "../../lib/entitlements/purchase.ts";
import { nextRefresh, refreshReasonAt } from "../../lib/freshness/refresh-times.ts";
import { customerId, purchaseKey } from "../../lib/identifiers.ts";
import { aLine, aPurchase, aRenewal, DAY, NOW } from "../../testing/support/purchases.ts";
import { anApplication } from "../../testing/support/application.ts";
import { aBundle as anyBundle } from "../../testing/support/ios-store.ts";

const KEY = { issuerIdentifier: "i", keyIdentifier: "k", secret: "s" };

const aBundle = (bundle: Partial<IosStoreConfiguration> = {}): IosStoreConfiguration =>
  anyBundle({ serverApi: KEY, ...bundle });

const selling = (...iosStore: IosStoreConfiguration[]): Application => anApplication({ iosStore });

const stored = (purchase: Purchase, more: Partial<StoredPurchase> = {}): StoredPurchase => ({
  purchase,
  revision: 1,
  customer: customerId("0198c0de-0000-7000-8000-0000000000cc"),
  acknowledgementDueSince: null,
  refreshAt: null,
  askedForAt: null,
  askAgainAt: [],
  bundleIdentifier: "com.example.trails",
  ...more,
});

const android = (purchase: Parameters<typeof aPurchase>[0]): Purchase =>
  aPurchase({ store: "android-store", ...purchase });
const none = (because: Extract<Asking, { outcome: "none" }>["because"]): Asking => ({
  outcome: "none",
  because,
});

const lifetime = aLine({ nature: "non_consumable", endsAt: null });
const coins = aLine({ nature: "consumable", endsAt: null });

describe("a store is asked about a purchase next", () => {
  test.each<[string, Asking, StoredPurchase, Application]>([
    [
      "at the time of its refresh, for the reason that its facts give",
      { outcome: "due", at: NOW + 20 * DAY + 5_000, because: "renewal" },
      stored(aPurchase(), { refreshAt: NOW + 20 * DAY + 5_000 }),
      selling(aBundle()),
    ],
    [
      "at a time that a person gave",
      { outcome: "due", at: NOW, because: null },
      stored(aPurchase(), { refreshAt: NOW }),
      selling(aBundle()),
    ],
    [
      "not without Apple's key, even if it is queued",
      none("no-key"),
      stored(aPurchase(), { refreshAt: NOW }),
      selling(aBundle({ serverApi: null })),
    ],
    [
      "not by another bundle's key",
      none("no-key"),
      stored(aPurchase()),
      selling(aBundle({ bundleIdentifier: "com.example.other" })),
    ],
    [
      "by the only key, where its bundle is not known",
      { outcome: "due", at: NOW, because: null },
      stored(aPurchase(), { refreshAt: NOW, bundleIdentifier: null }),
      selling(aBundle(), aBundle({ bundleIdentifier: "com.example.other", serverApi: null })),
    ],
    [
      "not where its bundle is not known and several have a key",
      none("unknown-bundle"),
      stored(aPurchase(), { bundleIdentifier: null }),
      selling(aBundle(), aBundle({ bundleIdentifier: "com.example.other" })),
    ],
    [
      "not in an environment that is not accepted",
      none("environment"),
      stored(aPurchase({ environment: "sandbox" })),
      selling(aBundle()),
    ],
    [
      "not where it was made in Xcode",
      none("xcode"),
      stored(aPurchase({ environment: "xcode" })),
      selling(aBundle()),
    ],
    [
      "not where only another purchase names it",
      none("mentioned"),
      stored(aPurchase({ lines: [], verifiedAt: 0 })),
      selling(aBundle()),
    ],
    ["not where it is over", none("over"), stored(aPurchase({ lines: [coins] })), selling(aBundle())],
    [
      "not until it is queued",
      none("not-queued"),
      stored(aPurchase({ lines: [lifetime] })),
      selling(aBundle()),
    ],
    [
      "not as an Android one-time purchase that is paid",
      none("voided-list"),
      stored(android({ lines: [coins] })),
      selling(),
    ],
    ["not where Google has dropped it", none("dropped"), stored(android({})), selling()],
    [
      "not where another has replaced it",
      none("replaced"),
      stored(android({ replacedBy: purchaseKey("2") })),
      selling(),
    ],
    [
      "not where only another Android purchase names it",
      none("mentioned"),
      stored(android({ lines: [], verifiedAt: 0 })),
      selling(),
    ],
  ])("%s", (_, asking, purchase, application) => {
    expect(askingOf(application, purchase)).toEqual(asking);
  });
});

test("the reason of every refresh follows from the facts and its time", () => {
  const purchases = [
    aPurchase(),
    aPurchase({ renewal: aRenewal({ graceEndsAt: NOW + 26 * DAY }) }),
    aPurchase({ renewal: aRenewal({ periodEndsAt: NOW + 50 * DAY }) }),
    aPurchase({ lines: [lifetime] }),
    aPurchase({ lines: [aLine({ revokedAt: NOW - DAY })] }),
    android({}),
    android({ lines: [aLine({ standing: "grace_period" })] }),
    android({ lines: [aLine({ standing: "expired" })] }),
    android({ lines: [], verifiedAt: NOW - 1000 }),
  ];
  const seen = new Set<string>();
  for (const purchase of purchases)
    for (let refresh = nextRefresh(purchase, NOW), step = 0; refresh !== null && step < 60; step += 1) {
      seen.add(refresh.because);
      expect(refreshReasonAt(purchase, refresh.at)).toBe(refresh.because);
      refresh = nextRefresh(purchase, refresh.at);
    }
  expect([...seen].sort()).toEqual([
    "grace-period-end",
    "payment",
    "refund",
    "renewal",
    "renewal-ahead",
    "renewal-unseen",
    "return",
  ]);
});
