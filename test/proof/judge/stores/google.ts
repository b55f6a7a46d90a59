import { DAY } from "../../../../lib/duration.ts";
import { provenPurchaseOf } from "../../../../lib/stores/android-store/reading.ts";
import { readSubscription } from "../../../../lib/stores/android-store/subscription.ts";
import type { SubscriptionState } from "../../../../lib/stores/android-store/answers.ts";
import { isoTime } from "../../../../lib/entitlements/time.ts";
import type { GoogleProduct } from "../catalog.ts";
import type { Fact, Happening } from "../life.ts";

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

const lineItem = ({ product, expiry, renews, isPrepaid, replacedBy }: Item) => ({
  productId: product,
  ...(expiry !== null && { expiryTime: isoTime(expiry), latestSuccessfulOrderId: `GPA.${expiry}` }),
  offerDetails: { basePlanId: isPrepaid ? "prepaid" : "monthly" },
  ...(isPrepaid ? { prepaidPlan: {} } : { autoRenewingPlan: { autoRenewEnabled: renews } }),
  ...(replacedBy !== null && { deferredItemReplacement: { productId: replacedBy } }),
});

export const phaseAt = ({ phases }: Token, moment: number): Phase | undefined =>
  phases.findLast(({ from }) => from <= moment);

/** Google's answer about a token, as its reader reads it. */
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
  const question = {
    packageName: "com.example.trails",
    purchaseToken: token.id,
    productIdentifier: null,
    answeredAt: moment,
  };
  const reading = readSubscription(body, question);
  if (reading === null || reading === "product-not-in-purchase")
    throw new Error("Google's answer is malformed.");
  const { purchase, mentioned } = provenPurchaseOf(reading);
  return { id: token.id, isMarked: false, purchases: [purchase, ...mentioned] };
};

/** Time after its end for which Google knows a token. */
const KEPT = 60 * DAY;

/** Google's own record of one person's subscription. */
export const googleSubscription = () => {
  const tokens: Token[] = [];
  const happenings: Happening[] = [];
  const isKept = (token: Token, moment: number): boolean => {
    const phase = phaseAt(token, moment);
    if (phase === undefined) return false;
    return phase.state !== "EXPIRED" || phase.from + KEPT > moment;
  };
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
    answerAt: (moment: number): readonly Fact[] =>
      tokens.filter((token) => isKept(token, moment)).map((token) => answerAbout(token, moment)),
  };
};

export type GoogleSubscription = ReturnType<typeof googleSubscription>;
