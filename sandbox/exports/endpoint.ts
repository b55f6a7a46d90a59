import * as z from "zod";
import type { Instant } from "../../lib/entitlements/time.ts";
import type { AndroidPublisherSandbox } from "../android-store/publisher.ts";
import type { IosStoreSandbox } from "../ios-store/ios-store.ts";
import type { Mount } from "../mount.ts";
import { serveRoutes, withBody } from "../routes.ts";
import { exportOf } from "./exports.ts";
import type { PlanOptions } from "./persons.ts";
import { sellPersons } from "./sell.ts";

export const exportRequest = z.strictObject({
  /** Bundle and package that the persons buy in. */
  app: z.string().min(1),
  persons: z.int().min(1).max(10_000),
  /** One of those with one file. */
  format: z.enum(["revenuecat-export", "revenuecat-tokens", "table"]).default("revenuecat-export"),
  /** The same seed makes the same persons: once in a store. */
  seed: z.int().min(0).max(9999).default(1),
});

const catalogsOf = (app: string): PlanOptions["catalogs"] => ({
  "ios-store": {
    app,
    subscription: `${app}.premium.monthly`,
    oneTimeProduct: `${app}.lifetime`,
    notMapped: `${app}.retired`,
  },
  "android-store": {
    app,
    subscription: "premium",
    basePlan: "monthly",
    oneTimeProduct: "lifetime",
    notMapped: "retired",
  },
});

interface ExportStores {
  readonly ios: IosStoreSandbox;
  readonly android: AndroidPublisherSandbox;
}

/** Sells to persons in both stores, without notifications, and answers what a rented service exports about them. */
export const createExports = (path: string, stores: ExportStores, now: () => Instant): Mount => {
  const notify = (enabled: boolean): void => {
    stores.ios.enableNotifications(enabled);
    stores.android.enableNotifications(enabled);
  };
  const answer = withBody(exportRequest, async ({ app, persons: count, format, seed }) => {
    notify(false);
    try {
      const at = now();
      const persons = await sellPersons(stores, { count, seed, at, catalogs: catalogsOf(app) });
      const body = exportOf(persons, format, at)
        .files.flatMap((file) => [...file.lines()])
        .join("");
      return { status: 200, body, headers: { "Content-Type": "text/csv; charset=utf-8" } };
    } finally {
      notify(true);
    }
  });
  return serveRoutes("", { [`POST ${path}`]: answer });
};
