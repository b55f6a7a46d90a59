import * as z from "zod";
import { DAY } from "../../lib/duration.ts";
import { isoTime, plusPeriod, type Instant } from "../../lib/entitlements/time.ts";
import type { AndroidPublisherSandbox } from "../android-store/publisher.ts";
import type { SandboxPurchase } from "../android-store/shop/requests.ts";
import type { IosStoreSandbox } from "../ios-store/ios-store.ts";
import type { RequestedPurchase } from "../ios-store/shop/requests.ts";
import { ImpossibleChange, serveRoutes, withBody, type Mount } from "../routes.ts";
import { exportOf } from "./exports.ts";
import type { Person, PlanOptions } from "./persons.ts";
import { planPersons } from "./plan.ts";

/** Sandbox stores that the persons buy in. */
interface Stores {
  readonly ios: IosStoreSandbox;
  readonly android: AndroidPublisherSandbox;
}

type IosGoods = NonNullable<RequestedPurchase["transactions"]>[number];

const monthBefore = (end: Instant): Instant => plusPeriod(end, { months: -1, milliseconds: 0 });

const iosTerms = ({ state, endsAt, claim }: Person, at: Instant): Partial<IosGoods> => {
  const until = (end: Instant, more: Partial<IosGoods> = {}): Partial<IosGoods> => ({
    purchaseDate: isoTime(monthBefore(end)),
    expiresDate: isoTime(end),
    ...more,
  });
  switch (state) {
    case "lifetime":
      return { type: "Non-Consumable", purchaseDate: isoTime(at - 100 * DAY) };
    case "renewed":
    case "grace":
      return until(claim.endsAt ?? at, { billingFails: state === "grace" });
    case "retry":
      return until(endsAt ?? at, { billingFails: true, gracePeriod: null });
    case "refunded":
      return until(at + 20 * DAY);
    case "active":
      return until(endsAt ?? at);
    default:
      return until(endsAt ?? at, { renews: false });
  }
};

const sellIos = async (person: Person, at: Instant, ios: Stores["ios"]): Promise<void> => {
  const { ios: identifiers, account, echo } = person;
  if (identifiers === null) return;
  const { originalTransactionIdentifier, transactionIdentifier, appTransactionIdentifier } = identifiers;
  await ios.buy({
    bundleIdentifier: person.app,
    environment: person.environment,
    appTransactionIdentifier,
    transactions: [
      {
        productIdentifier: person.product,
        originalTransactionIdentifier,
        transactionIdentifier,
        ...iosTerms(person, at),
        ...(echo !== null && account !== null && { appAccountToken: account }),
      },
    ],
  });
  if (person.state === "refunded") await ios.change(originalTransactionIdentifier, { change: "refund" });
};

/** An ended subscription, as if it had run a month until its end. */
const endAt = (purchaseToken: string, end: Instant, android: Stores["android"]): void => {
  android.change(purchaseToken, { change: "expire" });
  const stored = android.read(purchaseToken);
  if (stored?.productKind !== "subscription") return;
  const lineItems = (stored.answer.lineItems ?? []).map((line) => ({ ...line, expiryTime: isoTime(end) }));
  const answer = { ...stored.answer, startTime: isoTime(monthBefore(end)), lineItems };
  android.put(purchaseToken, { ...stored, answer });
};

const sellAndroid = (person: Person, android: Stores["android"]): void => {
  const { android: identifiers, state, echo, endsAt } = person;
  // Google knows nothing of a forgotten token, nor of its order.
  if (identifiers === null || person.lie === "forgotten-token") return;
  const { purchaseToken, orderIdentifier } = identifiers;
  const purchase: SandboxPurchase = {
    packageName: person.app,
    productKind: person.kind,
    productIdentifier: person.product,
    ...(person.basePlan !== undefined && { basePlanIdentifier: person.basePlan }),
    orderIdentifier,
    test: person.environment === "sandbox",
    ...(echo !== null && { obfuscatedAccountIdentifier: echo }),
  };
  android.buy(purchase, purchaseToken);
  android.change(purchaseToken, { change: "acknowledge" });
  if (state === "cancelled") android.change(purchaseToken, { change: "cancel" });
  else if (state === "ended" && endsAt !== null) endAt(purchaseToken, endsAt, android);
  else if (state === "refunded") android.change(purchaseToken, { change: "refund" });
  else if (state === "grace") android.change(purchaseToken, { change: "grace", period: "P3D" });
  else if (state === "retry") android.change(purchaseToken, { change: "hold" });
  else if (state === "unknown") android.drop(purchaseToken);
};

/**
 * Sells to each person of a plan. Switch the stores' notifications off, unless a service is to hear of the refunds.
 *
 * @param options.at the stores' own time
 */
export const sellPersons = async (
  { ios, android }: Stores,
  options: PlanOptions,
): Promise<readonly Person[]> => {
  const persons = planPersons(options);
  for (const person of persons) {
    await sellIos(person, options.at, ios);
    sellAndroid(person, android);
  }
  return persons;
};

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

/** Sells to persons in both stores, without notifications, and answers what a rented service exports about them. */
export const createExports = (path: string, stores: Stores, now: () => Instant): Mount => {
  const notify = (enabled: boolean): void => {
    stores.ios.enableNotifications(enabled);
    stores.android.enableNotifications(enabled);
  };
  const answer = withBody(exportRequest, async ({ app, persons: count, format, seed }) => {
    notify(false);
    try {
      const at = now();
      const persons = await sellPersons(stores, { count, seed, at, catalogs: catalogsOf(app) }).catch(
        (error: unknown) => {
          if (!(error instanceof ImpossibleChange)) throw error;
          throw new ImpossibleChange(
            "These people have bought already: send another seed, or reset the clock.",
          );
        },
      );
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
