import { createPublicKey, generateKeyPairSync, randomBytes, verify, type KeyObject } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { androidpublisher_v3 } from "googleapis/build/src/apis/androidpublisher/v3.js";
import * as z from "zod";
import { PRODUCT_KINDS } from "../../../lib/contract/schemas.ts";
import {
  isoTime,
  parsePeriod,
  plusPeriod,
  type Instant,
  type Period,
} from "../../../lib/entitlements/time.ts";

/**
 * A local Android Publisher API (v3) with the token exchange that it needs: the calls that read and acknowledge
 * purchases, Google's error bodies, and beside them a way to make purchases and to change them.
 *
 * Under the prefix that it is mounted at:
 *
 * | | |
 * |---|---|
 * | `POST /purchases` | makes a purchase: `{ packageName, productKind, productIdentifier, … }` ({@link SandboxPurchase}); answers 201 `{ purchaseToken, purchase }` |
 * | `GET /purchases`, `GET /purchases/{purchaseToken}` | what there is, in the API's own shapes |
 * | `POST /purchases/{purchaseToken}` | what happens to it: `{ change, period? }` ({@link CHANGES}) |
 * | `DELETE /purchases/{purchaseToken}` | the store drops it: 410 from then on |
 * | `POST /token` | OAuth token exchange (RFC 8693), and the JWT grant of service accounts (RFC 7523) |
 * | `POST /serviceAccounts/{e-mail}:generateAccessToken` | impersonation, as IAM Credentials does it |
 * | `/androidpublisher/v3/…` | the API; wants an access token of `/token` |
 *
 * ```sh
 * curl -X POST localhost:3000/sandbox/android-publisher/purchases -H 'content-type: application/json' \
 *   -d '{ "packageName": "com.example.trails", "productKind": "subscription", "productIdentifier": "premium", "basePlanIdentifier": "monthly" }'
 * curl -X POST localhost:3000/sandbox/android-publisher/purchases/$PURCHASE_TOKEN -H 'content-type: application/json' -d '{ "change": "hold" }'
 * ```
 *
 * @see https://developers.google.com/android-publisher/api-ref/rest/v3
 */
export interface AndroidPublisherSandbox {
  /** Answers what is under the prefix; false, and nothing is done, where the path is not. */
  handle(request: IncomingMessage, response: ServerResponse): Promise<boolean>;
  /** Makes a purchase and gives its token. */
  buy(purchase: SandboxPurchase): string;
  /** Puts an answer of the API as it is. */
  put(purchaseToken: string, stored: StoredPurchase): void;
  read(purchaseToken: string): StoredPurchase | undefined;
  change(purchaseToken: string, change: Change, period?: string): void;
  /** The store drops the purchase: 410 from then on. */
  drop(purchaseToken: string): void;
  /** An `external_account` JSON for this sandbox, whose root is the given URL. Signs with the AWS credentials of the environment, and impersonates a service account where one is named. */
  externalAccount(rootUrl: string, options?: { impersonate?: string }): Record<string, unknown>;
  /** The JSON of a service account that the JWT grant accepts. Google's client sends it to Google, whatever the JSON says. */
  createServiceAccount(): Record<string, unknown>;
  /** Every access token given so far is refused from now on. */
  revokeAccessTokens(): void;
  /** The next requests to the token endpoint or to the API are met with these, one each, instead of an answer. */
  failNext(endpoint: SandboxEndpoint, ...faults: Fault[]): void;
  /** What was to fail and was not asked for answers again. */
  clearFaults(): void;
  /** Every request that came, those met with a fault too. */
  readonly calls: SandboxCall[];
}

export type SandboxEndpoint = "token" | "impersonation" | "publisher" | "control";

export interface SandboxCall {
  readonly endpoint: SandboxEndpoint;
  readonly method: string;
  /** Without the prefix, as it was sent: percent-encoded. */
  readonly path: string;
}

/** What goes wrong: an answer that is none of the sandbox's own, no answer ever, or a closed connection. */
export type Fault =
  | { readonly status: number; readonly body?: unknown; readonly headers?: Readonly<Record<string, string>> }
  | "hang"
  | "disconnect";

type SubscriptionPurchase = androidpublisher_v3.Schema$SubscriptionPurchaseV2;
type OneTimePurchase = androidpublisher_v3.Schema$ProductPurchaseV2;

export type StoredPurchase = { readonly packageName: string } & (
  | { readonly productKind: "subscription"; readonly answer: SubscriptionPurchase }
  | { readonly productKind: "one_time_product"; readonly answer: OneTimePurchase }
);

const text = z.string().min(1);
const period = text.refine((value) => parsePeriod(value) !== null, {
  message: "must be an ISO 8601 duration",
});

const sandboxPurchase = z.object({
  packageName: text,
  productKind: z.enum(PRODUCT_KINDS),
  productIdentifier: text,
  /** Of a subscription. */
  basePlanIdentifier: text.optional(),
  /** Until a subscription ends or renews, from now; a month where it is left out. */
  period: period.optional(),
  /** Bought, but not paid yet. */
  pending: z.boolean().optional(),
  /** A subscription that does not renew by itself. */
  prepaid: z.boolean().optional(),
  /** Bought by a licence tester: the purchase's environment is sandbox. */
  test: z.boolean().optional(),
  obfuscatedAccountIdentifier: text.optional(),
  /** Token of the subscription whose place this one takes. */
  replaces: text.optional(),
  /** Token of the expired subscription that was bought again outside the app. */
  resubscribes: text.optional(),
  /** Of a one-time purchase; one where it is left out. */
  quantity: z.int().positive().optional(),
});

export type SandboxPurchase = z.input<typeof sandboxPurchase>;

/** What can happen to a purchase; to a one-time purchase only `complete`, `decline`, `refund` and `consume`. */
export const CHANGES = [
  /** A pending purchase is paid. */
  "complete",
  /** A pending purchase is given up. */
  "decline",
  /** The next period begins where the current one ends, or now; a canceled, paused or held subscription recovers. */
  "renew",
  /** The person ends the renewal: access stays until the period ends. */
  "cancel",
  /** A payment fails, and access stays for the given period. */
  "grace",
  /** A payment failed, and access ends until it succeeds. */
  "hold",
  "pause",
  "expire",
  /** The money goes back and access ends. */
  "refund",
  "consume",
] as const;
export type Change = (typeof CHANGES)[number];

const changeRequest = z.object({ change: z.enum(CHANGES), period: period.optional() });

const AUDIENCE =
  "//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/sandbox/providers/sandbox";
const AWS_TOKEN_TYPE = "urn:ietf:params:aws:token-type:aws4_request";
const ACCESS_TOKEN_TYPE = "urn:ietf:params:oauth:token-type:access_token";
const TOKEN_EXCHANGE = "urn:ietf:params:oauth:grant-type:token-exchange";
const JWT_GRANT = "urn:ietf:params:oauth:grant-type:jwt-bearer";
const GOOGLE_TOKEN_URL = "https://oauth2.googleapis.com/token";
const SCOPE = "https://www.googleapis.com/auth/androidpublisher";
const IMPERSONATION_SCOPE = "https://www.googleapis.com/auth/cloud-platform";
const TOKEN_SECONDS = 3600;

const API = "/androidpublisher/v3";
const READ = /^\/applications\/([^/]+)\/purchases\/(subscriptionsv2|productsv2)\/tokens\/([^/:]+)$/;
const ACKNOWLEDGE =
  /^\/applications\/([^/]+)\/purchases\/(subscriptions|products)\/([^/]+)\/tokens\/([^/:]+):acknowledge$/;

const ACKNOWLEDGEMENT_PENDING = "ACKNOWLEDGEMENT_STATE_PENDING";
const ACKNOWLEDGED = "ACKNOWLEDGEMENT_STATE_ACKNOWLEDGED";

interface Answer {
  readonly status: number;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** An error as Google's APIs write it. */
const googleError = (status: number, reason: string, message: string, location?: string): Answer => ({
  status,
  body: {
    error: {
      code: status,
      message,
      errors: [
        {
          message,
          domain: "androidpublisher",
          reason,
          ...(location !== undefined && { location, locationType: "parameter" }),
        },
      ],
    },
  },
});

/** An error as token endpoints write it (RFC 6749, 5.2). */
const tokenError = (error: string, description: string): Answer => ({
  status: 400,
  body: { error, error_description: description },
});

const controlError = (status: number, message: string): Answer => ({ status, body: { message } });

const NO_TOKEN = googleError(404, "purchaseTokenNotFound", "The purchase token was not found.", "token");
const WRONG_PRODUCT = googleError(
  400,
  "purchaseTokenDoesNotMatchProductId",
  "The purchase token does not match the product ID.",
  "token",
);

const periodOf = (duration: string): Period => {
  const parsed = parsePeriod(duration);
  if (parsed === null) throw new Error(`No ISO 8601 duration: ${duration}`);
  return parsed;
};

const orderId = (): string => `GPA.${randomBytes(8).toString("hex")}`;

const newSubscription = (purchase: SandboxPurchase, now: Instant): SubscriptionPurchase => {
  const { pending = false, prepaid = false, period = "P1M" } = purchase;
  return {
    kind: "androidpublisher#subscriptionPurchaseV2",
    regionCode: "US",
    subscriptionState: pending ? "SUBSCRIPTION_STATE_PENDING" : "SUBSCRIPTION_STATE_ACTIVE",
    acknowledgementState: ACKNOWLEDGEMENT_PENDING,
    ...(!pending && { startTime: isoTime(now) }),
    ...(purchase.replaces !== undefined && { linkedPurchaseToken: purchase.replaces }),
    ...(purchase.resubscribes !== undefined && {
      outOfAppPurchaseContext: { expiredPurchaseToken: purchase.resubscribes },
    }),
    ...(purchase.obfuscatedAccountIdentifier !== undefined && {
      externalAccountIdentifiers: { obfuscatedExternalAccountId: purchase.obfuscatedAccountIdentifier },
    }),
    ...(purchase.test === true && { testPurchase: {} }),
    lineItems: [
      {
        productId: purchase.productIdentifier,
        ...(!pending && {
          expiryTime: isoTime(plusPeriod(now, periodOf(period))),
          latestSuccessfulOrderId: orderId(),
        }),
        ...(prepaid ? { prepaidPlan: {} } : { autoRenewingPlan: { autoRenewEnabled: true } }),
        ...(purchase.basePlanIdentifier !== undefined && {
          offerDetails: { basePlanId: purchase.basePlanIdentifier },
        }),
      },
    ],
  };
};

const newOneTimePurchase = (purchase: SandboxPurchase, now: Instant): OneTimePurchase => {
  const { pending = false, quantity = 1 } = purchase;
  return {
    kind: "androidpublisher#productPurchaseV2",
    regionCode: "US",
    purchaseStateContext: { purchaseState: pending ? "PENDING" : "PURCHASED" },
    acknowledgementState: ACKNOWLEDGEMENT_PENDING,
    ...(!pending && { orderId: orderId(), purchaseCompletionTime: isoTime(now) }),
    ...(purchase.obfuscatedAccountIdentifier !== undefined && {
      obfuscatedExternalAccountId: purchase.obfuscatedAccountIdentifier,
    }),
    ...(purchase.test === true && { testPurchaseContext: { fopType: "TEST" } }),
    productLineItem: [
      {
        productId: purchase.productIdentifier,
        productOfferDetails: {
          quantity,
          refundableQuantity: quantity,
          consumptionState: "CONSUMPTION_STATE_YET_TO_BE_CONSUMED",
        },
      },
    ],
  };
};

class ImpossibleChange extends Error {}

const requireState = (actual: string | null | undefined, ...allowed: string[]): void => {
  if (actual == null || !allowed.includes(actual))
    throw new ImpossibleChange(`That cannot happen to a purchase in ${actual ?? "no state"}.`);
};

const changedSubscription = (
  purchase: SubscriptionPurchase,
  change: Change,
  period: Period,
  now: Instant,
): SubscriptionPurchase => {
  const until = (expiry: Instant, autoRenewEnabled: boolean): SubscriptionPurchase["lineItems"] & {} =>
    (purchase.lineItems ?? []).map((line) => ({
      ...line,
      expiryTime: isoTime(expiry),
      ...(line.prepaidPlan === undefined && { autoRenewingPlan: { autoRenewEnabled } }),
    }));
  const paid = (lines: SubscriptionPurchase["lineItems"] & {}) =>
    lines.map((line) => ({ ...line, latestSuccessfulOrderId: orderId() }));
  const end = Math.max(
    ...(purchase.lineItems ?? []).map((line) =>
      line.expiryTime == null ? now : Date.parse(line.expiryTime),
    ),
  );
  const state = purchase.subscriptionState;
  const pending = "SUBSCRIPTION_STATE_PENDING";
  if (change === "complete" || change === "decline") requireState(state, pending);
  else if (state === pending) throw new ImpossibleChange("The purchase is pending: complete or decline it.");

  switch (change) {
    case "complete":
      return {
        ...purchase,
        subscriptionState: "SUBSCRIPTION_STATE_ACTIVE",
        startTime: isoTime(now),
        lineItems: paid(until(plusPeriod(now, period), true)),
      };
    case "decline":
      return { ...purchase, subscriptionState: "SUBSCRIPTION_STATE_PENDING_PURCHASE_CANCELED" };
    case "renew":
      return {
        ...purchase,
        subscriptionState: "SUBSCRIPTION_STATE_ACTIVE",
        lineItems: paid(until(plusPeriod(Math.max(end, now), period), true)),
      };
    case "cancel":
      return {
        ...purchase,
        subscriptionState: "SUBSCRIPTION_STATE_CANCELED",
        canceledStateContext: { userInitiatedCancellation: { cancelTime: isoTime(now) } },
        lineItems: until(end, false),
      };
    case "grace":
      return {
        ...purchase,
        subscriptionState: "SUBSCRIPTION_STATE_IN_GRACE_PERIOD",
        lineItems: until(plusPeriod(now, period), true),
      };
    case "hold":
      return { ...purchase, subscriptionState: "SUBSCRIPTION_STATE_ON_HOLD", lineItems: until(now, true) };
    case "pause":
      return {
        ...purchase,
        subscriptionState: "SUBSCRIPTION_STATE_PAUSED",
        pausedStateContext: { autoResumeTime: isoTime(plusPeriod(now, period)) },
        lineItems: until(now, true),
      };
    case "expire":
    case "refund":
      return { ...purchase, subscriptionState: "SUBSCRIPTION_STATE_EXPIRED", lineItems: until(now, false) };
    case "consume":
      throw new ImpossibleChange("A subscription is not consumed.");
  }
};

const changedOneTimePurchase = (purchase: OneTimePurchase, change: Change, now: Instant): OneTimePurchase => {
  const state = purchase.purchaseStateContext?.purchaseState;
  const withDetails = (details: androidpublisher_v3.Schema$ProductOfferDetails): OneTimePurchase => ({
    ...purchase,
    productLineItem: (purchase.productLineItem ?? []).map((line) => ({
      ...line,
      productOfferDetails: { ...line.productOfferDetails, ...details },
    })),
  });
  switch (change) {
    case "complete":
      requireState(state, "PENDING");
      return {
        ...purchase,
        purchaseStateContext: { purchaseState: "PURCHASED" },
        orderId: orderId(),
        purchaseCompletionTime: isoTime(now),
      };
    case "decline":
      requireState(state, "PENDING");
      return { ...purchase, purchaseStateContext: { purchaseState: "CANCELLED" } };
    case "refund":
      requireState(state, "PURCHASED");
      return {
        ...withDetails({ refundableQuantity: 0 }),
        purchaseStateContext: { purchaseState: "CANCELLED" },
      };
    case "consume":
      requireState(state, "PURCHASED");
      return {
        ...withDetails({ consumptionState: "CONSUMPTION_STATE_CONSUMED" }),
        acknowledgementState: ACKNOWLEDGED,
      };
    case "renew":
    case "cancel":
    case "grace":
    case "hold":
    case "pause":
    case "expire":
      throw new ImpossibleChange("That happens to subscriptions only.");
  }
};

const productsOf = (stored: StoredPurchase): (string | null | undefined)[] =>
  stored.productKind === "subscription"
    ? (stored.answer.lineItems ?? []).map(({ productId }) => productId)
    : (stored.answer.productLineItem ?? []).map(({ productId }) => productId);

const isPaid = (stored: StoredPurchase): boolean =>
  stored.productKind === "subscription"
    ? !/PENDING|EXPIRED/.test(stored.answer.subscriptionState ?? "")
    : stored.answer.purchaseStateContext?.purchaseState === "PURCHASED";

const acknowledged = (stored: StoredPurchase): StoredPurchase => {
  if (stored.productKind === "one_time_product")
    return { ...stored, answer: { ...stored.answer, acknowledgementState: ACKNOWLEDGED } };
  const { outOfAppPurchaseContext: _, ...answer } = stored.answer;
  return { ...stored, answer: { ...answer, acknowledgementState: ACKNOWLEDGED } };
};

const readBody = async (request: IncomingMessage): Promise<string> => {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(Buffer.from(chunk));
  return Buffer.concat(chunks).toString("utf8");
};

const parseJson = (body: string): unknown => {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
};

const subjectToken = z.object({
  url: z.string().startsWith("https://sts."),
  method: z.literal("POST"),
  headers: z.array(z.object({ key: z.string(), value: z.string() })),
});

/** Empty where the escapes are bad: nothing is called so. */
const decode = (encoded: string): string => {
  try {
    return decodeURIComponent(encoded);
  } catch {
    return "";
  }
};

const impersonationRequest = z.object({ scope: z.array(z.string()).min(1), lifetime: z.string() });

const assertionClaims = z.object({
  iss: z.string(),
  aud: z.literal(GOOGLE_TOKEN_URL),
  scope: z.string().refine((scope) => scope.split(" ").includes(SCOPE)),
});

/**
 * @param options.prefix The path that the sandbox is mounted at, without a slash at its end; empty: the root.
 * @param options.packageNames The packages that exist; left out: all that are asked for.
 */
export const createAndroidPublisherSandbox = (options: {
  now: () => Instant;
  prefix?: string;
  packageNames?: readonly string[];
}): AndroidPublisherSandbox => {
  const { now, prefix = "", packageNames } = options;
  const purchases = new Map<string, StoredPurchase>();
  const dropped = new Set<string>();
  /** Access tokens and their scopes. */
  const accessTokens = new Map<string, readonly string[]>();
  const serviceAccounts = new Map<string, KeyObject>();
  const faults: Record<SandboxEndpoint, Fault[]> = {
    token: [],
    impersonation: [],
    publisher: [],
    control: [],
  };
  const calls: SandboxCall[] = [];

  const issueToken = (scopes: readonly string[]): string => {
    const accessToken = `sandbox.${randomBytes(24).toString("base64url")}`;
    accessTokens.set(accessToken, scopes);
    return accessToken;
  };

  const tokenAnswer = (scopes: readonly string[], more: Record<string, string> = {}): Answer => ({
    status: 200,
    body: { access_token: issueToken(scopes), token_type: "Bearer", expires_in: TOKEN_SECONDS, ...more },
  });

  /** What is wrong with the access token that a request carries; null where it may do what its scope says. */
  const refusal = (authorization: string | undefined, scope: string): Answer | null => {
    const [, accessToken = ""] = /^Bearer (.+)$/.exec(authorization ?? "") ?? [];
    const scopes = accessTokens.get(accessToken);
    if (scopes === undefined) return googleError(401, "authError", "Invalid Credentials");
    return scopes.includes(scope)
      ? null
      : googleError(403, "insufficientPermissions", "Request had insufficient authentication scopes.");
  };

  /** The subject of an AWS workload: a signed `GetCallerIdentity`, which Google would send to AWS. */
  const isSubject = (token: string): boolean => {
    const parsed = subjectToken.safeParse(parseJson(decode(token)));
    if (!parsed.success) return false;
    const headers = new Map(parsed.data.headers.map(({ key, value }) => [key.toLowerCase(), value]));
    return headers.has("authorization") && headers.get("x-goog-cloud-target-resource") === AUDIENCE;
  };

  const isAssertion = (assertion: string): boolean => {
    const [header = "", payload = "", signature = ""] = assertion.split(".");
    const claims = assertionClaims.safeParse(parseJson(Buffer.from(payload, "base64url").toString("utf8")));
    const key = claims.success ? serviceAccounts.get(claims.data.iss) : undefined;
    if (key === undefined) return false;
    return verify(
      "RSA-SHA256",
      Buffer.from(`${header}.${payload}`),
      key,
      Buffer.from(signature, "base64url"),
    );
  };

  const answerToken = (method: string, body: string): Answer => {
    if (method !== "POST") return tokenError("invalid_request", "POST is expected.");
    const form = new URLSearchParams(body);
    switch (form.get("grant_type")) {
      case TOKEN_EXCHANGE: {
        const subject = form.get("subject_token");
        if (subject === null) return tokenError("invalid_request", "There is no subject_token.");
        if (form.get("subject_token_type") !== AWS_TOKEN_TYPE)
          return tokenError("invalid_request", "The subject_token_type is not supported.");
        if (form.get("requested_token_type") !== ACCESS_TOKEN_TYPE)
          return tokenError("invalid_request", "The requested_token_type is not supported.");
        if (form.get("audience") !== AUDIENCE)
          return tokenError("invalid_target", "The audience is not known here.");
        const scopes = form.get("scope")?.split(" ") ?? [];
        if (!scopes.every((scope) => scope === SCOPE || scope === IMPERSONATION_SCOPE))
          return tokenError("invalid_scope", "The scope is not known here.");
        if (!isSubject(subject)) return tokenError("invalid_grant", "The subject_token is not valid.");
        return tokenAnswer(scopes, { issued_token_type: ACCESS_TOKEN_TYPE });
      }
      case JWT_GRANT:
        return isAssertion(form.get("assertion") ?? "")
          ? tokenAnswer([SCOPE])
          : tokenError("invalid_grant", "The assertion is not valid.");
      default:
        return tokenError("unsupported_grant_type", "The grant_type is not supported.");
    }
  };

  const answerImpersonation = (body: string, authorization: string | undefined): Answer => {
    const wanted = impersonationRequest.safeParse(parseJson(body));
    const refused = refusal(authorization, IMPERSONATION_SCOPE);
    if (refused !== null) return refused;
    if (!wanted.success) return googleError(400, "badRequest", "Request contains an invalid argument.");
    const expireTime = isoTime(now() + TOKEN_SECONDS * 1000);
    return { status: 200, body: { accessToken: issueToken(wanted.data.scope), expireTime } };
  };

  const find = (
    packageName: string,
    productKind: StoredPurchase["productKind"],
    purchaseToken: string,
  ): StoredPurchase | Answer => {
    if (packageNames?.includes(packageName) === false)
      return googleError(
        404,
        "applicationNotFound",
        "No application was found for the given package name.",
        "packageName",
      );
    if (dropped.has(purchaseToken))
      return productKind === "subscription"
        ? googleError(
            410,
            "subscriptionPurchaseNoLongerAvailable",
            "The subscription purchase is no longer available for query because it has been expired for too long.",
          )
        : googleError(410, "purchaseTokenNoLongerValid", "The purchase token is no longer valid.");
    const stored = purchases.get(purchaseToken);
    if (stored === undefined) return NO_TOKEN;
    if (stored.packageName !== packageName)
      return googleError(
        400,
        "purchaseTokenDoesNotMatchPackageName",
        "The purchase token does not match the package name.",
        "token",
      );
    return stored.productKind === productKind ? stored : googleError(400, "invalid", "Invalid Value");
  };

  const acknowledge = (purchaseToken: string, stored: StoredPurchase, product: string): Answer => {
    if (!productsOf(stored).includes(product)) return WRONG_PRODUCT;
    if (!isPaid(stored))
      return googleError(400, "invalid", "The purchase is not in a state that can be acknowledged.");
    if (stored.answer.acknowledgementState === ACKNOWLEDGED)
      return googleError(400, "invalid", "The purchase has been acknowledged already.");
    purchases.set(purchaseToken, acknowledged(stored));
    return { status: 200, body: {} };
  };

  const answerPublisher = (method: string, path: string, authorization: string | undefined): Answer => {
    const refused = refusal(authorization, SCOPE);
    if (refused !== null) return refused;
    const read = READ.exec(path)?.slice(1).map(decode);
    if (method === "GET" && read !== undefined) {
      const [packageName = "", resource = "", purchaseToken = ""] = read;
      const kind = resource === "subscriptionsv2" ? "subscription" : "one_time_product";
      const found = find(packageName, kind, purchaseToken);
      return "status" in found ? found : { status: 200, body: found.answer };
    }
    const acknowledgement = ACKNOWLEDGE.exec(path)?.slice(1).map(decode);
    if (method === "POST" && acknowledgement !== undefined) {
      const [packageName = "", resource = "", product = "", purchaseToken = ""] = acknowledgement;
      const kind = resource === "subscriptions" ? "subscription" : "one_time_product";
      const found = find(packageName, kind, purchaseToken);
      return "status" in found ? found : acknowledge(purchaseToken, found, product);
    }
    return { status: 404, body: "<!DOCTYPE html><title>Error 404 (Not Found)</title>" };
  };

  /** A subscription that takes another's place ends it, once it is paid. */
  const store = (purchaseToken: string, stored: StoredPurchase): void => {
    purchases.set(purchaseToken, stored);
    if (stored.productKind !== "subscription" || !isPaid(stored)) return;
    const { linkedPurchaseToken } = stored.answer;
    const replaced = linkedPurchaseToken == null ? undefined : purchases.get(linkedPurchaseToken);
    if (linkedPurchaseToken != null && replaced !== undefined && isPaid(replaced))
      change(linkedPurchaseToken, "expire");
  };

  const buy = (purchase: SandboxPurchase): string => {
    const purchaseToken = `${randomBytes(12).toString("hex")}.AO-J1O${randomBytes(48).toString("base64url")}`;
    const { packageName, productKind } = purchase;
    store(
      purchaseToken,
      productKind === "subscription"
        ? { packageName, productKind, answer: newSubscription(purchase, now()) }
        : { packageName, productKind, answer: newOneTimePurchase(purchase, now()) },
    );
    return purchaseToken;
  };

  const change = (purchaseToken: string, change: Change, period = "P1M"): void => {
    const stored = purchases.get(purchaseToken);
    if (stored === undefined) throw new ImpossibleChange("There is no such purchase.");
    const length = periodOf(period);
    store(
      purchaseToken,
      stored.productKind === "subscription"
        ? { ...stored, answer: changedSubscription(stored.answer, change, length, now()) }
        : { ...stored, answer: changedOneTimePurchase(stored.answer, change, now()) },
    );
  };

  const drop = (purchaseToken: string): void => {
    purchases.delete(purchaseToken);
    dropped.add(purchaseToken);
  };

  const presented = (purchaseToken: string) => {
    const { answer, ...stored } = purchases.get(purchaseToken) ?? {};
    return { purchaseToken, ...stored, purchase: answer };
  };

  const answerControl = (method: string, path: string, body: string): Answer => {
    const purchaseToken = decode(path.slice("/purchases/".length));
    if (path === "/purchases" && method === "GET")
      return { status: 200, body: { purchases: [...purchases.keys()].map(presented) } };
    if (path === "/purchases" && method === "POST") {
      const wanted = sandboxPurchase.safeParse(parseJson(body));
      if (!wanted.success) return controlError(400, z.prettifyError(wanted.error));
      return { status: 201, body: presented(buy(wanted.data)) };
    }
    if (!purchases.has(purchaseToken)) return controlError(404, "There is no such purchase.");
    switch (method) {
      case "GET":
        return { status: 200, body: presented(purchaseToken) };
      case "DELETE":
        drop(purchaseToken);
        return { status: 204 };
      case "POST": {
        const wanted = changeRequest.safeParse(parseJson(body));
        if (!wanted.success) return controlError(400, z.prettifyError(wanted.error));
        change(purchaseToken, wanted.data.change, wanted.data.period);
        return { status: 200, body: presented(purchaseToken) };
      }
      default:
        return controlError(405, "GET, POST or DELETE is expected.");
    }
  };

  const endpointOf = (path: string): SandboxEndpoint | null => {
    if (path === "/token") return "token";
    if (path.startsWith("/serviceAccounts/")) return "impersonation";
    if (path.startsWith(`${API}/`)) return "publisher";
    return path === "/purchases" || path.startsWith("/purchases/") ? "control" : null;
  };

  const answer = (
    endpoint: SandboxEndpoint,
    { method = "GET", headers }: IncomingMessage,
    path: string,
    body: string,
  ): Answer => {
    switch (endpoint) {
      case "token":
        return answerToken(method, body);
      case "impersonation":
        return answerImpersonation(body, headers.authorization);
      case "publisher":
        return answerPublisher(method, path.slice(API.length), headers.authorization);
      case "control":
        try {
          return answerControl(method, path, body);
        } catch (error) {
          if (error instanceof ImpossibleChange) return controlError(409, error.message);
          throw error;
        }
    }
  };

  const send = (response: ServerResponse, { status, body, headers }: Answer): void => {
    if (body === undefined) {
      response.writeHead(status, headers).end();
      return;
    }
    const html = typeof body === "string";
    response
      .writeHead(status, {
        "content-type": html ? "text/html; charset=utf-8" : "application/json; charset=utf-8",
        ...headers,
      })
      .end(html ? body : JSON.stringify(body));
  };

  return {
    handle: async (request, response) => {
      const { pathname } = new URL(request.url ?? "/", "http://sandbox");
      if (!pathname.startsWith(`${prefix}/`)) return false;
      const path = pathname.slice(prefix.length);
      const endpoint = endpointOf(path);
      if (endpoint === null) return false;
      calls.push({ endpoint, method: request.method ?? "GET", path });
      const body = await readBody(request);
      const fault = faults[endpoint].shift();
      if (fault === "hang") return true;
      if (fault === "disconnect") {
        request.socket.destroy();
        return true;
      }
      send(response, fault ?? answer(endpoint, request, path, body));
      return true;
    },
    buy,
    put: (purchaseToken, stored) => {
      dropped.delete(purchaseToken);
      purchases.set(purchaseToken, stored);
    },
    read: (purchaseToken) => purchases.get(purchaseToken),
    change,
    drop,
    externalAccount: (rootUrl, { impersonate } = {}) => {
      const root = rootUrl.replace(/\/$/, "");
      return {
        type: "external_account",
        audience: AUDIENCE,
        subject_token_type: AWS_TOKEN_TYPE,
        token_url: `${root}/token`,
        ...(impersonate !== undefined && {
          service_account_impersonation_url: `${root}/serviceAccounts/${impersonate}:generateAccessToken`,
        }),
        credential_source: {
          environment_id: "aws1",
          regional_cred_verification_url:
            "https://sts.{region}.amazonaws.com?Action=GetCallerIdentity&Version=2011-06-15",
        },
      };
    },
    createServiceAccount: () => {
      const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
      const email = `sandbox-${randomBytes(4).toString("hex")}@sandbox.iam.gserviceaccount.com`;
      serviceAccounts.set(email, createPublicKey(privateKey));
      return {
        type: "service_account",
        project_id: "sandbox",
        private_key_id: randomBytes(20).toString("hex"),
        private_key: privateKey.export({ type: "pkcs8", format: "pem" }),
        client_email: email,
        token_uri: GOOGLE_TOKEN_URL,
      };
    },
    revokeAccessTokens: () => accessTokens.clear(),
    failNext: (endpoint, ...next) => {
      faults[endpoint].push(...next);
    },
    clearFaults: () => {
      for (const waiting of Object.values(faults)) waiting.length = 0;
    },
    calls,
  };
};
