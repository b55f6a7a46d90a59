import fc from "fast-check";
import { DAY } from "../../../testing/support/stores/purchases.ts";
import { factsOf, historiesOf, LEEWAYS, renewalsIn, type History } from "./histories.ts";
import type { AppleAccount } from "./histories/apple.ts";
import { at, choice, END, MINUTE, type Made } from "./histories/choices.ts";
import type { ModelTerms } from "./reference/reference-model.ts";
import {
  endsOf,
  NOTHING_STATED,
  selectingNothing,
  type AndroidFact,
  type AndroidSubscriptionFact,
  type IosFact,
  type ModelClaim,
  type ModelRequest,
} from "./stated-facts.ts";

/** Requests and notifications with parts of a history. */

const KINDS = ["ios", "ios", "ios", "android", "ios-notification", "android-notification"] as const;
type Kinds = readonly (typeof KINDS)[number][];

/** Mostly what the stores say by themselves, with a link now and then. */
export const MOSTLY_NOTIFICATIONS: Kinds = [...KINDS.slice(2), "ios-notification", "android-notification"];

/** Links and notifications of Google's purchases alone, so that most purchases are linked more than once. */
export const LINKS_OF_GOOGLE: Kinds = ["android", "android", "android-notification"];

export const ACCOUNTS = ["a", "b", "c"] as const;
const claim = fc.record<ModelClaim>({
  account: choice("a", "a", "b", "c"),
  by: choice("credential", "client"),
});

const requestScript = (kinds: Kinds) =>
  fc.record({
    kind: choice(...kinds),
    account: fc.nat(2),
    // Modern: with an app transaction id. By transactions: only these carry one. Older: none. Mixed: of several persons.
    client: choice("modern", "modern", "modern", "by transactions", "older", "older", "mixed", "mixed"),
    picks: fc.array(fc.nat(63), { maxLength: 6 }),
    renewals: fc.array(fc.nat(12), { maxLength: 2 }),
    claim: fc.oneof({ weight: 6, arbitrary: fc.constant(null) }, { weight: 8, arbitrary: claim }),
    /** Whether Google has dropped every purchase that an answer names. */
    isDropped: choice(false, false, true),
    /** The place of the customer to unlink afterwards; none when there are fewer customers. */
    unlinks: fc.nat(7),
  });
type RequestScript = Made<ReturnType<typeof requestScript>>;

/** Google's answers about the other subscriptions' tokens, for look-ups while a request about `fact` is processed. */
const answersBeside = (
  fact: AndroidFact,
  android: readonly AndroidFact[],
  { isDropped }: RequestScript,
): AndroidSubscriptionFact[] => {
  // Another subscription goes on if this one was never paid; it is told by itself.
  const isNeverPaid =
    fact.kind === "subscription" &&
    fact.answer.subscriptionState === "SUBSCRIPTION_STATE_PENDING_PURCHASE_CANCELED";
  if (isDropped || isNeverPaid) return [];
  const subscriptions = android.filter((other) => other.kind === "subscription");
  const latest = new Map(subscriptions.map((other) => [other.token, other]));
  return [...latest.values()].filter(({ token }) => token !== fact.token);
};

/** One of Google's answers: by a credential's link, or as a notification makes the service ask. */
const androidRequestOf = (
  android: readonly AndroidFact[],
  script: RequestScript,
  isNotification: boolean,
): ModelRequest => {
  const fact = at(android, script.picks[0] ?? 0);
  const account = script.claim?.account ?? at(ACCOUNTS, script.account);
  return {
    ...NOTHING_STATED,
    isNotification,
    environment: fact.environment,
    facts: isNotification ? selectingNothing([fact]) : [fact],
    answers: answersBeside(fact, android, script),
    claim: isNotification ? null : { account, by: "credential" },
  };
};

/** The facts of lineages that have an app transaction id in common, or carry none; a request with others is refused. */
const ofOneAppTransaction = (facts: readonly IosFact[], appTransaction: string | null): IosFact[] => {
  let common = appTransaction === null ? null : [appTransaction];
  return [...Map.groupBy(facts, (fact) => fact.originalTransactionId).values()].flatMap((lineage) => {
    const carried = lineage.flatMap((fact) => fact.appTransactionId ?? []);
    const agreed = carried.filter((value) => common?.includes(value) ?? true);
    if (carried.length === 0) return lineage;
    if (agreed.length === 0) return [];
    common = agreed;
    return lineage;
  });
};

const iosRequestOf = (
  apple: readonly AppleAccount[],
  { account: index, client, picks, renewals, claim }: RequestScript,
): ModelRequest => {
  const account = at(apple, index);
  const { environment } = account;
  const ofEnvironment = apple.filter((other) => other.environment === environment);
  const pool = client === "mixed" ? ofEnvironment.flatMap(({ facts }) => facts) : account.facts;
  const picked = pool.length === 0 ? [] : [...new Set(picks.map((pick) => at(pool, pick)))];
  const told = account.renewals.length === 0 ? [] : renewals.map((pick) => at(account.renewals, pick));
  const appTransaction = client === "modern" ? account.appTransaction : null;
  const hasIds = client === "modern" || client === "by transactions";
  const ofPerson = hasIds
    ? ofOneAppTransaction(picked, appTransaction)
    : picked.map((fact) => ({ ...fact, appTransactionId: null }));
  return {
    ...NOTHING_STATED,
    isNotification: false,
    environment,
    appTransaction,
    facts: ofPerson,
    renewals: [...new Set(told)].map((renewal) => {
      const { isInGrace: _, ...stated } = renewal;
      return stated;
    }),
    claim,
  };
};

/** App Store notification about one lineage: a transaction, a renewal info or both. */
const iosNotificationOf = (
  { environment, facts, renewals }: AppleAccount,
  { picks: [pick], renewals: [renewal] }: RequestScript,
): ModelRequest => {
  const fact = pick === undefined || facts.length === 0 ? null : at(facts, pick);
  const ofLineage = renewals.filter(
    (one) => fact === null || one.originalTransactionId === fact.originalTransactionId,
  );
  const told = renewal === undefined || ofLineage.length === 0 ? [] : [at(ofLineage, renewal)];
  return {
    ...NOTHING_STATED,
    isNotification: true,
    environment,
    facts: fact === null ? [] : [fact],
    renewals: told.map((one) => ({ ...one, isInGrace: one.isInGrace ?? false })),
  };
};

const requestOf = ({ apple, android }: History, script: RequestScript): ModelRequest => {
  const { kind, account } = script;
  if (kind.startsWith("android") && android.length > 0)
    return androidRequestOf(android, script, kind === "android-notification");
  if (kind === "ios-notification") return iosNotificationOf(at(apple, account), script);
  return iosRequestOf(apple, script);
};

export interface Traffic {
  readonly history: History;
  readonly terms: ModelTerms;
  readonly requests: readonly ModelRequest[];
  /** For each request, the place of the customer that an operator unlinks afterwards, among the customers so far. */
  readonly unlinks: readonly number[];
  /** Time of the first request. */
  readonly from: number;
}

/** A minute after the last word of a store. */
const afterLastWord = (history: History): number =>
  MINUTE +
  Math.max(
    0,
    ...factsOf(history).map((fact) => (fact.store === "ios-store" ? fact.signedAt : fact.answeredAt)),
    ...renewalsIn(history).map(({ signedAt }) => signedAt),
  );

/** Ends of the history's subscriptions later than its last word. */
const endsAhead = (history: History): number[] =>
  factsOf(history)
    .flatMap((fact) => {
      if (fact.store === "ios-store") return fact.expiresDate ?? [];
      return fact.kind === "one-time" ? [] : endsOf(fact);
    })
    .filter((end) => end > END);

/** When all is said, a minute after the last word, or some time after an end that follows and of which nobody has heard. */
const begin = fc.oneof(
  choice("all", "the last word"),
  fc.record({ which: fc.nat(20), by: choice(MINUTE, DAY / 12, DAY + MINUTE) }),
);

const beginOf = (history: History, after: Made<typeof begin>): number => {
  if (after === "all") return END;
  if (after === "the last word") return afterLastWord(history);
  const ends = endsAhead(history);
  return ends.length === 0 ? END : at(ends, after.which) + after.by;
};

/** Requests with parts of a history of up to `people` persons, in any order, some facts more than once. */
export const trafficOf = (
  length: { readonly minLength: number; readonly maxLength: number },
  people = 3,
  kinds: Kinds = KINDS,
): fc.Arbitrary<Traffic> =>
  fc
    .record({
      history: historiesOf(people),
      terms: fc.record<ModelTerms>({
        transfers: choice("refuse", "refuse", "when_inactive", "always"),
        claims: choice(20, 1, 2),
        leeway: choice(...LEEWAYS),
      }),
      scripts: fc.array(requestScript(kinds), length),
      after: begin,
    })
    .map(({ history, terms, scripts, after }) => ({
      history,
      terms,
      requests: scripts.map((script) => requestOf(history, script)),
      unlinks: scripts.map(({ unlinks }) => unlinks),
      from: beginOf(history, after),
    }));
