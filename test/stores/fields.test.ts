import { readdirSync, readFileSync } from "node:fs";
import { oneTimeProductAnswer } from "../../lib/stores/android-store/one-time-product.ts";
import { subscriptionAnswer } from "../../lib/stores/android-store/subscription.ts";
import {
  appTransactionKind,
  renewalInfoKind,
  transactionKind,
  type PayloadKind,
} from "../../lib/stores/ios-store/payloads.ts";

/**
 * Every field of the stores' own types is read, or is in `IGNORED`. A new version of Apple's library or of Google's client
 * that adds a field fails here, so that somebody decides.
 */
const APPLE = "node_modules/@apple/app-store-server-library/dist/models";
const GOOGLE = "node_modules/googleapis/build/src/apis/androidpublisher/v3.d.ts";

const withoutComments = (file: string): string => readFileSync(file, "utf8").replace(/\/\*[^]*?\*\//g, "");
const google = withoutComments(GOOGLE);
const modelsOfApple = new Set(readdirSync(APPLE));

/** The fields of a store's interface, each with its type; empty when the type is not an interface. */
const membersOf = (type: string): [name: string, type: string][] => {
  const file = `${type}.d.ts`;
  const source = modelsOfApple.has(file) ? withoutComments(`${APPLE}/${file}`) : google;
  const [, body = ""] = source.split(`export interface ${type} `);
  const [, members = ""] = /^[^{]*\{([^}]*)\}/.exec(body) ?? [];
  return [...members.matchAll(/^\s*(\w+)\??: (.+);$/gm)].map(([, name = "", of = ""]) => [name, of]);
};

/** A field's own fields; an amount of money is one field. */
const nestedIn = (type: string): string | null => {
  const [nested = ""] = /^[A-Z][\w$]+/.exec(type) ?? [];
  return nested === "Schema$Money" || membersOf(nested).length === 0 ? null : nested;
};

const pathsOf = (type: string): string[] =>
  membersOf(type).flatMap(([name, of]) => {
    const nested = nestedIn(of);
    return nested === null ? [name] : pathsOf(nested).map((path) => `${name}.${path}`);
  });

/** An object with all fields of a store's interface, which notes the paths that are read. */
const recorder = (type: string, seen: Set<string>, within = ""): Record<string, unknown> => {
  const fields: Record<string, unknown> = Object.fromEntries(
    membersOf(type).map(([name, of]) => {
      const nested = nestedIn(of);
      if (nested === null) return [name, undefined];
      const value = recorder(nested, seen, `${within}${name}.`);
      return [name, of.includes("[]") || of.startsWith("Array") ? [value] : value];
    }),
  );
  return new Proxy(fields, {
    get: (target, name) => {
      if (typeof name !== "string" || !Object.hasOwn(target, name)) return undefined;
      seen.add(within + name);
      return target[name];
    },
  });
};

type Reader = (answer: Record<string, unknown>) => void;

const payload =
  <Payload>(kind: PayloadKind<Payload>): Reader =>
  (answer) => {
    kind.environment(answer);
    void answer[kind.signedAt];
    kind.schema().safeParse(answer);
  };

const READERS = {
  JWSTransactionDecodedPayload: payload(transactionKind),
  JWSRenewalInfoDecodedPayload: payload(renewalInfoKind),
  AppTransaction: payload(appTransactionKind),
  Schema$SubscriptionPurchaseV2: (answer) => void subscriptionAnswer().safeParse(answer),
  Schema$ProductPurchaseV2: (answer) => void oneTimeProductAnswer().safeParse(answer),
} as const satisfies Record<string, Reader>;

/** Fields that are not read, with all their own fields, by the reason. */
const IGNORED: Readonly<Record<keyof typeof READERS, Readonly<Record<string, string>>>> = {
  JWSTransactionDecodedPayload: {
    "chosen by the client: proves nothing": "appAccountToken",
    "whoever holds the transaction has access": "inAppOwnershipType",
    "the revocation's date ends access, whatever its reason": "revocationReason revocationType",
    "a period is a period, whoever began it": "transactionReason",
    "price, offer, country": `price currency storefront storefrontId
      offerType offerIdentifier offerPeriod offerDiscountType`,
    "a commitment ends no access: each billing period has its own end": "billingPlanType commitmentInfo",
    "Advanced Commerce: the catalog maps productId alone": "advancedCommerceInfo",
  },
  JWSRenewalInfoDecodedPayload: {
    "chosen by the client: proves nothing": "appAccountToken",
    "startsAt is the period's own": "recentSubscriptionStartDate",
    "price and offer of the next period": `priceIncreaseStatus renewalPrice currency offerType offerIdentifier
      offerPeriod offerDiscountType eligibleWinBackOfferIds`,
    "the next period comes as a transaction": "renewalBillingPlanType commitmentInfo",
    "Advanced Commerce: the catalog maps productId alone": "advancedCommerceInfo",
  },
  AppTransaction: {
    "the app itself grants nothing": `originalPurchaseDate preorderDate originalPlatform
      originalApplicationVersion applicationVersion versionExternalIdentifier`,
    "a server knows no device": "deviceVerification deviceVerificationNonce",
  },
  Schema$SubscriptionPurchaseV2: {
    "chosen by the client: proves nothing": `externalAccountIdentifiers
      outOfAppPurchaseContext.expiredExternalAccountIdentifiers`,
    "personal data that access does not need": "subscribeWithGoogleInfo",
    "the state and the end say enough": `canceledStateContext.developerInitiatedCancellation
      canceledStateContext.replacementCancellation canceledStateContext.systemInitiatedCancellation
      canceledStateContext.userInitiatedCancellation.cancelSurveyResult
      canceledStateContext.userInitiatedCancellation.cancelTime
      inGracePeriodStateContext.renewalDeclined.pendingOrderId onHoldStateContext.renewalDeclined.pendingOrderId
      pausedStateContext.autoResumeTime`,
    "each payment moves expiryTime": `
      lineItems.autoRenewingPlan.installmentDetails.initialCommittedPaymentsCount
      lineItems.autoRenewingPlan.installmentDetails.pendingCancellation
      lineItems.autoRenewingPlan.installmentDetails.remainingCommittedPaymentsCount
      lineItems.autoRenewingPlan.installmentDetails.subsequentCommittedPaymentsCount`,
    "price, offer, promotion": `lineItems.autoRenewingPlan.recurringPrice
      lineItems.autoRenewingPlan.priceChangeDetails lineItems.autoRenewingPlan.priceStepUpConsentDetails
      lineItems.offerDetails.offerId lineItems.offerDetails.offerTags lineItems.offerPhase
      lineItems.signupPromotion`,
    "linkedPurchaseToken names what was replaced": `lineItems.itemReplacement.basePlanId
      lineItems.itemReplacement.offerId lineItems.itemReplacement.productId
      lineItems.itemReplacement.replacementMode`,
    "for the app's own screen": "lineItems.prepaidPlan.allowExtendAfterTime",
    "nothing of access": "etag kind regionCode",
  },
  Schema$ProductPurchaseV2: {
    "chosen by the client: proves nothing": "obfuscatedExternalAccountId obfuscatedExternalProfileId",
    "does not say what an app consumes; access stays": "productLineItem.productOfferDetails.consumptionState",
    "until it is charged it is PENDING": "productLineItem.productOfferDetails.preorderOfferDetails",
    "price, offer": `productLineItem.productOfferDetails.offerId productLineItem.productOfferDetails.offerTags
      productLineItem.productOfferDetails.offerToken`,
    "that it is a test purchase is read, its form of payment is not": "testPurchaseContext.fopType",
    "nothing of access": "kind orderId regionCode",
  },
};

test.each(Object.keys(READERS) as (keyof typeof READERS)[])(
  "each field of %s, or one around it, is read or ignored",
  (type) => {
    const seen = new Set<string>();
    READERS[type](recorder(type, seen));
    expect(seen.size).toBeGreaterThan(3);
    const unread = pathsOf(type).filter((path) => !seen.has(path));
    const ignored = Object.values(IGNORED[type]).join(" ").split(/\s+/).filter(Boolean);
    const isWithin = (path: string, field: string): boolean => `${path}.`.startsWith(`${field}.`);
    expect(unread.filter((path) => !ignored.some((field) => isWithin(path, field)))).toEqual([]);
    expect(
      ignored.filter((field) => seen.has(field) || !unread.some((path) => isWithin(path, field))),
    ).toEqual([]);
  },
);
