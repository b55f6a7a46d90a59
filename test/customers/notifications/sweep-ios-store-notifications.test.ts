import type { Application } from "../../../lib/applications/application.ts";
import type { IosStoreNotifications } from "../../../lib/applications/fields.ts";
import { HOUR, MINUTE } from "../../../lib/duration.ts";
import { sweepIosStoreNotifications } from "../../../lib/customers/sweep-ios-store-notifications.ts";
import type { AppStoreServer, AskedNotifications } from "../../../lib/stores/ios-store/app-store-server.ts";
import { createWatermarks } from "../../../lib/table/queues/notifications.ts";
import { makeChain, signJws } from "../../../sandbox/ios-store/signing.ts";
import {
  aBundle,
  aNotification,
  aRenewalInfo,
  aTransaction,
  BUNDLE,
} from "../../../testing/support/stores/ios-store.ts";
import { DAY, NOW } from "../../../testing/support/stores/purchases.ts";
import { assertInvariants } from "../../../testing/support/table/invariants.ts";
import { createMemoryTable } from "../../../testing/support/table/memory-table.ts";
import { aStore, KEY } from "../asking/apple-questions.ts";
import { aNotifiedApplication, chain, notifiedApp } from "./notified-app.ts";

const anApplicationWith = (notifications: IosStoreNotifications | null): Application =>
  aNotifiedApplication({
    iosStore: [aBundle({ environments: ["production"], serverApi: KEY, notifications })],
  });

/** A notification of each lineage's first purchase, as Apple's history has it. */
const historyOf = (lineages: readonly string[]): readonly string[] =>
  lineages.map((lineage) =>
    signJws(
      aNotification(chain, {
        transaction: aTransaction({ originalTransactionId: lineage, transactionId: lineage }),
        renewalInfo: aRenewalInfo({ originalTransactionId: lineage }),
      }),
      chain,
    ),
  );

/** Sweeps an application whose last sweep ended an hour ago; Apple answers with these pages. */
const sweepOf = async (application: Application, pages: readonly (readonly string[])[]) => {
  const table = createMemoryTable();
  const { world, reception, received } = notifiedApp(table, {}, application);
  const asked: AskedNotifications[] = [];
  const notificationHistory: AppStoreServer["notificationHistory"] = (_app, question, page) => {
    asked.push(question);
    const index = Number(page ?? 0);
    const next = index + 1 < pages.length ? String(index + 1) : null;
    return Promise.resolve({ outcome: "answered", content: { signedPayloads: pages[index] ?? [], next } });
  };
  const watermarks = createWatermarks(table);
  await watermarks.raise(
    {
      application: application.identifier,
      store: "ios-store",
      environment: "production",
      bundleOrPackage: BUNDLE,
    },
    NOW - HOUR,
  );
  const report = await sweepIosStoreNotifications(
    {
      ...reception,
      watermarks,
      applications: () => Promise.resolve([application.identifier]),
      appStore: aStore({ notificationHistory }),
      onFailure: (error) => {
        throw error;
      },
    },
    NOW + DAY,
  );
  await assertInvariants(table);
  const items = await world.items();
  const holdings = JSON.stringify(items.find(({ sk }) => sk === "CUSTOMER")?.["holdings"] ?? null);
  const stored = items.filter(({ sk }) => sk === "PURCHASE").map(({ key }) => key);
  return { asked, report, outcomes: received.map(({ outcome }) => outcome), stored, holdings };
};

test.each<[what: string, notifications: IosStoreNotifications | null, onlyFailures: boolean]>([
  ["whole where another service forwards", { forwardedBy: true }, false],
  ["of what was not delivered otherwise", null, true],
  ["of what was not delivered where this service forwards", { forwardTo: "https://old.example" }, true],
])("Apple's history is read %s", async (_, notifications, onlyFailures) => {
  const { asked } = await sweepOf(anApplicationWith(notifications), [[]]);
  const present = NOW - MINUTE;
  expect(asked).toEqual([{ from: NOW - 3 * HOUR, to: present, onlyFailures }]);
});

test("every page of a forwarded bundle's history is stored, refused ones left out", async () => {
  const lineages = Array.from({ length: 9 }, (_, index) => `70000000000000${index}`);
  const pages = [historyOf(lineages.slice(0, 6)), ["forged", ...historyOf(lineages.slice(6))]];
  const { report, stored } = await sweepOf(anApplicationWith({ forwardedBy: true }), pages);
  expect(report).toEqual({ found: 10, behind: 0 });
  expect(stored.toSorted()).toEqual(lineages);
});

describe("of a failed notification, each part counts by itself:", () => {
  const refund = aTransaction({ revocationDate: NOW - DAY, revocationReason: 1, signedDate: NOW - 500 });
  const swept = async (...notifications: readonly object[]) =>
    sweepOf(anApplicationWith(null), [notifications.map((one) => signJws(one, chain))]);

  test.each([{ autoRenewStatus: undefined }, { autoRenewStatus: "ON" }, { expirationIntent: "NEW" }])(
    "a refund beside renewal info with %j",
    async (fields) => {
      const broken = aNotification(chain, { transaction: refund, renewalInfo: aRenewalInfo(fields) });
      const { outcomes, holdings } = await swept(broken);
      expect(outcomes).toEqual(["PARTLY_UNDERSTOOD"]);
      expect(holdings).toContain(String(NOW - DAY));
    },
  );

  test("one that is forged keeps no other from being used", async () => {
    const forged = aNotification(makeChain(), {});
    const { outcomes, holdings } = await swept(forged, aNotification(chain, { transaction: refund }));
    expect(outcomes.toSorted()).toEqual(["INVALID_NOTIFICATION", "STORED"]);
    expect(holdings).toContain(String(NOW - DAY));
  });
});
