import type { AssertedBy, Environment } from "../../../lib/contract/schemas.ts";
import type { StatedRenewalInfo, Transaction } from "../../../lib/stores/ios-store/payloads.ts";
import type { aOneTimeAnswer, aSubscriptionAnswer } from "../../../testing/support/stores/android-store.ts";

/** What the stores say in the proofs, and the requests that bring it. */

/** A verified transaction of the App Store. */
export type IosFact = Transaction & { readonly store: "ios-store" };

interface AndroidAnswer {
  readonly store: "android-store";
  readonly environment: Environment;
  readonly token: string;
  readonly answeredAt: number;
}

/** Google's answer about a subscription. */
export interface AndroidSubscriptionFact extends AndroidAnswer {
  readonly kind: "subscription";
  readonly answer: ReturnType<typeof aSubscriptionAnswer>;
}

/** Google's answer about a one-time purchase. */
interface AndroidOneTimeFact extends AndroidAnswer {
  readonly kind: "one-time";
  readonly answer: ReturnType<typeof aOneTimeAnswer>;
  /** The products that a link selected; null: all of them. A notification selects none. */
  readonly asked: readonly string[] | null;
}

export type AndroidFact = AndroidSubscriptionFact | AndroidOneTimeFact;
export type Fact = IosFact | AndroidFact;

/** Ends of a subscription's lines. */
export const endsOf = ({ answer }: AndroidSubscriptionFact): readonly number[] =>
  (answer.lineItems ?? []).map(({ expiryTime }) => Date.parse(expiryTime ?? ""));

export interface ModelClaim {
  readonly account: string;
  readonly by: AssertedBy;
}

/** Verified facts about one person, and the account that the request names. */
export interface ModelRequest {
  /**
   * Whether a store sends it. A notification names no account and selects no product: it is one transaction, one renewal
   * info or both of one lineage, or one of Google's answers.
   */
  readonly isNotification: boolean;
  readonly environment: Environment;
  /** The app transaction id of an iOS request; null: none. */
  readonly appTransaction: string | null;
  readonly facts: readonly Fact[];
  /** An app sends them without a status. */
  readonly renewals: readonly StatedRenewalInfo[];
  /** Google's answers about other tokens during the request; a token without one is unknown to Google. */
  readonly answers: readonly AndroidSubscriptionFact[];
  readonly claim: ModelClaim | null;
}

/** What a request may state, and does not. */
export const NOTHING_STATED = {
  appTransaction: null,
  facts: [],
  renewals: [],
  answers: [],
  claim: null,
} as const;

/** Whether a client sends it without a credential. */
export const isKeyless = ({ isNotification, claim }: ModelRequest): boolean =>
  !isNotification && claim?.by !== "credential";

/** A request's facts that select no product of a one-time purchase. */
export const selectingNothing = (facts: readonly Fact[]): readonly Fact[] =>
  facts.map((fact) =>
    fact.store === "android-store" && fact.kind === "one-time" ? { ...fact, asked: [] } : fact,
  );
