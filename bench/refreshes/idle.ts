import { v7 as uuid } from "uuid";
import {
  composeAndroidStoreRefresh,
  composeAndroidStoreSweep,
} from "../../functions/wiring/android-store-asking.ts";
import { composeIosStoreRefresh, composeIosStoreSweep } from "../../functions/wiring/ios-store-asking.ts";
import type { Application } from "../../lib/applications/application.ts";
import type { Store } from "../../lib/contract/schemas.ts";
import { askDuePurchases } from "../../lib/customers/ask-due-purchases.ts";
import { sweepAndroidStoreRefunds } from "../../lib/customers/sweep-android-store-refunds.ts";
import { sweepIosStoreNotifications } from "../../lib/customers/sweep-ios-store-notifications.ts";
import { MINUTE } from "../../lib/duration.ts";
import type { Instant } from "../../lib/entitlements/time.ts";
import { createApplicationTable } from "../../lib/table/applications/applications.ts";
import { DEMO } from "../../local/demo.ts";
import { createTestTable } from "../../testing/support/table.ts";
import { meter, type Consumption } from "../meter.ts";
import { applicationWith } from "./lives.ts";

/** One run of a schedule that finds nothing to do. */
export interface IdleRun {
  readonly store: Store;
  readonly schedule: "refreshes" | "sweep";
  readonly applications: number;
  readonly consumption: Consumption;
}

const withBothStores = (index: number): Application =>
  applicationWith({
    iosStore: [
      {
        bundleIdentifier: `${DEMO.bundleIdentifier}.${index}`,
        appAppleIdentifier: DEMO.appAppleIdentifier,
        environments: ["production", "sandbox"],
        xcodeCertificates: [],
        serverApi: { issuerIdentifier: uuid(), keyIdentifier: "ABC123DEFG", secret: "key" },
      },
    ],
    androidStore: [
      {
        packageName: `${DEMO.packageName}.${index}`,
        environments: ["production", "sandbox"],
        credential: { secret: "play" },
        notifications: null,
      },
    ],
  });

/** Runs of functions that have already read their applications, on a table with this many of them. */
const idleOn = async (applications: number): Promise<IdleRun[]> => {
  const table = await createTestTable();
  const metered = meter(table.client);
  const moment: Instant = Date.UTC(2027, 0, 10, 12);
  const configuration = {
    table,
    now: () => moment,
    readSecret: () => Promise.reject(new Error("No store is asked.")),
    trustedRoots: new Set<string>(),
    androidPublisherUrl: undefined,
    appStoreServerUrl: undefined,
    onFailure: (error: unknown): never => {
      throw error;
    },
  };
  const until = moment + MINUTE;
  const unswept = { read: () => Promise.resolve(moment), raise: () => Promise.resolve() };
  try {
    const { save } = createApplicationTable(table);
    for (let index = 0; index < applications; index += 1) await save(null, withBothStores(index));
    const runs = [
      ["ios-store", "refreshes", () => askDuePurchases(composeIosStoreRefresh(configuration), until)],
      ["android-store", "refreshes", () => askDuePurchases(composeAndroidStoreRefresh(configuration), until)],
      [
        "ios-store",
        "sweep",
        () =>
          sweepIosStoreNotifications({ ...composeIosStoreSweep(configuration), watermarks: unswept }, until),
      ],
      [
        "android-store",
        "sweep",
        () =>
          sweepAndroidStoreRefunds(
            { ...composeAndroidStoreSweep(configuration), watermarks: unswept },
            until,
          ),
      ],
    ] as const;
    const rows: IdleRun[] = [];
    for (const [store, schedule, run] of runs) {
      metered.take();
      await run();
      const { milliseconds: _, ...consumption } = metered.take();
      rows.push({ store, schedule, applications, consumption });
    }
    return rows;
  } finally {
    await table.remove();
  }
};

export const idleRuns = async (): Promise<IdleRun[]> => [...(await idleOn(1)), ...(await idleOn(10))];
