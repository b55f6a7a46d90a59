import { createPublicKey, generateKeyPairSync, randomBytes, randomUUID } from "node:crypto";
import { errors, jwtVerify } from "jose";
import * as z from "zod";
import { parseJson } from "../../lib/bounded-text.ts";
import type { Instant } from "../../lib/entitlements/time.ts";
import { createRate, found, type Answer, type Call, type Route, type Routes } from "../routes.ts";
import type { SentPush } from "./notifications.ts";
import {
  appTransactionInfo,
  errorAnswer,
  notificationHistory,
  personOf,
  subscriptionStatuses,
  transactionHistory,
  type Person,
} from "./server-answers.ts";
import type { Shop } from "./shop/shop.ts";
import type { JwsSigner } from "./signing.ts";

/** @see https://developer.apple.com/documentation/appstoreserverapi/creating-api-keys-to-authorize-api-requests */
export const serverKeySchema = z.object({
  /** UUID. */
  issuerIdentifier: z.string(),
  /** Ten letters and digits. */
  keyIdentifier: z.string(),
  /** The .p8 file: PKCS #8 as PEM, of a P-256 key. */
  privateKey: z.string(),
});
export type ServerKey = Readonly<z.output<typeof serverKeySchema>>;

export const createServerKey = (): ServerKey => ({
  issuerIdentifier: randomUUID(),
  keyIdentifier: randomBytes(5).toString("hex").toUpperCase(),
  privateKey: generateKeyPairSync("ec", { namedCurve: "P-256" })
    .privateKey.export({ format: "pem", type: "pkcs8" })
    .toString(),
});

/** Longest time between `iat` and `exp`, in seconds. */
const LONGEST = 60 * 60;
/** Seconds by which the issuer's clock may be ahead. */
const SKEW = 60;

/**
 * @returns the bundle that the token is for; null: the token is missing or not valid
 * @see https://developer.apple.com/documentation/appstoreserverapi/generating-json-web-tokens-for-api-requests
 */
const createTokenVerifier = ({ issuerIdentifier, keyIdentifier, privateKey }: ServerKey) => {
  const publicKey = createPublicKey(privateKey);
  return async (authorization: string | undefined, at: Instant): Promise<string | null> => {
    const token = /^Bearer ([\w.-]+)$/.exec(authorization ?? "")?.[1];
    if (token === undefined) return null;
    try {
      const { payload, protectedHeader } = await jwtVerify(token, publicKey, {
        algorithms: ["ES256"],
        typ: "JWT",
        issuer: issuerIdentifier,
        audience: "appstoreconnect-v1",
        requiredClaims: ["iat", "exp", "bid"],
        currentDate: new Date(at),
      });
      const { iat = 0, exp = 0, bid } = payload;
      const isLasting = exp > iat && exp - iat <= LONGEST && iat <= at / 1000 + SKEW;
      return protectedHeader.kid === keyIdentifier && isLasting && typeof bid === "string" && bid !== ""
        ? bid
        : null;
    } catch (error) {
      if (error instanceof errors.JOSEError) return null;
      throw error;
    }
  };
};

const UNAUTHENTICATED = { status: 401, body: "Unauthenticated\n" } as const;

export const serverApiFault = z.strictObject({
  status: z.int().min(400).max(599),
  /** Requests of a second that are answered: only the others fail, with `Retry-After` at the next second. */
  perSecond: z.int().positive().optional(),
});
export type ServerApiFault = z.output<typeof serverApiFault>;

const failed = ({ status }: ServerApiFault): Answer =>
  status === 401 ? UNAUTHENTICATED : errorAnswer(status === 404 ? 4_040_010 : status * 10_000);

const createFaults = () => {
  const rate = createRate();
  let requests = 0;
  let fault: ServerApiFault | null = null;
  return {
    set: (next: ServerApiFault | null): void => {
      rate.limit(next?.perSecond ?? null);
      fault = next;
    },
    /** Answer to the next request; null: no fault. */
    next: (at: Instant): Answer | null => {
      requests += 1;
      const next = rate.countedUntil(at);
      if (fault === null || (fault.perSecond !== undefined && next === null)) return null;
      // Apple's unit is milliseconds since 1970.
      return { ...failed(fault), ...(next !== null && { headers: { "Retry-After": String(next) } }) };
    },
    requests: (): number => requests,
  };
};

/**
 * The endpoints of the App Store Server API that the service and its import ask. Answers never wait for notifications.
 *
 * @see https://developer.apple.com/documentation/appstoreserverapi
 */
export const createServerApi = ({
  shop,
  history,
  catchUp,
  signer,
  serverKey,
  now,
}: {
  readonly shop: Shop;
  readonly history: () => readonly SentPush[];
  /** Makes everything due happen, without waiting for its notifications; returns the time. */
  readonly catchUp: () => Instant;
  readonly signer: JwsSigner;
  readonly serverKey: ServerKey;
  readonly now: () => Instant;
}) => {
  const bundleOfToken = createTokenVerifier(serverKey);
  const faults = createFaults();

  const routeOf =
    (answer: (call: Call, bundleIdentifier: string, identifier: string) => object): Route =>
    async (call, identifier = "") => {
      const failure = faults.next(now());
      if (failure !== null) return failure;
      const bundleIdentifier = await bundleOfToken(call.authorization, now());
      return bundleIdentifier === null ? UNAUTHENTICATED : found(answer(call, bundleIdentifier, identifier));
    };
  const aboutPerson = (answer: (person: Person, call: Call) => object): Route =>
    routeOf((call, bundleIdentifier, identifier) =>
      answer(personOf(shop, bundleIdentifier, identifier, { at: catchUp(), signer }), call),
    );
  const routes = {
    "GET /inApps/v1/subscriptions/{transactionId}": aboutPerson(subscriptionStatuses),
    "GET /inApps/v2/history/{transactionId}": aboutPerson(transactionHistory),
    "GET /inApps/v1/transactions/appTransactions/{transactionId}": aboutPerson(appTransactionInfo),
    "POST /inApps/v1/notifications/history": routeOf(({ body, query }, bundleIdentifier) => {
      const at = catchUp();
      const token = query.get("paginationToken");
      return notificationHistory(parseJson(body), token, bundleIdentifier, history(), at);
    }),
  } satisfies Routes;
  return { routes, fail: faults.set, requests: faults.requests };
};
