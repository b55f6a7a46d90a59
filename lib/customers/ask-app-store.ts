import type { Application, IosStoreConfiguration } from "../applications/application.ts";
import { eventsOf } from "../entitlements/events.ts";
import { untoldEndOf } from "../entitlements/periods.ts";
import { referenceText, type Line, type Purchase, type PurchaseReference } from "../entitlements/purchase.ts";
import type { Renewal } from "../entitlements/renewal.ts";
import type { Instant } from "../entitlements/time.ts";
import type { FactsOrigin } from "../freshness/refresh.ts";
import { isDisputed } from "../freshness/refresh-times.ts";
import { compare } from "../order.ts";
import { disagreement } from "../stores/ios-store/agreement.ts";
import type {
  AppStoreAnswer,
  AppStoreApp,
  AppStoreServer,
  SignedFacts,
} from "../stores/ios-store/app-store-server.ts";
import { distinctJws } from "../stores/ios-store/jws.ts";
import { appTransactionIdentityOf, purchasesOf } from "../stores/ios-store/purchases.ts";
import { renewalsOf, type StatedRenewalInfo } from "../stores/ios-store/renewal-info.ts";
import type { Transaction } from "../stores/ios-store/transaction.ts";
import type { Trust } from "../stores/ios-store/trust.ts";
import type { VerifyAll } from "../stores/ios-store/verifier.ts";
import type { IosStoreCustomers } from "./ios-store-request.ts";
import { iosStoreOrigin, type VerifiedFacts } from "./verified-facts.ts";

export interface AppStoreQuestions extends IosStoreCustomers {
  readonly appStore: AppStoreServer;
}

/** `isCut`: of the history there is more than was read. */
type AskedFacts = SignedFacts & { readonly isCut?: boolean };
type Asked = AppStoreAnswer<AskedFacts>;

/** Maximum number of history pages read. The latest changes come first, refunds among them. */
const HISTORY_PAGES = 20;

/** Time after which a refresh asks nothing more and stores the answers it has. One question takes up to 10 seconds. */
const ASKING_MILLISECONDS = 15_000;

/** All transactions of a person, including copies of one purchase that restores made. */
const askHistory = async (
  { appStore, now }: AppStoreQuestions,
  app: AppStoreApp,
  transactionIdentifier: string,
  until: Instant,
): Promise<Asked> => {
  const signedTransactions: string[] = [];
  let revision: string | null = null;
  for (let page = 1; page <= HISTORY_PAGES; page += 1) {
    const answer = await appStore.transactionHistory(app, transactionIdentifier, revision);
    if (answer.outcome !== "answered") return answer;
    signedTransactions.push(...answer.content.signedTransactions);
    revision = answer.content.next;
    if (revision === null || now() >= until) break;
  }
  return {
    outcome: "answered",
    content: { signedTransactions, signedRenewalInfos: [], isCut: revision !== null },
  };
};

/** Transaction ids asked about one by one; the others wait for the next refresh. */
const IDS_ASKED = 20;

/** Transaction ids of events whose copies disagree on a refund, the longest unverified first. */
const disputedIn = ({ lines }: Purchase): readonly string[] =>
  eventsOf(lines)
    .filter(isDisputed)
    .flatMap(({ copies }) => copies)
    .toSorted((a, b) => compare(a.verifiedAt, b.verifiedAt))
    .flatMap(({ transactionIdentifier }) => transactionIdentifier ?? [])
    .slice(0, IDS_ASKED);

const isSubscription = ({ lines }: Purchase): boolean =>
  lines.some(({ nature }) => nature === "auto_renewable");

/**
 * Asks about a purchase: for a subscription, the statuses of all the person's subscriptions; otherwise the person's
 * history. Transaction ids that disagree about one purchase event are each asked about too.
 */
const askAbout = async (
  questions: AppStoreQuestions,
  app: AppStoreApp,
  purchase: Purchase,
  until: Instant,
): Promise<Asked> => {
  const { appStore, now } = questions;
  const first = isSubscription(purchase)
    ? await appStore.subscriptionStatuses(app, purchase.key)
    : await askHistory(questions, app, purchase.key, until);
  if (first.outcome !== "answered") return first;
  const signedTransactions = [...first.content.signedTransactions];
  for (const transactionIdentifier of disputedIn(purchase)) {
    if (now() >= until) break;
    const answer = await appStore.transaction(app, transactionIdentifier);
    if (answer.outcome === "answered") signedTransactions.push(...answer.content.signedTransactions);
    // A forgotten transaction adds nothing.
    else if (answer.outcome !== "unknown") return answer;
  }
  return {
    outcome: "answered",
    content: { ...first.content, signedTransactions },
  };
};

/** The facts of one lineage alone, without identities: the person's other purchases may be an erased customer's. */
export const ofLineage = (facts: VerifiedFacts, lineage: PurchaseReference): VerifiedFacts => {
  const isOf = (purchase: PurchaseReference): boolean => referenceText(purchase) === referenceText(lineage);
  return {
    ...facts,
    identities: [],
    purchases: facts.purchases
      .filter(({ purchase }) => isOf(purchase))
      .map((proven) => ({ ...proven, identity: null })),
    renewals: facts.renewals.filter(isOf),
  };
};

/**
 * Payloads that verify, each with its JWS. One that does not, such as a transaction of an unknown product type, must not
 * block the others: Apple composes the answer, so nobody can leave it out.
 */
const verifyEach = async <Payload>(
  verify: VerifyAll<Payload>,
  compacts: readonly string[],
  trust: Trust,
  moment: Instant,
): Promise<{
  readonly verified: readonly { readonly jws: string; readonly payload: Payload }[];
  /** Whether all of them verify. */
  readonly isWhole: boolean;
}> => {
  const distinct = distinctJws(compacts);
  const together = await verify(distinct, trust, moment);
  const isWhole = together.outcome !== "rejected";
  const payloads = isWhole
    ? together.payload
    : await Promise.all(
        distinct.map(async (one) => {
          const alone = await verify([one], trust, moment);
          return alone.outcome === "rejected" ? undefined : alone.payload[0];
        }),
      );
  const verified = distinct.flatMap((jws, index) => {
    const payload = payloads[index];
    return payload === undefined ? [] : [{ jws, payload }];
  });
  return { verified, isWhole };
};

/** Origin of an answer that lacks a part: the disagreements and upgrades of the person's other purchases stay open. */
const asPart = (origin: FactsOrigin): FactsOrigin => ({ ...origin, isPart: true });

/**
 * The verified facts of an answer; null: it says nothing that verifies about the purchase that was asked about, or is of
 * another app. If an answer is about several persons, as after a migration of an Apple Account, only the lineage that was
 * asked about counts.
 */
const verifiedFactsOf = async (
  { verifier, trustedRoots, now }: AppStoreQuestions,
  configuration: IosStoreConfiguration,
  { bundleIdentifier, environment }: AppStoreApp,
  lineage: PurchaseReference,
  { signedTransactions, signedRenewalInfos, signedInGrace = [], isCut = false }: AskedFacts,
  askedAt: Instant,
): Promise<VerifiedFacts | null> => {
  const trust: Trust = { roots: trustedRoots, xcodeCertificates: new Set() };
  const moment = now();
  const signed = await verifyEach(verifier.verifyTransactions, signedTransactions, trust, moment);
  const transactions = signed.verified.map(({ payload }) => payload);
  const infos = await verifyEach(verifier.verifyRenewalInfos, signedRenewalInfos, trust, moment);
  const renewalInfos = infos.verified.map(({ jws, payload }): StatedRenewalInfo => ({
    ...payload,
    isInGrace: signedInGrace.includes(jws),
  }));
  const isWhole = signed.isWhole && infos.isWhole;
  const origin = { ...iosStoreOrigin(configuration, askedAt), askedAbout: lineage.key };
  const first = { bundleIdentifier, environment, appTransactionIdentifier: null };
  const factsOf = (
    told: readonly Transaction[],
    infos: readonly StatedRenewalInfo[],
  ): VerifiedFacts | null => {
    if (disagreement(first, [...told, ...infos]) !== null) return null;
    const identity = appTransactionIdentityOf(told);
    return {
      environment,
      identities: identity === null ? [] : [identity],
      purchases: purchasesOf(told),
      renewals: renewalsOf(infos, told),
      acknowledgementDue: null,
      origin: isWhole && !isCut ? origin : asPart(origin),
    };
  };
  const isOf = ({ originalTransactionIdentifier }: { originalTransactionIdentifier: string }): boolean =>
    originalTransactionIdentifier === lineage.key;
  const own = transactions.filter(isOf);
  if (!isWhole && own.length === 0) return null;
  const all = factsOf(transactions, renewalInfos);
  if (all !== null) return all;
  const alone = factsOf(own, renewalInfos.filter(isOf));
  return alone === null || alone.purchases.length === 0 ? null : ofLineage(alone, lineage);
};

/** Whether the period directly before this one is known, or this one is, and has begun. */
const isContiguous = ({ startsAt, endsAt }: Line, known: readonly Line[], moment: Instant): boolean =>
  known.some(
    (line) =>
      line.endsAt === startsAt ||
      (line.startsAt === startsAt && line.endsAt === endsAt && (startsAt ?? 0) <= moment),
  );

/** Whether an answer tells of a shorter period of the same product that began later and ends earlier. */
const surroundsOneOf = ({ productIdentifier, startsAt, endsAt }: Line, told: readonly Line[]): boolean =>
  told.some(
    (other) =>
      other.productIdentifier === productIdentifier &&
      (other.startsAt ?? 0) > (startsAt ?? 0) &&
      (other.endsAt ?? Infinity) < (endsAt ?? 0),
  );

/**
 * Whether an answer is silent about a known period that has not ended, and was ever refunded, or may be, as its product was bought
 * anew within it: only its transaction tells whether it was refunded, given back or upgraded since.
 */
const isSilentOnRefund = (told: readonly Line[], known: readonly Line[], moment: Instant): boolean =>
  known.some(
    (period) =>
      (period.refundedBy !== null || surroundsOneOf(period, told)) &&
      period.standing !== "expired" &&
      period.endsAt !== null &&
      period.endsAt > moment &&
      !told.some((line) => line.transactionIdentifier === period.transactionIdentifier),
  );

/** Whether a renewal info names the end of a paid period that is still to come, and of which no transaction is told or known. */
const isPeriodUntold = (renewal: Renewal | null, lines: readonly Line[], moment: Instant): boolean =>
  (untoldEndOf(renewal, lines) ?? 0) > moment && renewal?.isInBillingRetry === false;

/**
 * Part of known subscriptions that an answer leaves out; null: nothing. Statuses contain the latest period alone. `period`: it
 * has one that follows no known period, so those in between would be missed: an upgrade that ended a period early, or the
 * running period while the next one is already charged. `more`: the fate of a period that was refunded, or may be, or the period
 * whose end the renewal info names.
 */
const leftOut = async (
  { table }: AppStoreQuestions,
  { identifier }: Application,
  { purchases, renewals }: VerifiedFacts,
  asked: Purchase,
  moment: Instant,
): Promise<"period" | "more" | null> => {
  const told = purchases.map(({ purchase }) => purchase);
  const others = told.filter((purchase) => referenceText(purchase) !== referenceText(asked));
  const known =
    others.length === 0 ? null : (await table.findFacts(identifier, [], others, moment)).purchases;
  const pairs = told.flatMap((purchase) => {
    const before = others.includes(purchase) ? known?.get(referenceText(purchase))?.purchase : asked;
    const info = renewals.find((one) => referenceText(one) === referenceText(purchase));
    return before === undefined
      ? []
      : [{ lines: purchase.lines, before: before.lines, renewal: info?.renewal ?? null }];
  });
  const lacksPeriod = pairs.some(({ lines, before }) =>
    lines.some((line) => line.nature === "auto_renewable" && !isContiguous(line, before, moment)),
  );
  if (lacksPeriod) return "period";
  const lacksMore = pairs.some(
    ({ lines, before, renewal }) =>
      isSilentOnRefund(lines, before, moment) || isPeriodUntold(renewal, [...lines, ...before], moment),
  );
  return lacksMore ? "more" : null;
};

/**
 * Asks about a purchase and verifies the answer; null: as in {@link verifiedFactsOf}. A history has no renewal infos, and what it says
 * of a subscription postpones that one's refresh, so the statuses are asked for too. If the statuses leave something out, the history
 * is asked for; one that does not verify is ignored.
 */
export const askAppStore = async (
  questions: AppStoreQuestions,
  application: Application,
  configuration: IosStoreConfiguration,
  app: AppStoreApp,
  purchase: Purchase,
  askedAt: Instant,
): Promise<AppStoreAnswer<VerifiedFacts | null>> => {
  const answer = await askAbout(questions, app, purchase, askedAt + ASKING_MILLISECONDS);
  if (answer.outcome !== "answered") return answer;
  const verify = async (signed: AskedFacts): Promise<VerifiedFacts | null> =>
    verifiedFactsOf(questions, configuration, app, purchase, signed, askedAt);
  const facts = await verify(answer.content);
  if (facts === null) return { outcome: "answered", content: null };
  const part = { ...facts, origin: facts.origin && asPart(facts.origin) };

  const wasHistory = !isSubscription(purchase);
  const namesSubscription = facts.purchases.some((proven) => isSubscription(proven.purchase));
  const ofHistory = namesSubscription ? "period" : null;
  const left = wasHistory ? ofHistory : await leftOut(questions, application, facts, purchase, askedAt);
  if (left === null) return { outcome: "answered", content: facts };
  const rest = wasHistory
    ? await questions.appStore.subscriptionStatuses(app, purchase.key)
    : await askHistory(questions, app, purchase.key, askedAt + ASKING_MILLISECONDS);
  if (rest.outcome === "unknown") return { outcome: "answered", content: part };
  // Neither an old refund nor a period that only a renewal info names must block what the statuses tell.
  if (rest.outcome !== "answered") return left === "period" ? rest : { outcome: "answered", content: part };
  const parts: readonly AskedFacts[] = [answer.content, rest.content];
  const both = await verify({
    signedTransactions: parts.flatMap(({ signedTransactions }) => signedTransactions),
    signedRenewalInfos: parts.flatMap(({ signedRenewalInfos }) => signedRenewalInfos),
    signedInGrace: parts.flatMap(({ signedInGrace = [] }) => signedInGrace),
    isCut: parts.some(({ isCut }) => isCut === true),
  });
  // An old transaction that does not verify stays in the history, and must not block the statuses.
  return { outcome: "answered", content: both ?? (wasHistory ? null : part) };
};
