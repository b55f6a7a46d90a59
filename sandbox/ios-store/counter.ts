import { Mutex } from "async-mutex";
import type { Instant } from "../../lib/entitlements/time.ts";
import { newIdentifier, transactionPayload } from "./shop/app-store.ts";
import type { IosChange } from "./shop/change.ts";
import type { Account } from "./shop/lineage.ts";
import type { Notice } from "./shop/notices.ts";
import {
  appNotification,
  notificationOf,
  signNotification,
  type AppNotification,
  type NotifiedApp,
} from "./notifications/notifications.ts";
import { personsPurchases, type PersonsPurchases } from "./shop/payloads.ts";
import { isLive, transactionOf, type Bought } from "./shop/purchase.ts";
import type { Pushes } from "./notifications/pushes.ts";
import type { Shop } from "./shop/shop.ts";
import { signJws, type JwsSigner } from "./signing.ts";

const ENVIRONMENTS = { production: "Production", sandbox: "Sandbox" } as const;

export type Counter = ReturnType<typeof createCounter>;

/**
 * The shop with its notifications. Before a request is answered, everything due has happened, and the request's
 * notifications were sent.
 */
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
}) => {
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
  const runUntil = async (moment: Instant): Promise<void> => turns.runExclusive(async () => runDue(moment));
  /** Runs a task once everything due has happened, and then what the task has made due. */
  const upToDate = async <Result>(task: (at: Instant) => Promise<Result> | Result): Promise<Result> =>
    turns.runExclusive(async () => {
      await runDue(now());
      const at = now();
      const result = await task(at);
      await runDue(at);
      return result;
    });

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

  const sell = (purchase: Bought, at: Instant): PersonsPurchases => {
    const account = accountOf(purchase);
    const live = purchase.transactions.filter(isLive);
    const outcomes = shop.sell(account, live, at);
    const parts = purchase.transactions.map((transaction) => {
      const outcome = outcomes[live.indexOf(transaction)];
      return outcome === undefined
        ? signedAsTold(account, transaction, at, signer)
        : personsPurchases(account, [outcome.lineage], at, signer);
    });
    tell(outcomes.flatMap(({ notices }) => notices));
    return {
      ...personsPurchases(account, [], at, signer),
      signedTransactions: parts.flatMap((part) => part.signedTransactions),
      signedRenewalInfos: parts.flatMap((part) => part.signedRenewalInfos),
      originalTransactionIdentifiers: parts.flatMap((part) => part.originalTransactionIdentifiers),
    };
  };

  return {
    /**
     * Reads at once, without waiting for notifications, because a receiver may read before it answers one. Everything due
     * has happened; its notifications follow.
     */
    look: <Result>(read: (at: Instant) => Result): Result => {
      const at = now();
      for (let due = shop.nextEventAt(); due !== null && due <= at; due = shop.nextEventAt())
        tell(shop.passNextEvent());
      if (pushes.hasUnsent() || (pushes.nextAt() ?? Infinity) <= at) void runUntil(at);
      return read(at);
    },
    buy: async (purchase: Bought) => upToDate((at) => sell(purchase, at)),
    /** Null: there is no such purchase. */
    change: async (originalTransactionIdentifier: string, change: IosChange) =>
      upToDate(async (at) => {
        const lineage = shop.lineage(originalTransactionIdentifier);
        if (lineage === undefined) return null;
        const outcome = shop.change(lineage, change, at);
        tell(outcome.notices);
        await runDue(at);
        return presented(outcome.lineage.account, at);
      }),
    /** Null: there is no such purchase. */
    read: async (originalTransactionIdentifier: string) =>
      upToDate((at) => {
        const lineage = shop.lineage(originalTransactionIdentifier);
        return lineage === undefined ? null : presented(lineage.account, at);
      }),
    readAll: async () => upToDate((at) => shop.accounts().map((key) => presented(key, at))),
    notify: async (
      notification: AppNotification,
      { environment = "sandbox", ...named }: NotifiedApp,
    ): Promise<void> =>
      upToDate((at) => {
        const app = {
          bundleIdentifier: named.bundleIdentifier ?? defaults.bundleIdentifier,
          appAppleIdentifier: named.appAppleIdentifier ?? defaults.appAppleIdentifier,
          environment: ENVIRONMENTS[environment],
        };
        const signedPayload = signNotification(appNotification(notification, app, at), signer);
        pushes.queue({ signedPayload, environment: app.environment, at });
      }),
    runUntil,
  };
};

/** A transaction signed as requested, and not remembered. */
const signedAsTold = (
  account: Account,
  bought: Bought["transactions"][number],
  at: Instant,
  signer: JwsSigner,
) => {
  const { transactionIdentifier = newIdentifier(account.environment) } = bought;
  const transaction = transactionOf(bought, transactionIdentifier, at);
  return {
    signedTransactions: [signJws(transactionPayload(account, transaction), signer)],
    signedRenewalInfos: [],
    originalTransactionIdentifiers: [transaction.originalTransactionIdentifier ?? transactionIdentifier],
  };
};
