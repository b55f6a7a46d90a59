import { askPerson } from "../../../lib/administration/import/asking/app-store.ts";
import type { Asking } from "../../../lib/administration/import/asking/asking.ts";
import type { Claim } from "../../../lib/administration/import/claim.ts";
import { createIosStoreVerifier } from "../../../lib/stores/ios-store/verifier.ts";
import { NOW } from "../../../testing/support/stores/purchases.ts";

test("a history without an end is asked for five hundred pages", async () => {
  let pages = 0;
  const unknown = () => Promise.resolve({ outcome: "unknown" });
  const asking = {
    application: { iosStore: [{ bundleIdentifier: "app", environments: ["production"], serverApi: {} }] },
    appStore: {
      transactionHistory: () => {
        pages += 1;
        const content = { signedTransactions: [], next: "again" };
        return Promise.resolve({ outcome: "answered", content });
      },
      subscriptionStatuses: unknown,
      appTransaction: unknown,
    },
    verifier: createIosStoreVerifier(),
    trustedRoots: new Set(),
    only: null,
    now: () => NOW,
  } as unknown as Asking;
  const claim = { app: null, lineage: "1", environment: null } as Claim;
  expect(await askPerson(asking, claim)).toEqual({ outcome: "unverified" });
  expect(pages).toBe(500);
});
