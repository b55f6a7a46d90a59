import * as z from "zod";
import type { Instant } from "../../lib/entitlements/time.ts";
import type { AndroidPublisherSandbox } from "../android-store/publisher.ts";
import type { IosStoreSandbox } from "../ios-store/ios-store.ts";
import type { Mount } from "../mount.ts";
import { serveRoutes, withBody } from "../routes.ts";
import { exportOf } from "./exports.ts";
import type { Catalog, PlanOptions } from "./persons.ts";
import { sellPersons } from "./sell.ts";

/** Formats of one file. */
const FORMATS = ["revenuecat-export", "revenuecat-tokens", "table"] as const;

export const exportRequest = z.strictObject({
  /** Bundle and package that the persons buy in. */
  app: z.string().min(1),
  persons: z.int().min(1).max(10_000),
  format: z.enum(FORMATS).default("revenuecat-export"),
  /** The same seed makes the same persons: once in a store. */
  seed: z.int().min(0).max(9999).default(1),
});

/** Products that the persons buy. */
const catalogsOf = (app: string): PlanOptions["catalogs"] => {
  const ios: Catalog = {
    app,
    subscription: `${app}.premium.monthly`,
    oneTimeProduct: `${app}.lifetime`,
    notMapped: `${app}.retired`,
  };
  const android: Catalog = {
    app,
    subscription: "premium",
    basePlan: "monthly",
    oneTimeProduct: "lifetime",
    notMapped: "retired",
  };
  return { "ios-store": ios, "android-store": android };
};

interface ExportStores {
  readonly ios: IosStoreSandbox;
  readonly android: AndroidPublisherSandbox;
}

const exported = async (
  { ios, android }: ExportStores,
  { app, persons: count, format, seed }: z.output<typeof exportRequest>,
  at: Instant,
): Promise<string> => {
  const persons = await sellPersons({ ios, android }, { count, seed, at, catalogs: catalogsOf(app) });
  const [file] = exportOf(persons, format, { at }).files;
  return [...(file?.lines() ?? [])].join("");
};

/**
 * `POST /sandbox/exports { app, persons, format?, seed? }` sells to persons in both stores, and answers what a rented
 * service exports about them, with its errors (`LIES`), as CSV. The stores' notifications are off meanwhile, and on
 * afterwards.
 */
export const createExports = (path: string, stores: ExportStores, now: () => Instant): Mount => {
  const notify = (enabled: boolean): void => {
    stores.ios.enableNotifications(enabled);
    stores.android.enableNotifications(enabled);
  };
  const answer = withBody(exportRequest, async (wanted) => {
    notify(false);
    try {
      const body = await exported(stores, wanted, now());
      return { status: 200, body, headers: { "Content-Type": "text/csv; charset=utf-8" } };
    } finally {
      notify(true);
    }
  });
  return serveRoutes("", { [`POST ${path}`]: answer });
};
