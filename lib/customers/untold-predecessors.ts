import type { AndroidStoreConfiguration, Application } from "../applications/application.ts";
import { SECOND } from "../duration.ts";
import { referenceText, type Purchase } from "../entitlements/purchase.ts";
import type { Instant } from "../entitlements/time.ts";
import type { CustomerId } from "../identifiers.ts";
import type { AndroidStore, UnansweredLookUp } from "../stores/android-store/android-store.ts";
import { purchaseKeyOfToken } from "../stores/android-store/purchase-token.ts";
import type { VerifiedPurchase } from "../stores/android-store/reading.ts";
import type { KnownFacts } from "./customer-table.ts";
import type { FactStore } from "./fact-store.ts";
import type { Claim } from "./resolve-customer.ts";
import { isOfThisPurchase, UnansweredLookUpError } from "./unanswered-look-up.ts";

export interface PredecessorLookUps extends Pick<FactStore, "table" | "now"> {
  readonly androidStore: Pick<AndroidStore, "lookUp">;
}

/** A verified purchase, and its token. */
export interface Predecessor {
  readonly purchaseToken: string;
  readonly verified: VerifiedPurchase;
}

/** Steps back from one purchase: more plan changes or top-ups than anybody makes without one of them becoming known. */
const MOST_STEPS = 20;

/** Steps that are always made, and the time after which no more are: a link has half a minute for all it does. */
const [SURE_STEPS, SEARCH_MILLISECONDS] = [5, 8 * SECOND];

const referenceOf = ({ store, environment }: Purchase, purchaseToken: string) => ({
  store,
  environment,
  key: purchaseKeyOfToken(purchaseToken),
});

/**
 * Whether the store is asked about a purchase that another one mentions: it is not stored, or without anything paid for, as while its
 * payment was pending, or where the store did not know it then. What is paid for and mentions it shows that it was paid for, too; so it is
 * asked about when that one is first heard of as paid for, and while that one's acknowledgement is due. After that, a pending payment is
 * asked about by its own refreshes.
 *
 * @param isFirst whether the purchase that mentions it is first heard of as paid for
 * @param isDue whether that one's acknowledgement is due
 */
const isUnknown = (
  { purchases, erasedPurchases }: KnownFacts,
  reference: string,
  { isFirst, isDue }: { readonly isFirst: boolean; readonly isDue: boolean },
): boolean => {
  const stored = purchases.get(reference);
  if (stored === undefined) return !erasedPurchases.has(reference);
  const { lines, verifiedAt } = stored.purchase;
  return lines.length === 0 && (isDue || (isFirst && verifiedAt > 0));
};

/** Tokens of a purchase's predecessors to ask the store about. */
const unknownTo = (
  known: KnownFacts,
  { purchase, predecessors, acknowledgement }: VerifiedPurchase,
): readonly string[] => {
  const before = known.purchases.get(referenceText(purchase))?.purchase.lines ?? [];
  const state = {
    isFirst: purchase.lines.length > 0 && before.length === 0,
    isDue: acknowledgement !== null,
  };
  return predecessors.filter((token) => isUnknown(known, referenceText(referenceOf(purchase, token)), state));
};

/** Customers of the tokens of which the store has answered before. */
const answeredOf = (
  { purchases }: KnownFacts,
  { purchase, predecessors }: VerifiedPurchase,
): readonly (readonly [token: string, customer: CustomerId])[] =>
  predecessors.flatMap((token) => {
    const stored = purchases.get(referenceText(referenceOf(purchase, token)));
    return stored !== undefined && stored.purchase.verifiedAt > 0 ? [[token, stored.customer] as const] : [];
  });

/**
 * Whether a claimed or stored purchase waits for the store's answer about a predecessor. If its acknowledgement is due,
 * it waits until a third of the time to the deadline is left; otherwise, unless the fault is the predecessor's own.
 */
const mayWait = (
  { purchase, acknowledgement }: VerifiedPurchase,
  unanswered: UnansweredLookUp,
  now: Instant,
): boolean => {
  if (acknowledgement === null) return !isOfThisPurchase(unanswered);
  const { deadline } = acknowledgement;
  const startsAt = purchase.lines[0]?.startsAt ?? now;
  return 3 * (deadline - now) > deadline - startsAt;
};

/**
 * The store's answer about a predecessor; null: the store has dropped it, its environment is not accepted, or the store
 * does not answer and the purchase does not wait.
 */
const lookUp = async (
  { androidStore }: PredecessorLookUps,
  configuration: AndroidStoreConfiguration,
  purchaseToken: string,
  waitsFor: (unanswered: UnansweredLookUp) => Promise<boolean>,
): Promise<Predecessor | null> => {
  const question = { purchaseToken, productKind: "subscription", productIdentifier: null } as const;
  const answer = await androidStore.lookUp(configuration, question);
  switch (answer.outcome) {
    case "verified":
      return configuration.environments.includes(answer.purchase.environment)
        ? { purchaseToken, verified: answer }
        : null;
    case "rejected":
    case "gone":
      return null;
    case "unavailable":
    case "credential-rejected":
      if (!(await waitsFor(answer))) return null;
      throw new UnansweredLookUpError(answer);
  }
};

/**
 * Looks up the predecessors of a purchase that are not stored, or only as not paid for, their predecessors, and so on: no message told
 * of their payment, and only they connect the purchase with a stored one. Reads the table once for each step after the first.
 *
 * If the store does not answer about one of them, the request fails and is sent again. A purchase that is neither
 * claimed nor stored waits without a limit: storing it would not link it, and its predecessor would count as known. None waits for a
 * predecessor that is stored as not paid for and belongs to an account: the newer one belongs there, too, and while its payment is
 * pending, the older one has its own refreshes.
 *
 * @param claim the request's claim; null: none
 * @param known stored state of the purchase and its predecessors
 * @returns the answers, oldest purchase first
 * @throws UnansweredLookUpError
 * @see https://developers.google.com/android-publisher/api-ref/rest/v3/purchases.subscriptionsv2#SubscriptionPurchaseV2
 * `linkedPurchaseToken`
 */
export const untoldPredecessors = async (
  lookUps: PredecessorLookUps,
  { identifier }: Application,
  configuration: AndroidStoreConfiguration,
  verified: VerifiedPurchase,
  claim: Claim | null,
  known: KnownFacts,
): Promise<readonly Predecessor[]> => {
  const isNobodys = claim === null && !known.purchases.has(referenceText(verified.purchase));
  const now = lookUps.now();
  const found = new Map<string, Predecessor>();
  const answeredBefore = new Map(answeredOf(known, verified));
  const isLinked = async (token: string): Promise<boolean> => {
    const customer = answeredBefore.get(token);
    if (customer === undefined) return false;
    const { living } = await lookUps.table.findCustomers(identifier, [customer]);
    return (living.get(customer)?.link ?? null) !== null;
  };
  const lookUpOf = (token: string) =>
    lookUp(
      lookUps,
      configuration,
      token,
      async (unanswered) => (isNobodys || mayWait(verified, unanswered, now)) && !(await isLinked(token)),
    );
  let tokens = unknownTo(known, verified);
  for (let step = 1; tokens.length > 0; step += 1) {
    const answers = await Promise.all(tokens.map(lookUpOf));
    const answered = answers.filter((answer) => answer !== null);
    for (const one of answered) found.set(one.purchaseToken, one);
    const named = answered.filter((one) => one.verified.predecessors.length > 0);
    const isLate = step >= SURE_STEPS && lookUps.now() >= now + SEARCH_MILLISECONDS;
    if (step === MOST_STEPS || isLate || named.length === 0) break;
    const references = named.flatMap((one) =>
      one.verified.predecessors.map((token) => referenceOf(one.verified.purchase, token)),
    );
    const stored = await lookUps.table.findFacts(identifier, [], references, lookUps.now());
    for (const [token, customer] of named.flatMap((one) => answeredOf(stored, one.verified)))
      answeredBefore.set(token, customer);
    const next = new Set(named.flatMap((one) => unknownTo(stored, one.verified)));
    tokens = [...next].filter((token) => !found.has(token));
  }
  return [...found.values()].toReversed();
};
