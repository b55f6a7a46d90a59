import { Mutex } from "async-mutex";
import { randomUUID } from "node:crypto";
import type { Instant } from "../../lib/entitlements/time.ts";
import { newIdentifier, transactionPayload } from "./shop/app-store.ts";
import type { IosChange } from "./shop/change.ts";
import type { Account } from "./shop/lineage.ts";
import type { Notice } from "./shop/notices.ts";
import {
  appNotifications,
  notificationOf,
  signNotification,
  type AppNotification,
  type NotifiedApp,
} from "./notifications/notifications.ts";
import { personsPurchases, type PersonsPurchases } from "./shop/payloads.ts";
import { goodsOf, isLive, transactionOf, type Bought } from "./shop/purchase.ts";
import type { Pushes } from "./notifications/pushes.ts";
import type { Shop } from "./shop/shop.ts";
import { signJws, type JwsSigner } from "./signing.ts";

/**
 * The shop with its notifications. Before a request is answered, everything due has happened, and the request's
 * notifications were sent.
 */
export interface Counter {
  /**
   * Reads at once, without waiting for notifications, because a receiver may read before it answers one. Everything due
   * has happened; its notifications follow.
   */
  look<Result>(read: (at: Instant) => Result): Result;
  buy(purchase: Bought): Promise<PersonsPurchases>;
  /** Null: there is no such purchase. */
  change(originalTransactionIdentifier: string, change: IosChange): Promise<PersonsPurchases | null>;
  /** Null: there is no such purchase. */
  read(originalTransactionIdentifier: string): Promise<PersonsPurchases | null>;
  readAll(): Promise<readonly PersonsPurchases[]>;
  notify(notification: AppNotification, app: NotifiedApp): Promise<void>;
  /** Sends a notification without waiting for it; returns its `notificationUUID`. */
  notifyLater(notification: AppNotification, app: NotifiedApp): string;
  runUntil(moment: Instant): Promise<void>;
}

const ENVIRONMENTS = { production: "Production", sandbox: "Sandbox" } as const;

export const createCounter = ({
  shop,
  pushes,
  signer,
  now,
  ...defaults
}: {
  readonly shop: Shop;
  readonly pushes: Pushes;
  readonly signer: JwsSigner;
  readonly now: () => Instant;
  readonly bundleIdentifier: string;
  readonly appAppleIdentifier: number;
}): Counter => {
  /** Queues the notifications of what has happened, in order. */
  const tell = (notices: readonly Notice[]): void => {
    for (const notice of notices) {
      const account = shop.account(notice.lineage.account);
      const signedPayload = signNotification(notificationOf(account, notice, signer), signer);
      pushes.queue({ signedPayload, environment: account.environment, at: notice.lineage.changedAt });
    }
  };

  /** Sends the queued notifications, and runs everything that is due. */
  const runDue = async (moment: Instant): Promise<void> => {
    for (;;) {
      const eventAt = shop.nextEventAt() ?? Infinity;
      const retryAt = pushes.nextAt() ?? Infinity;
      if (pushes.hasUnsent()) await pushes.sendNext();
      else if (Math.min(eventAt, retryAt) > moment) return;
      else if (eventAt <= retryAt) tell(shop.passNextEvent());
      else await pushes.retryNext();
    }
  };

  /** Tasks run one at a time, so that notifications keep the order of their events. */
  const turns = new Mutex();
  /** Runs a task once everything due has happened. */
  const upToDate = async <Result>(task: (at: Instant) => Promise<Result> | Result): Promise<Result> =>
    turns.runExclusive(async () => {
      await runDue(now());
      return task(now());
    });

  /** Sends queued and due notifications when their turn comes. */
  const sendLater = (): void => {
    if (pushes.hasUnsent() || (pushes.nextAt() ?? Infinity) <= now())
      void turns.runExclusive(async () => runDue(now()));
  };

  const presented = (key: string, at: Instant): PersonsPurchases =>
    personsPurchases(shop.account(key), shop.lineagesOf(key), at, signer);

  const accountOf = ({ applicationAccountIdentifier, ...customer }: Bought): Account => {
    const environment = ENVIRONMENTS[customer.environment];
    return {
      bundleIdentifier: customer.bundleIdentifier ?? defaults.bundleIdentifier,
      appAppleIdentifier: customer.appAppleIdentifier ?? defaults.appAppleIdentifier,
      environment,
      appTransactionIdentifier:
        customer.appTransactionIdentifier === undefined
          ? newIdentifier(environment)
          : customer.appTransactionIdentifier,
      ...(applicationAccountIdentifier !== undefined && { applicationAccountIdentifier }),
    };
  };

  /** Queues a notification about an app; returns its `notificationUUID`. */
  const announce = (
    notification: AppNotification,
    { environment = "sandbox", ...app }: NotifiedApp,
    at: Instant,
  ): string => {
    const notified = {
      bundleIdentifier: app.bundleIdentifier ?? defaults.bundleIdentifier,
      appAppleIdentifier: app.appAppleIdentifier ?? defaults.appAppleIdentifier,
      environment: ENVIRONMENTS[environment],
    };
    const notificationUUID = randomUUID();
    const fields = { notificationUUID, ...appNotifications[notification](notified, at) };
    pushes.queue({
      signedPayload: signNotification(fields, signer),
      environment: notified.environment,
      at,
    });
    return notificationUUID;
  };

  return {
    look: (read) => {
      const at = now();
      for (let due = shop.nextEventAt(); due !== null && due <= at; due = shop.nextEventAt())
        tell(shop.passNextEvent());
      sendLater();
      return read(at);
    },
    buy: async (purchase) => {
      const account = accountOf(purchase);
      const { transactions } = purchase;
      return upToDate(async (at) => {
        const live = transactions.filter(isLive);
        const outcomes = shop.sell(
          account,
          live.map((transaction) => goodsOf(transaction, at)),
          at,
        );
        const parts = transactions.map((transaction): PersonsPurchases | PurchaseAsTold => {
          const outcome = outcomes[live.indexOf(transaction)];
          return outcome === undefined
            ? signedAsTold(account, transaction, at, signer)
            : personsPurchases(account, [outcome.lineage], at, signer);
        });
        tell(outcomes.flatMap(({ notices }) => notices));
        await runDue(at);
        return {
          ...personsPurchases(account, [], at, signer),
          signedTransactions: parts.flatMap((part) => part.signedTransactions),
          signedRenewalInfos: parts.flatMap((part) => part.signedRenewalInfos),
          originalTransactionIdentifiers: parts.flatMap((part) => part.originalTransactionIdentifiers),
        };
      });
    },
    change: async (originalTransactionIdentifier, change) =>
      upToDate(async (at) => {
        const lineage = shop.lineage(originalTransactionIdentifier);
        if (lineage === undefined) return null;
        const outcome = shop.change(lineage, change, at);
        tell(outcome.notices);
        // A change may make something due at once.
        await runDue(at);
        return presented(outcome.lineage.account, at);
      }),
    read: async (originalTransactionIdentifier) =>
      upToDate((at) => {
        const lineage = shop.lineage(originalTransactionIdentifier);
        return lineage === undefined ? null : presented(lineage.account, at);
      }),
    readAll: async () => upToDate((at) => shop.accounts().map((key) => presented(key, at))),
    notify: async (notification, app) =>
      upToDate(async (at) => {
        announce(notification, app, at);
        await runDue(at);
      }),
    notifyLater: (notification, app) => {
      const notificationUUID = announce(notification, app, now());
      sendLater();
      return notificationUUID;
    },
    runUntil: async (moment) => turns.runExclusive(async () => runDue(moment)),
  };
};

type PurchaseAsTold = Pick<
  PersonsPurchases,
  "signedTransactions" | "signedRenewalInfos" | "originalTransactionIdentifiers"
>;

/** A transaction signed as requested, and not remembered. */
const signedAsTold = (
  account: Account,
  bought: Bought["transactions"][number],
  at: Instant,
  signer: JwsSigner,
): PurchaseAsTold => {
  const { transactionIdentifier = newIdentifier(account.environment) } = bought;
  const transaction = transactionOf(bought, transactionIdentifier, at);
  return {
    signedTransactions: [signJws(transactionPayload(account, transaction), signer)],
    signedRenewalInfos: [],
    originalTransactionIdentifiers: [transaction.originalTransactionIdentifier ?? transactionIdentifier],
  };
};
