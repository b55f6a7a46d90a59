import { decodeJwt } from "jose";
import {
  iosTransaction,
  isFollowed,
  isMade,
  isRefund,
  showsInAnswers,
  type IosTransaction,
} from "./followed.ts";
import { DAY, HOUR, MINUTE } from "../../../lib/duration.ts";
import type { Instant } from "../../../lib/entitlements/time.ts";
import { ImpossibleChange } from "../../../sandbox/impossible-change.ts";
import type { PersonsPurchases } from "../../../sandbox/ios-store/shop/payloads.ts";
import { NOW } from "../../../testing/support/stores/purchases.ts";
import { applicationWith } from "./application.ts";
import type { Act, History } from "./histories.ts";
import { failingFetch, type Outage } from "./outages.ts";
import { createService, type LinkRequest, type Service } from "./service.ts";
import { PACKAGE_NAME, type PushServer } from "./stores.ts";

/** Google's list is swept hourly in the cloud; further apart, the same periods are read. */
const BETWEEN_SWEEPS = 10 * DAY;

/** Accounts of the persons, and the persons' app transaction ids. */
export const ACCOUNTS = ["a", "b"];
const PERSONS = ["704000000000001", "704000000000002"];

interface IosPurchase {
  readonly lineage: string;
  readonly person: number;
}
/** Shortest unit of each pass of the catalog. */
const SHORTEST_UNITS: Readonly<Record<string, number>> = { hint: 2 * DAY, day: 29 * DAY };

export interface AndroidPurchase {
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

export type SideBySide = ReturnType<typeof standSideBySide>;

/** The first whole minute from the moment on: the schedule's. */
const minuteFrom = (moment: Instant): Instant => Math.ceil(moment / MINUTE) * MINUTE;

/**
 * Two services before the same stores: one gets every notification, the other none.
 *
 * @param asked whether an operator has everything asked about at the end, or the scheduled refreshes have to find it
 * @param disturbance null: the stores always answer
 */
export const standSideBySide = (
  server: PushServer,
  asked: "by hand" | "by schedule",
  disturbance: Disturbance | null = null,
) => {
  const stores = server.stores(NOW);
  const { clock, ios, android } = stores;
  const application = applicationWith(stores);
  const outage: Outage = { isOn: disturbance !== null, failures: 0 };
  const outageEndsAt = NOW + (disturbance?.lasts ?? 0);
  const told = createService(stores, application, stores.fetch);
  const untold = createService(
    stores,
    application,
    disturbance === null
      ? stores.fetch
      : failingFetch(outage, disturbance.share, disturbance.random, stores.fetch),
  );
  const services = [told, untold];
  server.receive = told.receive;

  const iosPurchases: IosPurchase[] = [];
  const androidPurchases: AndroidPurchase[] = [];
  let nextSweepAt = NOW + BETWEEN_SWEEPS;
  let lastSweepAt = NOW;
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
    lastSweepAt = clock.now;
    for (const service of services) await service.sweepRefunds();
  };

  const advanceTo = async (moment: Instant): Promise<void> => {
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

  /** The app's own requests do not meet the outage: they are repeated until they succeed. */
  const link = async (request: LinkRequest, name: string): Promise<void> => {
    const { isOn } = outage;
    outage.isOn = false;
    for (const service of services) await service.link(request, name);
    outage.isOn = isOn;
  };

  /** Links one lineage, as the app does. */
  const linkLineage = async (bought: PersonsPurchases, { lineage, person }: IosPurchase): Promise<void> => {
    const isOf = (jws: string): boolean => decodeJwt(jws)["originalTransactionId"] === lineage;
    const request = {
      applicationAccountIdentifier: ACCOUNTS[person] ?? "",
      signedAppTransaction: bought.signedAppTransaction,
      signedTransactions: bought.signedTransactions.filter(isOf),
      signedRenewalInfos: bought.signedRenewalInfos.filter(isOf),
    };
    await link({ store: "ios-store", request }, `iOS person ${person}`);
  };

  const linkToken = async ({ token, productKind, person }: AndroidPurchase): Promise<void> => {
    const common = {
      applicationAccountIdentifier: ACCOUNTS[person] ?? "",
      packageName: PACKAGE_NAME,
      purchaseToken: token,
    };
    const stored = android.read(token);
    const productIdentifier =
      stored?.productKind === "one_time_product" ? (stored.answer.productLineItem?.[0]?.productId ?? "") : "";
    await link(
      {
        store: "android-store",
        request:
          productKind === "subscription"
            ? { ...common, productKind }
            : { ...common, productKind, productIdentifier },
      },
      `Android purchase ${androidPurchases.length}`,
    );
    if (!androidPurchases.some((known) => known.token === token))
      androidPurchases.push({ token, productKind, person });
  };

  /** Whether the first unit of a pass ends before the next sweep. */
  const mayBeUsedUp = ({ token }: AndroidPurchase): boolean => {
    const stored = android.read(token);
    if (stored?.productKind !== "one_time_product") return false;
    const unit = SHORTEST_UNITS[stored.answer.productLineItem?.[0]?.productId ?? ""] ?? Infinity;
    return clock.now + 2 * HOUR >= Date.parse(stored.answer.purchaseCompletionTime ?? "") + unit;
  };

  /**
   * Google dates no refund of a part of a quantity: what counts as used by then depends on when the service hears of it.
   * The list is swept hourly, so here soon. In an outage, and where a unit may be used up so that each minute counts, the app
   * links the purchase again.
   */
  const hearOfPart = async (purchase: AndroidPurchase): Promise<void> => {
    if (outage.isOn || mayBeUsedUp(purchase)) await linkToken(purchase);
    else nextSweepAt = Math.max(clock.now + MINUTE, lastSweepAt + HOUR);
  };

  /** The transactions of a lineage, the latest first. */
  const transactionsOf = async ({ lineage }: IosPurchase): Promise<readonly IosTransaction[]> => {
    const { signedTransactions } = await ios.read(lineage);
    return signedTransactions
      .map((jws) => iosTransaction.parse(decodeJwt(jws)))
      .filter(({ originalTransactionId }) => originalTransactionId === lineage)
      .toReversed();
  };

  const doAct = async (act: Act): Promise<void> => {
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
        if (purchase === undefined) return;
        const { change } = act;
        const transactions = await transactionsOf(purchase);
        // An upgrade is to another product.
        if (change.change === "upgrade" && change.productIdentifier === transactions[0]?.productId) return;
        if (!isMade(change, transactions, clock.now)) return;
        const named = isRefund(change) ? transactions[act.transaction % transactions.length] : undefined;
        const isFound = showsInAnswers(change, transactions, named, clock.now);
        const isInTime = asked === "by hand" || isFollowed(change, transactions, named, clock.now);
        const changed = await ios.change(purchase.lineage, {
          ...change,
          ...(named !== undefined && { transactionIdentifier: named.transactionId }),
        });
        // The rest comes with the next request of the person's app.
        if (!isFound || !isInTime) await linkLineage(changed, purchase);
        return;
      }
      case "share": {
        const purchase = iosPurchases[act.which % iosPurchases.length];
        const appTransactionIdentifier = PERSONS[act.person];
        if (purchase === undefined || appTransactionIdentifier === undefined) return;
        const { person } = act;
        const shared = await ios.change(purchase.lineage, {
          change: "share-with-family",
          appTransactionIdentifier,
        });
        const member = { lineage: shared.originalTransactionIdentifiers.at(-1) ?? "", person };
        iosPurchases.push(member);
        await linkLineage(shared, member);
        return;
      }
      case "buy-android": {
        const token = android.buy(act.goods);
        await android.pushed();
        await linkToken({ token, productKind: act.goods.productKind, person: act.person });
        return;
      }
      case "change-android": {
        const purchase = androidPurchases[act.which % androidPurchases.length];
        if (purchase === undefined) return;
        const next = android.change(purchase.token, act.change, act.details);
        const isNew = next !== purchase.token;
        const token = isNew && act.isRepeated ? android.change(next, act.change, act.details) : next;
        await android.pushed();
        // A new token is a purchase of its own, which the app links.
        if (token !== purchase.token) await linkToken({ ...purchase, token });
        if (act.change === "refund-partly") await hearOfPart(purchase);
        // Nobody is told, and no list names it: what is known depends on when the service last asked.
        if (act.change === "refund-without-revocation" && purchase.productKind === "one_time_product")
          await linkToken(purchase);
      }
    }
  };

  const perform = async (act: Act): Promise<void> => {
    try {
      await doAct(act);
    } catch (error) {
      if (!(error instanceof ImpossibleChange)) throw error;
    }
  };

  const advance = async (milliseconds: number): Promise<void> => advanceTo(clock.now + milliseconds);

  return {
    stores,
    told,
    untold,
    outage,
    /** Lets time pass, with the stores' events, the scheduled refreshes and the sweeps. */
    advance,
    perform,
    /** The app links a purchase token to a person's account. */
    linkToken,
    play: async (history: History): Promise<void> => {
      for (const { after, act } of history) {
        await advance(after);
        await perform(act);
      }
    },
    /** Works off both queues, at a moment at which nothing happens in the stores. */
    settle: async (): Promise<void> => {
      while (stores.nextEventAt() - clock.now < 3 * HOUR) await advanceTo(stores.nextEventAt() + MINUTE);
      await advance(2 * HOUR);
      for (const service of services) {
        await service.sweepRefunds();
        // Apple counts all notifications as delivered, so its list brings nothing to either.
        await service.sweepNotifications();
      }
    },
  };
};
