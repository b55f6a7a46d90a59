import { decodeJwt } from "jose";
import * as z from "zod";
import { DAY, HOUR } from "../../../lib/duration.ts";
import { ImpossibleChange } from "../../../sandbox/routes.ts";
import type { PersonsPurchases } from "../../../sandbox/ios-store/shop/payloads.ts";
import type { Act } from "./histories.ts";
import type { LinkRequest, Service } from "./service.ts";
import { PACKAGE_NAME, type Stores } from "./stores.ts";
import type { Time } from "./time.ts";
import type { Instant } from "../../../lib/entitlements/time.ts";
import type { RequestedChange } from "../../../sandbox/ios-store/shop/requests.ts";

/**
 * Which changes of iOS purchases a refresh finds. All others come by a notification, or with the next request of the
 * person's app, which sends all transactions.
 */

const iosTransaction = z.object({
  transactionId: z.string(),
  originalTransactionId: z.string(),
  /** A subscription's period; its restored copies have the same. */
  webOrderLineItemId: z.string().optional(),
  productId: z.string(),
  type: z.string(),
  purchaseDate: z.number(),
  expiresDate: z.number().optional(),
  revocationDate: z.number().optional(),
});
type IosTransaction = z.output<typeof iosTransaction>;

const isRefund = ({ change }: RequestedChange): boolean => change === "refund" || change === "refund-partly";

const isAboutRefund = (change: RequestedChange): boolean =>
  isRefund(change) || change.change === "reverse-refund" || change.change === "unshare";

/** The transaction that a change is about: of a reversal the latest that was refunded, or else the latest of all. */
const concerned = (
  { change }: RequestedChange,
  transactions: readonly IosTransaction[],
  named: IosTransaction | undefined,
): IosTransaction | undefined =>
  change === "reverse-refund"
    ? transactions.find(({ revocationDate }) => revocationDate !== undefined)
    : (named ?? transactions[0]);

/** Time before a period's end at which a renewal may be charged. */
const CHARGED_AHEAD = 2 * DAY;

/** Whether the App Store makes such a change: it renews no subscription whose next period is charged and has not begun. */
const isMade = ({ change }: RequestedChange, [latest]: readonly IosTransaction[], now: Instant): boolean =>
  !(change.startsWith("renew") && latest !== undefined && latest.purchaseDate > now);

/**
 * Whether Apple's answers show the change: the statuses tell the latest transaction of each subscription, so a refund of
 * an earlier period, or its reversal, is not among them. Such a period is over, or about to be. Nor is the mark of an upgrade,
 * which alone tells it from a renewal charged ahead.
 *
 * @param transactions of the lineage, the latest first
 * @param named the transaction that is refunded
 */
const showsInAnswers = (
  change: RequestedChange,
  transactions: readonly IosTransaction[],
  named: IosTransaction | undefined,
  now: Instant,
): boolean => {
  const [latest] = transactions;
  if (change.change === "upgrade") return now < (latest?.expiresDate ?? Infinity) - CHARGED_AHEAD;
  return (
    !isAboutRefund(change) ||
    concerned(change, transactions, named)?.webOrderLineItemId === latest?.webOrderLineItemId
  );
};

/** Last question after an end that Apple calls over, and after the purchase of a pass. */
const LAST_AFTER_END = 30 * DAY;
const LAST_OF_PASS = 394 * DAY;

/**
 * Whether the schedule still asks when the change happens. It asks about no consumable, and always about a
 * non-consumable.
 */
const isFollowed = (
  change: RequestedChange,
  transactions: readonly IosTransaction[],
  named: IosTransaction | undefined,
  now: Instant,
): boolean => {
  if (!isAboutRefund(change) && change.change !== "resubscribe") return true;
  const about = concerned(change, transactions, named);
  if (about === undefined) return true;
  const { type, purchaseDate, expiresDate = Infinity } = about;
  const isPassOver = type === "Non-Renewing Subscription" && purchaseDate + LAST_OF_PASS <= now;
  return type !== "Consumable" && !isPassOver && expiresDate + LAST_AFTER_END > now;
};

/** Whether an operator has everything asked about at the end, or the scheduled refreshes have to find it. */
export type Asked = "by hand" | "by schedule";

/** Accounts of the persons, and the persons' app transaction ids. */
export const ACCOUNTS = ["a", "b"];
const PERSONS = ["704000000000001", "704000000000002"];

interface IosPurchase {
  readonly lineage: string;
  readonly person: number;
}
interface AndroidPurchase {
  readonly token: string;
  readonly productKind: "subscription" | "one_time_product";
  readonly person: number;
}

type Does<Kind extends Act["kind"]> = (act: Act & { readonly kind: Kind }) => Promise<void>;

/** Shortest unit of each pass of the catalog. */
const SHORTEST_UNITS: Readonly<Record<string, number>> = { hint: 2 * DAY, day: 29 * DAY };

const createIosCustomers = (
  { clock, ios }: Stores,
  link: (request: LinkRequest, name: string) => Promise<void>,
  asked: Asked,
) => {
  const purchases: IosPurchase[] = [];
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
  /** The transactions of a lineage, the latest first. */
  const transactionsOf = async ({ lineage }: IosPurchase): Promise<readonly IosTransaction[]> => {
    const { signedTransactions } = await ios.read(lineage);
    return signedTransactions
      .map((jws) => iosTransaction.parse(decodeJwt(jws)))
      .filter(({ originalTransactionId }) => originalTransactionId === lineage)
      .toReversed();
  };
  const own = async (bought: PersonsPurchases, lineage: string, person: number): Promise<void> => {
    const purchase = { lineage, person };
    purchases.push(purchase);
    await linkLineage(bought, purchase);
  };
  const buy: Does<"buy-ios"> = async ({ person, goods }) => {
    const bought = await ios.buy({
      environment: "production",
      appTransactionIdentifier: PERSONS[person] ?? "",
      transactions: [goods],
    });
    for (const lineage of bought.originalTransactionIdentifiers) await own(bought, lineage, person);
  };
  const change: Does<"change-ios"> = async ({ which, change, transaction }) => {
    const purchase = purchases[which % purchases.length];
    if (purchase === undefined) return;
    const transactions = await transactionsOf(purchase);
    // An upgrade is to another product.
    if (change.change === "upgrade" && change.productIdentifier === transactions[0]?.productId) return;
    if (!isMade(change, transactions, clock.now)) return;
    const named = isRefund(change) ? transactions[transaction % transactions.length] : undefined;
    const isFound = showsInAnswers(change, transactions, named, clock.now);
    const isInTime = asked === "by hand" || isFollowed(change, transactions, named, clock.now);
    const changed = await ios.change(purchase.lineage, {
      ...change,
      ...(named !== undefined && { transactionIdentifier: named.transactionId }),
    });
    // The rest comes with the next request of the person's app.
    if (!isFound || !isInTime) await linkLineage(changed, purchase);
  };
  const share: Does<"share"> = async ({ which, person }) => {
    const purchase = purchases[which % purchases.length];
    const appTransactionIdentifier = PERSONS[person];
    if (purchase === undefined || appTransactionIdentifier === undefined) return;
    const requested = { change: "share-with-family", appTransactionIdentifier } as const;
    const shared = await ios.change(purchase.lineage, requested);
    await own(shared, shared.originalTransactionIdentifiers.at(-1) ?? "", person);
  };
  return { buy, change, share };
};

const createAndroidCustomers = (
  { clock, android }: Stores,
  link: (request: LinkRequest, name: string) => Promise<void>,
  { outage, sweepSoon }: Time,
) => {
  const purchases: AndroidPurchase[] = [];
  const oneTimeAnswerOf = (token: string) => {
    const stored = android.read(token);
    return stored?.productKind === "one_time_product" ? stored.answer : null;
  };
  /** The app links a purchase token to a person's account. */
  const linkToken = async ({ token, productKind, person }: AndroidPurchase): Promise<void> => {
    const common = {
      applicationAccountIdentifier: ACCOUNTS[person] ?? "",
      packageName: PACKAGE_NAME,
      purchaseToken: token,
    };
    const productIdentifier = oneTimeAnswerOf(token)?.productLineItem?.[0]?.productId ?? "";
    const request =
      productKind === "subscription"
        ? { ...common, productKind }
        : { ...common, productKind, productIdentifier };
    await link({ store: "android-store", request }, `Android purchase ${purchases.length}`);
    if (!purchases.some((known) => known.token === token)) purchases.push({ token, productKind, person });
  };
  /** Whether the first unit of a pass ends before the next sweep. */
  const mayBeUsedUp = ({ token }: AndroidPurchase): boolean => {
    const answer = oneTimeAnswerOf(token);
    if (answer === null) return false;
    const unit = SHORTEST_UNITS[answer.productLineItem?.[0]?.productId ?? ""] ?? Infinity;
    return clock.now + 2 * HOUR >= Date.parse(answer.purchaseCompletionTime ?? "") + unit;
  };
  /**
   * Google dates no refund of a part of a quantity: what counts as used by then depends on when the service hears of it.
   * The list is swept hourly, so here soon. In an outage, and where a unit may be used up so that each minute counts, the app
   * links the purchase again.
   */
  const hearOfPart = async (purchase: AndroidPurchase): Promise<void> => {
    if (outage.isOn || mayBeUsedUp(purchase)) await linkToken(purchase);
    else sweepSoon();
  };
  const buy: Does<"buy-android"> = async ({ goods, person }) => {
    const token = android.buy(goods);
    await android.pushed();
    await linkToken({ token, productKind: goods.productKind, person });
  };
  const change: Does<"change-android"> = async ({ which, change, details, isRepeated }) => {
    const purchase = purchases[which % purchases.length];
    if (purchase === undefined) return;
    const next = android.change(purchase.token, { change, ...details });
    const token = next !== purchase.token && isRepeated ? android.change(next, { change, ...details }) : next;
    await android.pushed();
    // A new token is a purchase of its own, which the app links.
    if (token !== purchase.token) await linkToken({ ...purchase, token });
    if (change === "refund-partly") await hearOfPart(purchase);
    // Nobody is told, and no list names it: what is known depends on when the service last asked.
    if (change === "refund-without-revocation" && purchase.productKind === "one_time_product")
      await linkToken(purchase);
  };
  return { buy, change, linkToken };
};

/** Persons who buy in both stores, and whose apps link what they bought to their accounts in both services. */
export const createCustomers = (stores: Stores, services: readonly Service[], time: Time, asked: Asked) => {
  /** The app's own requests do not meet the outage: they are repeated until they succeed. */
  const link = async (request: LinkRequest, name: string): Promise<void> => {
    const { isOn } = time.outage;
    time.outage.isOn = false;
    for (const service of services) await service.link(request, name);
    time.outage.isOn = isOn;
  };
  const onIos = createIosCustomers(stores, link, asked);
  const onAndroid = createAndroidCustomers(stores, link, time);
  const doAct = async (act: Act): Promise<void> => {
    switch (act.kind) {
      case "buy-ios":
        return onIos.buy(act);
      case "change-ios":
        return onIos.change(act);
      case "share":
        return onIos.share(act);
      case "buy-android":
        return onAndroid.buy(act);
      case "change-android":
        return onAndroid.change(act);
    }
  };
  return {
    linkToken: onAndroid.linkToken,
    /** What the stores refuse does not happen. */
    perform: async (act: Act): Promise<void> => {
      await doAct(act).catch((error: unknown) => {
        if (!(error instanceof ImpossibleChange)) throw error;
      });
    },
  };
};
