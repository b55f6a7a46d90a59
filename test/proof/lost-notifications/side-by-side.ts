import { decodeJwt } from "jose";
import * as z from "zod";
import type { Application } from "../../../lib/applications/application.ts";
import type { Instant } from "../../../lib/entitlements/time.ts";
import { ImpossibleChange } from "../../../sandbox/impossible-change.ts";
import type { RequestedChange } from "../../../sandbox/ios-store/shop/change.ts";
import type { PersonsPurchases } from "../../../sandbox/ios-store/shop/payloads.ts";
import { aBundle } from "../../../testing/support/stores/ios-store.ts";
import { DAY, NOW } from "../../../testing/support/stores/purchases.ts";
import { modelApplication } from "../model/model-client.ts";
import type { Act, History } from "./histories.ts";
import { failingFetch, type Outage } from "./outages.ts";
import { createService, type LinkRequest, type Service } from "./service.ts";
import { ANDROID_STORE_URL, APPLE, PACKAGE_NAME, type PushServer, type Stores } from "./stores.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

const LEEWAY = 15 * MINUTE;

/** Google's list is swept hourly in the cloud; further apart, the same periods are read. */
const BETWEEN_SWEEPS = 10 * DAY;

/** Accounts of the persons, and the persons' app transaction ids. */
const ACCOUNTS = ["a", "b"];
const PERSONS = ["704000000000001", "704000000000002"];

const applicationWith = (stores: Stores): Application => {
  const { issuerIdentifier, keyIdentifier } = APPLE.serverKey;
  return {
    ...modelApplication("0198c0de-0000-7000-8000-000000000001", { leeway: LEEWAY }),
    iosStore: [aBundle({ serverApi: { issuerIdentifier, keyIdentifier, secret: "apple" } })],
    androidStore: [
      {
        packageName: PACKAGE_NAME,
        credential: { workloadIdentity: stores.android.externalAccount(ANDROID_STORE_URL) },
        environments: ["production"],
        notifications: { serviceAccount: "play-push", audience: "the service" },
      },
    ],
  };
};

const iosTransaction = z.object({
  originalTransactionId: z.string(),
  /** A subscription's period; its restored copies have the same. */
  webOrderLineItemId: z.string().optional(),
  expiresDate: z.number().optional(),
  revocationDate: z.number().optional(),
});

/** Last question after an end that Apple calls over. */
const LAST_AFTER_END = 30 * DAY;

/**
 * Whether a question shows the change. Apple tells the latest transaction of each subscription, so a refund of an earlier
 * period, or its reversal, comes with the next request of the person's app, which sends all transactions. So does what
 * happens once the schedule asks no more.
 *
 * @param transactions of the lineage, the latest first
 * @param isAsked whether the schedule still asks about what ends then
 */
const isFound = (
  { change }: RequestedChange,
  transactions: readonly z.output<typeof iosTransaction>[],
  isAsked: (end: Instant) => boolean,
): boolean => {
  if (!["refund", "reverse-refund", "resubscribe"].includes(change)) return true;
  const [latest] = transactions;
  const reversed = transactions.find(({ revocationDate }) => revocationDate !== undefined);
  const about = change === "reverse-refund" ? reversed : latest;
  return (
    about === undefined ||
    (isAsked(about.expiresDate ?? Infinity) && about.webOrderLineItemId === latest?.webOrderLineItemId)
  );
};

interface IosPurchase {
  readonly lineage: string;
  readonly person: number;
}

interface AndroidPurchase {
  readonly token: string;
  readonly productKind: "subscription" | "one_time_product";
  readonly person: number;
}

/** Questions of the second service that fail during an outage. */
export interface Disturbance {
  /** Milliseconds, below the 30 days for which Google lists what is voided. */
  readonly lasts: number;
  readonly share: number;
  readonly random: () => number;
}

/** Two services before the same stores: one gets every notification, the other none. */
export interface SideBySide {
  readonly stores: Stores;
  readonly told: Service;
  readonly untold: Service;
  /** Lets time pass, with the stores' events, the scheduled refreshes and the sweeps. */
  advance(milliseconds: number): Promise<void>;
  play(history: History): Promise<void>;
  /** Works off both queues, at a moment at which nothing happens in the stores. */
  settle(): Promise<void>;
}

/** The first whole minute from the moment on: the schedule's. */
const minuteFrom = (moment: Instant): Instant => Math.ceil(moment / MINUTE) * MINUTE;

/** Time with the stores' events, the schedules and the outage's end. */
const passingTime = (stores: Stores, services: readonly Service[], outage: Outage, outageEndsAt: Instant) => {
  const { clock } = stores;
  let nextSweepAt = NOW + BETWEEN_SWEEPS;
  const lastRefreshAt = new Map<Service, Instant>();

  const refreshAt = async (service: Service): Promise<Instant> => {
    const last = lastRefreshAt.get(service) ?? 0;
    // A queue that is paused in an outage is tried often; here, hourly.
    const apart = outage.isOn ? HOUR : MINUTE;
    return minuteFrom(Math.max(await service.nextRefreshAt(), last + apart));
  };

  const runSchedules = async (): Promise<void> => {
    for (const service of services)
      if ((await refreshAt(service)) <= clock.now) {
        lastRefreshAt.set(service, clock.now);
        await service.refresh();
      }
    if (clock.now < nextSweepAt) return;
    nextSweepAt = clock.now + BETWEEN_SWEEPS;
    for (const service of services) await service.sweepRefunds();
  };

  return async (moment: Instant): Promise<void> => {
    for (;;) {
      const due = await Promise.all(services.map(refreshAt));
      const outageEnds = outage.isOn ? outageEndsAt : Infinity;
      const next = Math.min(moment, stores.nextEventAt(), nextSweepAt, outageEnds, ...due);
      clock.now = Math.max(clock.now, next);
      if (clock.now >= outageEnds) {
        outage.isOn = false;
        nextSweepAt = clock.now;
      }
      await stores.run();
      await runSchedules();
      if (clock.now >= moment) return;
    }
  };
};

/** Persons whose apps link what they buy. */
const customersOf = (
  { ios, android, clock }: Stores,
  link: (request: LinkRequest, name: string) => Promise<void>,
  asked: "by hand" | "by schedule",
) => {
  const iosPurchases: IosPurchase[] = [];
  const androidPurchases: AndroidPurchase[] = [];

  /** Links one lineage, as the app does. */
  const linkLineage = (bought: PersonsPurchases, { lineage, person }: IosPurchase): Promise<void> => {
    const isOf = (jws: string): boolean => decodeJwt(jws)["originalTransactionId"] === lineage;
    const request = {
      applicationAccountIdentifier: ACCOUNTS[person] ?? "",
      signedAppTransaction: bought.signedAppTransaction,
      signedTransactions: bought.signedTransactions.filter(isOf),
      signedRenewalInfos: bought.signedRenewalInfos.filter(isOf),
    };
    return link({ store: "ios-store", request }, `iOS person ${person}`);
  };

  const linkToken = async (purchase: AndroidPurchase): Promise<void> => {
    const { token, productKind, person } = purchase;
    const common = {
      applicationAccountIdentifier: ACCOUNTS[person] ?? "",
      packageName: PACKAGE_NAME,
      purchaseToken: token,
    };
    const stored = android.read(token);
    const productIdentifier =
      stored?.productKind === "one_time_product" ? (stored.answer.productLineItem?.[0]?.productId ?? "") : "";
    const request =
      productKind === "subscription"
        ? { ...common, productKind }
        : { ...common, productKind, productIdentifier };
    await link({ store: "android-store", request }, `Android purchase ${androidPurchases.length}`);
    androidPurchases.push(purchase);
  };

  const changeIos = async (purchase: IosPurchase, change: RequestedChange): Promise<void> => {
    const { lineage } = purchase;
    const person = await ios.read(lineage);
    const transactions = (person?.signedTransactions ?? [])
      .map((jws) => iosTransaction.parse(decodeJwt(jws)))
      .filter(({ originalTransactionId }) => originalTransactionId === lineage)
      .toReversed();
    const isAsked = (end: Instant): boolean => asked === "by hand" || end + LAST_AFTER_END > clock.now;
    const comes = isFound(change, transactions, isAsked);
    const changed = await ios.change(lineage, change);
    if (!comes) await linkLineage(changed, purchase);
  };

  return async (act: Act): Promise<void> => {
    switch (act.kind) {
      case "buy-ios": {
        const bought = await ios.buy({
          environment: "production",
          appTransactionIdentifier: PERSONS[act.person] ?? "",
          transactions: [act.goods],
        });
        for (const lineage of bought.originalTransactionIdentifiers) {
          const purchase = { lineage, person: act.person };
          iosPurchases.push(purchase);
          await linkLineage(bought, purchase);
        }
        return;
      }
      case "change-ios": {
        const purchase = iosPurchases[act.which % iosPurchases.length];
        return purchase && changeIos(purchase, act.change);
      }
      case "buy-android": {
        const token = android.buy(act.goods);
        await android.pushed();
        return linkToken({ token, productKind: act.goods.productKind, person: act.person });
      }
      case "change-android": {
        const purchase = androidPurchases[act.which % androidPurchases.length];
        if (purchase === undefined) return;
        const token = android.change(purchase.token, act.change, act.details);
        await android.pushed();
        // A new token is a purchase of its own, which the app links.
        if (token !== purchase.token) await linkToken({ ...purchase, token });
      }
    }
  };
};

/**
 * @param asked whether an operator has everything asked about at the end, or the scheduled refreshes have to find it
 * @param disturbance null: the stores always answer
 */
export const standSideBySide = (
  server: PushServer,
  asked: "by hand" | "by schedule",
  disturbance: Disturbance | null = null,
): SideBySide => {
  const stores = server.stores(NOW);
  const application = applicationWith(stores);
  const outage: Outage = { isOn: disturbance !== null };
  const told = createService(stores, application, stores.fetch);
  const { lasts, share, random } = disturbance ?? { lasts: 0, share: 0, random: () => 0 };
  const untold = createService(stores, application, failingFetch(outage, share, random, stores.fetch));
  const services = [told, untold];
  server.receive = told.receive;
  const advanceTo = passingTime(stores, services, outage, NOW + lasts);

  /** The app's own requests do not meet the outage: they are repeated until they succeed. */
  const link = async (request: LinkRequest, name: string): Promise<void> => {
    const { isOn } = outage;
    outage.isOn = false;
    for (const service of services) await service.link(request, name);
    outage.isOn = isOn;
  };
  const perform = customersOf(stores, link, asked);
  const advance = (milliseconds: number): Promise<void> => advanceTo(stores.clock.now + milliseconds);

  return {
    stores,
    told,
    untold,
    advance,
    play: async (history) => {
      for (const { after, act } of history) {
        await advance(after);
        await perform(act).catch((error: unknown) => {
          if (!(error instanceof ImpossibleChange)) throw error;
        });
      }
    },
    settle: async () => {
      while (stores.nextEventAt() - stores.clock.now < 3 * HOUR)
        await advanceTo(stores.nextEventAt() + MINUTE);
      await advance(2 * HOUR);
      for (const service of services) {
        await service.sweepRefunds();
        // Apple counts all notifications as delivered, so its list brings nothing to either.
        await service.sweepNotifications();
      }
    },
  };
};
