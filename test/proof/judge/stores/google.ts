import { DAY, HOUR } from "../../../../lib/duration.ts";
import { isoTime } from "../../../../lib/entitlements/time.ts";
import type { SubscriptionState } from "../../../../lib/stores/android-store/subscription.ts";
import { provenPurchaseOf, type VerifiedPurchase } from "../../../../lib/stores/android-store/reading.ts";
import { readSubscription } from "../../../../lib/stores/android-store/subscription.ts";
import {
  LEEWAY,
  type GoogleProduct,
  lifeOf,
  type Fact,
  type Happening,
  type Life,
  type Span,
} from "../life.ts";

type State = SubscriptionState extends `SUBSCRIPTION_STATE_${infer Name}` ? Name : never;

/** One product of a token. */
export interface Item {
  readonly product: GoogleProduct;
  /** Null: not owned yet. */
  readonly expiry: number | null;
  readonly renews: boolean;
  readonly isPrepaid: boolean;
  readonly replacedBy: GoogleProduct | null;
}

/** What Google answers about a token from a moment on. */
export interface Phase {
  readonly from: number;
  readonly state: State;
  readonly items: readonly Item[];
}

export interface Token {
  readonly id: string;
  readonly startsAt: number;
  readonly linked: string | null;
  readonly phases: Phase[];
  /** Whether a newer token has replaced it. */
  isReplaced: boolean;
}

/** What Google answers about a token, as the service reads it. */
export const factOf = (
  read: typeof readSubscription,
  body: object,
  purchaseToken: string,
  answeredAt: number,
): Fact => {
  const question = { packageName: "com.example.trails", purchaseToken, productIdentifier: null, answeredAt };
  const reading: VerifiedPurchase | "product-not-in-purchase" | null = read(body, question);
  if (reading === null || reading === "product-not-in-purchase")
    throw new Error("Google's answer is malformed.");
  const { purchase, mentioned } = provenPurchaseOf(reading);
  return { id: purchaseToken, purchases: [purchase, ...mentioned] };
};

const lineItem = ({ product, expiry, renews, isPrepaid, replacedBy }: Item) => ({
  productId: product,
  ...(expiry !== null && { expiryTime: isoTime(expiry), latestSuccessfulOrderId: `GPA.${expiry}` }),
  offerDetails: { basePlanId: isPrepaid ? "prepaid" : "monthly" },
  ...(isPrepaid ? { prepaidPlan: {} } : { autoRenewingPlan: { autoRenewEnabled: renews } }),
  ...(replacedBy !== null && { deferredItemReplacement: { productId: replacedBy } }),
});

const phaseAt = ({ phases }: Token, moment: number): Phase | undefined =>
  phases.findLast(({ from }) => from <= moment);

const answerAbout = (token: Token, moment: number): Fact => {
  const phase = phaseAt(token, moment);
  if (phase === undefined) throw new RangeError("Google knows a token from its purchase on.");
  const { state, items } = phase;
  const body = {
    subscriptionState: `SUBSCRIPTION_STATE_${state}`,
    startTime: isoTime(token.startsAt),
    acknowledgementState: "ACKNOWLEDGEMENT_STATE_ACKNOWLEDGED",
    lineItems: items.map(lineItem),
    ...(token.linked !== null && { linkedPurchaseToken: token.linked }),
    ...(token.isReplaced && state === "EXPIRED" && { canceledStateContext: { replacementCancellation: {} } }),
  };
  return factOf(readSubscription, body, token.id, moment);
};

/** Time after its end for which Google knows a token. */
const KEPT = 60 * DAY;

const isKept = (token: Token, moment: number): boolean => {
  const phase = phaseAt(token, moment);
  return phase !== undefined && (phase.state !== "EXPIRED" || phase.from + KEPT > moment);
};

/** Google's own record of one person's subscription. */
export const googleSubscription = () => {
  const tokens: Token[] = [];
  const happenings: Happening[] = [];
  return {
    tokens,
    happenings,
    buy(startsAt: number, linked: string | null): Token {
      const token = { id: `token ${tokens.length + 1}`, startsAt, linked, phases: [], isReplaced: false };
      tokens.push(token);
      return token;
    },
    /** A token changes; `silent`: nothing is notified; null: another token tells it. */
    enter(token: Token, what: Happening["what"] | null, phase: Phase): void {
      token.phases.push(phase);
      if (what === null) return;
      const { from: at } = phase;
      const factAt = (moment: number): Fact => answerAbout(token, moment);
      happenings.push({ what, at, signedAt: at, id: token.id, factAt, statement: null });
    },
  };
};

export type GoogleSubscription = ReturnType<typeof googleSubscription>;

/** Longest time for which Google retries a payment without a word. */
const SILENT = 48 * HOUR;

/** What an item of a phase gives until the next phase. */
const spansOfItem = (id: string, { state, from }: Phase, item: Item, until: number): Span[] => {
  const { product: entitlement, expiry, renews, replacedBy } = item;
  if (expiry === null) return [];
  const of = { entitlement, id, shownEnd: expiry };
  const kind = state === "IN_GRACE_PERIOD" ? ("grace" as const) : ("paid" as const);
  const given = { ...of, kind, from, to: Math.min(until, expiry) };
  if (state === "CANCELED") return [given];
  if (state !== "ACTIVE" && state !== "IN_GRACE_PERIOD") return [];
  const silentFrom = Math.max(from, expiry);
  if (!renews && replacedBy === null) return [given];
  return [
    given,
    { ...of, kind: "silent", from: silentFrom, to: Math.min(until, expiry + SILENT) },
    { ...of, kind: "allowed", from: silentFrom, to: Math.min(until, expiry + LEEWAY) },
  ];
};

const spansOfToken = ({ id, phases }: Token): Span[] =>
  phases.flatMap((phase, index) =>
    phase.items.flatMap((item) => spansOfItem(id, phase, item, phases[index + 1]?.from ?? Infinity)),
  );

/** The life of Google's subscriber, told until a moment. */
export const lifeOfGoogle = ({ tokens, happenings }: GoogleSubscription, now: number): Life => {
  const { state, items = [] } = tokens.at(-1)?.phases.at(-1) ?? {};
  const expiry = Math.max(...items.map((item) => item.expiry ?? 0));
  const isRenewing = state === "ACTIVE" && items.some(({ renews }) => renews);
  const isOver = state === "EXPIRED" || state === "CANCELED" || items.every(({ isPrepaid }) => isPrepaid);
  const ended = isOver ? Infinity : now + HOUR;
  const answerAt = (moment: number): readonly Fact[] =>
    tokens.filter((token) => isKept(token, moment)).map((token) => answerAbout(token, moment));
  return lifeOf({
    happenings,
    truth: tokens.flatMap(spansOfToken).filter(({ from, to }) => from < to),
    last: now,
    horizon: isRenewing ? Math.max(now, expiry) : ended,
    mayRenew: isRenewing && expiry > now ? { from: expiry - HOUR, to: expiry + DAY - HOUR } : null,
    answerAt,
  });
};
