import { askPerson } from "../../../lib/administration/import/asking.ts";
import { NOTHING_CLAIMED } from "../../../lib/administration/import/formats.ts";
import { createIosStoreVerifier } from "../../../lib/stores/ios-store/verifier.ts";
import { anApplication, inBothStores } from "../../../testing/support/application.ts";
import { NOW } from "../../../testing/support/stores/purchases.ts";

const KEY = { issuerIdentifier: "i", keyIdentifier: "k", secret: "s" };

test("a history without an end is asked for five hundred pages", async () => {
  let pages = 0;
  const unknown = async () => ({ outcome: "unknown" as const, status: 404, reason: null });
  const nothingToStore = () => Promise.reject(new Error("There is nothing to store."));
  const { iosStore } = inBothStores("com.example.trails");
  const asking = {
    application: anApplication({ iosStore: iosStore.map((bundle) => ({ ...bundle, serverApi: KEY })) }),
    appStore: {
      transactionHistory: async () => {
        pages += 1;
        return { outcome: "answered" as const, content: { signedTransactions: [], next: "again" } };
      },
      subscriptionStatuses: unknown,
      appTransaction: unknown,
    },
    storing: { appStoreFacts: nothingToStore, androidPurchase: nothingToStore, link: nothingToStore },
    verifier: createIosStoreVerifier(),
    trustedRoots: new Set<string>(),
    only: null,
    now: () => NOW,
  };
  const claim = {
    ...NOTHING_CLAIMED,
    account: null,
    store: "ios-store",
    name: { kind: "transaction", value: "1" },
  } as const;
  expect(await askPerson(asking, claim)).toEqual({ outcome: "unverified" });
  expect(pages).toBe(500);
});
