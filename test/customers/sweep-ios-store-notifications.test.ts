import { sweepIosStoreNotifications } from "../../lib/customers/sweep-ios-store-notifications.ts";
import type { AppStoreServer } from "../../lib/stores/ios-store/app-store-server.ts";
import { createIosStoreVerifier } from "../../lib/stores/ios-store/verifier.ts";
import { createStoreRequestQueue } from "../../lib/table/store-requests.ts";
import { createWatermarks } from "../../lib/table/watermarks.ts";
import { fingerprintOf, makeChain, signJws } from "../../sandbox/ios-store/signing.ts";
import { anApplication } from "../../testing/support/application.ts";
import { aBundle, aNotification, aRenewalInfo, aTransaction } from "../../testing/support/ios-store.ts";
import { createMemoryTable } from "../../testing/support/memory-table.ts";
import { aCatalog, aProduct, DAY, NOW } from "../../testing/support/purchases.ts";
import { createWorld } from "../../testing/support/world.ts";

const chain = makeChain();

/** Sweeps a history of failed notifications; what of them was stored, and how each was used. */
const swept = async (notifications: readonly object[]) => {
  const serverApi = { secret: "key", issuerIdentifier: "issuer", keyIdentifier: "key" };
  const application = anApplication({
    iosStore: [aBundle({ serverApi })],
    catalog: aCatalog([aProduct({ productIdentifier: "com.example.trails.premium.monthly" })]),
  });
  const table = createMemoryTable();
  const world = createWorld(table, { application });
  const left = [notifications.map((one) => signJws(one, chain))];
  const outcomes: string[] = [];
  const nothingElse = () => Promise.reject(new Error("Nothing else is asked."));
  const appStore: AppStoreServer = {
    subscriptionStatuses: nothingElse,
    transaction: nothingElse,
    transactionHistory: nothingElse,
    failedNotifications: () =>
      Promise.resolve({ outcome: "answered", content: { signedPayloads: left.pop() ?? [], next: null } }),
  };
  await sweepIosStoreNotifications(
    {
      ...world.factStore,
      directory: world.directory,
      verifier: createIosStoreVerifier(),
      trustedRoots: new Set([fingerprintOf(chain.root)]),
      note: () => Promise.resolve(),
      requests: createStoreRequestQueue(table),
      onReceived: ({ outcome }) => void outcomes.push(outcome),
      appStore,
      watermarks: createWatermarks(table),
      applications: () => Promise.resolve([application.identifier]),
      onFailure: (error) => {
        throw error;
      },
    },
    Infinity,
  );
  const customer = (await world.items()).find(({ sk }) => sk === "CUSTOMER");
  return { outcomes, holdings: JSON.stringify(customer?.["holdings"] ?? null) };
};

describe("of a failed notification, each part counts by itself:", () => {
  const refund = aTransaction({ revocationDate: NOW - DAY, revocationReason: 1, signedDate: NOW - 500 });

  test.each([{ autoRenewStatus: undefined }, { autoRenewStatus: "ON" }, { expirationIntent: "NEW" }])(
    "a refund beside renewal info with %j",
    async (fields) => {
      const broken = aNotification(chain, { transaction: refund, renewalInfo: aRenewalInfo(fields) });
      const { outcomes, holdings } = await swept([broken]);
      expect(outcomes).toEqual(["PARTLY_UNDERSTOOD"]);
      expect(holdings).toContain(String(NOW - DAY));
    },
  );

  test("one that is forged keeps no other from being used", async () => {
    const forged = aNotification(makeChain(), {});
    const { outcomes, holdings } = await swept([forged, aNotification(chain, { transaction: refund })]);
    expect(outcomes).toEqual(["INVALID_NOTIFICATION", "STORED"]);
    expect(holdings).toContain(String(NOW - DAY));
  });
});
