import * as z from "zod";
import { boundedText, parseJson } from "../../lib/bounded-text.ts";
import type { Instant } from "../../lib/entitlements/time.ts";
import type { AndroidPublisherSandbox } from "../android-store/publisher.ts";
import type { IosStoreSandbox } from "../ios-store/ios-store.ts";
import { answer, pathOf, type Mount } from "../mount.ts";
import { exportOf } from "./exports.ts";
import type { Catalog, PlanOptions } from "./persons.ts";
import { sellPersons } from "./sell.ts";

/** Formats of one file. */
const FORMATS = ["revenuecat-export", "revenuecat-tokens", "table"] as const;
const LARGEST_BODY = 1024;

export const exportRequest = z.strictObject({
  /** Bundle and package that the persons buy in. */
  app: z.string().min(1),
  persons: z.int().min(1).max(10_000),
  format: z.enum(FORMATS).default("revenuecat-export"),
  /** The same seed makes the same persons: once in a store. */
  seed: z.int().min(0).max(9999).default(1),
});

/** What the persons buy. */
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
  const { ios, android } = stores;
  return async (request, response) => {
    if (pathOf(request) !== path || request.method !== "POST") return false;
    const body = parseJson(await boundedText(request.iterator({ destroyOnReturn: false }), LARGEST_BODY));
    request.resume();
    const parsed = exportRequest.safeParse(body);
    if (!parsed.success) {
      const message = z.prettifyError(parsed.error);
      answer(response, 400, "application/json", JSON.stringify({ message }));
      return true;
    }
    ios.enableNotifications(false);
    android.enableNotifications(false);
    try {
      answer(response, 200, "text/csv; charset=utf-8", await exported(stores, parsed.data, now()));
    } finally {
      ios.enableNotifications(true);
      android.enableNotifications(true);
    }
    return true;
  };
};
