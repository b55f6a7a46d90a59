import type { AssertedBy, Environment } from "../../../lib/contract/schemas.ts";

/** What the stores say in the proofs, and the requests that bring it. */

/** A signed transaction of the App Store. */
export interface IosFact {
  readonly store: "ios-store";
  readonly environment: Environment;
  readonly transaction: string;
  /** The lineage. */
  readonly original: string;
  readonly product: string;
  readonly type: "subscription" | "non-renewing" | "non-consumable" | "consumable";
  /** `subscriptionGroupIdentifier`. */
  readonly group: string | null;
  /** `webOrderLineItemId`: the same for one period under every transaction id. */
  readonly webOrder: string | null;
  /** `purchaseDate`; of a restored copy, the time of the restore. */
  readonly start: number;
  /** `originalPurchaseDate`. */
  readonly originalStart: number;
  /** `expiresDate`, of subscriptions. */
  readonly end: number | null;
  readonly quantity: number;
  readonly revokedAt: number | null;
  /** `revocationPercentage`, in thousandths of a per cent; null: absent. */
  readonly revokedShare: number | null;
  readonly upgraded: boolean;
  /** `previousOriginalTransactionId`. */
  readonly previous: string | null;
  /** The transaction's own `appTransactionId`. */
  readonly appTransaction: string | null;
  readonly signedAt: number;
}

interface AndroidAnswer {
  readonly store: "android-store";
  readonly environment: Environment;
  readonly token: string;
  /** `obfuscatedExternalAccountId`; the client chooses it, so it names nobody. */
  readonly obfuscated: string | null;
  readonly answeredAt: number;
}

/** Google's answer about a subscription. */
export interface AndroidSubscriptionFact extends AndroidAnswer {
  readonly kind: "subscription";
  readonly state:
    | "ACTIVE"
    | "CANCELED"
    | "IN_GRACE_PERIOD"
    | "ON_HOLD"
    | "PAUSED"
    | "EXPIRED"
    | "PENDING"
    | "PENDING_PURCHASE_CANCELED";
  readonly start: number | null;
  readonly lines: readonly {
    readonly product: string;
    readonly basePlan: string | null;
    readonly expiry: number;
    /** False for a deferred replacement. */
    readonly paid: boolean;
    readonly renews: boolean;
    /** `deferredItemReplacement` or `deferredItemRemoval`: the line ends at its expiry, whatever its plan says. */
    readonly leaves: "replaced" | "removed" | null;
    /** The product that is to take its place. */
    readonly replacement?: string;
  }[];
  /** `linkedPurchaseToken`. */
  readonly replaces: string | null;
  /** `outOfAppPurchaseContext.expiredPurchaseToken`. */
  readonly expired: string | null;
}

/** Google's answer about a one-time purchase. */
export interface AndroidOneTimeFact extends AndroidAnswer {
  readonly kind: "one-time";
  readonly state: "PURCHASED" | "CANCELLED" | "PENDING";
  /** Null until it is paid. */
  readonly completedAt: number | null;
  readonly products: readonly {
    readonly product: string;
    readonly purchaseOption: string | null;
    readonly rented: boolean;
    readonly consumed: boolean;
    readonly quantity: number;
    /** `refundableQuantity`; null: absent. */
    readonly unrefunded: number | null;
  }[];
  /** The products that a link selected; null: all of them. A notification selects none. */
  readonly asked: readonly string[] | null;
}

/** A renewal info of the App Store. */
export interface IosRenewal {
  readonly environment: Environment;
  /** The lineage: its original transaction id. */
  readonly lineage: string;
  /** `renewalDate`; null: absent. */
  readonly renewalDate: number | null;
  /** `autoRenewStatus`. */
  readonly renews: boolean;
  /** `gracePeriodExpiresDate`; null: absent. */
  readonly graceEnd: number | null;
  /** `isInBillingRetryPeriod`. */
  readonly inRetry: boolean;
  /** `expirationIntent`; null: absent. */
  readonly intent: number | null;
  /** Whether the status beside it is that of a billing grace period; null: an app sends no status. */
  readonly inGrace: boolean | null;
  readonly signedAt: number;
}

export type AndroidFact = AndroidSubscriptionFact | AndroidOneTimeFact;
export type Fact = IosFact | AndroidFact;

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
  readonly renewals: readonly IosRenewal[];
  /** Google's answers about other tokens during the request; a token without one is unknown to Google. */
  readonly answers: readonly AndroidSubscriptionFact[];
  readonly claim: ModelClaim | null;
}

/** Whether a client sends it without a credential. */
export const isKeyless = ({ isNotification, claim }: ModelRequest): boolean =>
  !isNotification && claim?.by !== "credential";

/** A request's facts that select no product of a one-time purchase. */
export const selectingNothing = (facts: readonly Fact[]): readonly Fact[] =>
  facts.map((fact) =>
    fact.store === "android-store" && fact.kind === "one-time" ? { ...fact, asked: [] } : fact,
  );
