import { decodeJwt } from "jose";
import { DAY, HOUR } from "../../../lib/duration.ts";
import { ImpossibleChange } from "../../../sandbox/routes.ts";
import type { PersonsPurchases } from "../../../sandbox/ios-store/shop/payloads.ts";
import {
  iosTransaction,
  isFollowed,
  isMade,
  isRefund,
  showsInAnswers,
  type IosTransaction,
} from "./followed.ts";
import type { Act } from "./histories.ts";
import type { LinkRequest, Service } from "./service.ts";
import { PACKAGE_NAME, type Stores } from "./stores.ts";
import type { Time } from "./time.ts";

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
