import * as z from "zod/mini";
import type { StoreRequest } from "../../contract/messages.ts";
import { HOUR, MINUTE } from "../../duration.ts";
import type { Instant } from "../../entitlements/time.ts";
import { once } from "../../once.ts";
import { lenient } from "../lenient.ts";
import { disagreement } from "./claims.ts";
import {
  appFields,
  appTransactionKind,
  isGraceStatus,
  renewalInfoKind,
  transactionKind,
  type AppTransaction,
  type FieldsOf,
  type PayloadKind,
  type RenewalInfo,
  type Signed,
  type Transaction,
} from "./payloads.ts";
import type { Trust } from "./signatures/chain.ts";
import { checkSignature, isObject, type JsonObject, type SignatureCheck } from "./signatures/jws.ts";
import { isNotUnderstood, rejected, verified, type Verdict } from "./signatures/verdict.ts";
import { createSigners, verifySignedPayload } from "./verifier.ts";

/** The verified parts of a notification; null: it has none of that kind, or one that is not understood. */
export interface NotificationParts {
  readonly transaction: Transaction | null;
  readonly renewalInfo: RenewalInfo | null;
  readonly appTransaction: AppTransaction | null;
  /** Whether the App Store signed a part in a form that is not known here. */
  readonly isPartlyUnderstood: boolean;
}

/** Known members of which a notification has one. Each names the app. */
const SUBJECTS = ["data", "summary", "appData", "externalPurchaseToken"] as const;

/** Types and subtypes are an open set; a longer one is cut. */
const LONGEST_WORD = 64;

/** Prefix of an external purchase id in the sandbox; the token has no environment of its own. */
const SANDBOX_TOKEN = "SANDBOX";

const UUID = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i;

const text = once(() => lenient(z.string()));

/** A subject of a kind that is not known: another member that names an app. Nothing of it is used. */
const unknownSubjects = (payload: JsonObject) =>
  Object.values(payload).flatMap((value) => {
    const app = isObject(value) ? z.object(appFields()).safeParse(value) : null;
    return app?.success === true ? [app.data] : [];
  });

/** A word of an open set, cut; null: there is none. */
const wordOrNull = (word: string | undefined): string | null => word?.slice(0, LONGEST_WORD) || null;

/** An optional field may also be null, which means absent. */
const schema = once(() =>
  z.pipe(
    z.looseObject({
      notificationType: z.string().check(z.minLength(1)),
      subtype: text(),
      notificationUUID: text(),
      data: z.nullish(
        z.object({
          ...appFields(),
          signedTransactionInfo: text(),
          signedRenewalInfo: text(),
          status: z.optional(z.unknown()),
          consumptionRequestReason: text(),
        }),
      ),
      summary: z.nullish(z.object(appFields())),
      appData: z.nullish(z.object({ ...appFields(), signedAppTransactionInfo: text() })),
      externalPurchaseToken: z.nullish(z.object({ ...appFields(), externalPurchaseId: z.string() })),
    }),
    z.transform((written, context) => {
      const known = SUBJECTS.flatMap((one) => written[one] ?? []);
      const [subject, ...others] = known.length > 0 ? known : unknownSubjects(written);
      if (subject === undefined || others.length > 0) {
        context.issues.push({ code: "custom", message: "must have exactly one subject", input: written });
        return z.NEVER;
      }
      const { notificationType, subtype, notificationUUID, data, appData } = written;
      return {
        /** Apple's `notificationUUID`, the same in each repetition; null: there is none, or it is no UUID. */
        identifier: UUID.test(notificationUUID ?? "") ? (notificationUUID?.toLowerCase() ?? null) : null,
        /** Apple's type, no subtype: `DID_RENEW`. */
        kind: notificationType.slice(0, LONGEST_WORD),
        /** Apple's type and subtype, for the log: `DID_RENEW BILLING_RECOVERY`. */
        type: [notificationType, subtype].flatMap((word) => wordOrNull(word) ?? []).join(" "),
        bundleId: subject.bundleId,
        appAppleId: subject.appAppleId,
        /** Compact JWS, not verified yet; null: there is none. */
        signedTransaction: data?.signedTransactionInfo ?? null,
        signedRenewalInfo: data?.signedRenewalInfo ?? null,
        signedAppTransaction: appData?.signedAppTransactionInfo ?? null,
        /** Whether the subscription's status is a billing grace period. Unlike the type, it is a dated state, so it is a fact. */
        isInGrace: isGraceStatus(data?.status),
        /** Apple's reason why a refund was requested; null: not given. */
        consumptionRequestReason: wordOrNull(data?.consumptionRequestReason),
      };
    }),
  ),
);

/**
 * App Store Server Notification of version 2: an envelope around payloads that the App Store also signs elsewhere. Its
 * type decides no fact.
 *
 * @see https://developer.apple.com/documentation/appstoreservernotifications/responsebodyv2decodedpayload
 */
export interface Notification extends FieldsOf<typeof schema>, Signed {}

const environmentOf = (payload: JsonObject): unknown => {
  const token = payload["externalPurchaseToken"];
  if (isObject(token)) {
    const identifier = token["externalPurchaseId"];
    return typeof identifier === "string" && identifier.startsWith(SANDBOX_TOKEN) ? "Sandbox" : "Production";
  }
  const known = SUBJECTS.map((one) => payload[one]).find(isObject);
  const subject = known ?? Object.values(payload).find((value) => isObject(value) && "bundleId" in value);
  return isObject(subject) ? subject["environment"] : undefined;
};

const notificationKind = {
  // Fields of transactions, app transactions and renewal info.
  lacks: ["transactionId", "originalTransactionId", "receiptType", "autoRenewStatus"],
  environment: environmentOf,
  signedAt: "signedDate",
  schema,
} satisfies PayloadKind<unknown>;

/** Whether a notification and its parts agree on app, environment, Apple Account and lineage. */
const partsAgree = (
  notification: Notification,
  { transaction, renewalInfo, appTransaction }: NotificationParts,
): boolean => {
  const parts = [transaction, renewalInfo, appTransaction].filter((part) => part !== null);
  return (
    disagreement({ ...notification, appTransactionId: null }, parts) === null &&
    (transaction === null ||
      renewalInfo === null ||
      transaction.originalTransactionId === renewalInfo.originalTransactionId) &&
    (appTransaction === null ||
      notification.environment !== "production" ||
      appTransaction.appAppleId === notification.appAppleId)
  );
};

/** Further ahead than a request, five minutes in all: the App Store may never send a refused notification again. */
const SIGNED_AHEAD = 4 * MINUTE;

/** Xcode sends no notifications, so its certificates are not trusted here. */
const withoutXcode = ({ roots }: Trust): Trust => ({ roots, xcodeCertificates: new Set() });

/** Verifies notifications. `moment` is now. */
export const createNotificationVerifier = (check: SignatureCheck = checkSignature) => {
  const signers = createSigners(check);
  const verify = <Payload>(compact: string, kind: PayloadKind<Payload>, trust: Trust, moment: Instant) =>
    verifySignedPayload(compact, kind, signers, withoutXcode(trust), moment + SIGNED_AHEAD);
  return {
    /** Verifies the envelope alone. */
    verifyNotification: (compact: string, trust: Trust, moment: Instant): Promise<Verdict<Notification>> =>
      verify(compact, notificationKind, trust, moment),
    /** Verifies the payloads in a verified notification, and that all agree. One in an unknown form rejects no other. */
    verifyNotificationParts: async (
      notification: Notification,
      trust: Trust,
      moment: Instant,
    ): Promise<Verdict<NotificationParts>> => {
      let isPartlyUnderstood = false;
      const partOf = async <Payload>(
        compact: string | null,
        kind: PayloadKind<Payload>,
      ): Promise<Verdict<(Payload & Signed) | null>> => {
        if (compact === null) return verified(null);
        const verdict = await verify(compact, kind, trust, moment);
        if (verdict.outcome === "verified" || !isNotUnderstood(verdict.reason)) return verdict;
        isPartlyUnderstood = true;
        return verified(null);
      };
      const transaction = await partOf(notification.signedTransaction, transactionKind);
      if (transaction.outcome === "rejected") return transaction;
      const renewalInfo = await partOf(notification.signedRenewalInfo, renewalInfoKind);
      if (renewalInfo.outcome === "rejected") return renewalInfo;
      const app = await partOf(notification.signedAppTransaction, appTransactionKind);
      if (app.outcome === "rejected") return app;
      const parts: NotificationParts = {
        transaction: transaction.payload,
        renewalInfo: renewalInfo.payload,
        appTransaction: app.payload,
        isPartlyUnderstood,
      };
      return partsAgree(notification, parts) ? verified(parts) : rejected("disagreement");
    },
  };
};
export type NotificationVerifier = ReturnType<typeof createNotificationVerifier>;

/**
 * Notification types with a question to the developer, and the milliseconds within which the App Store accepts an
 * answer; null: no deadline.
 *
 * @see https://developer.apple.com/documentation/appstoreserverapi/send-consumption-information
 * @see https://developer.apple.com/documentation/appstoreservernotifications/notificationtype
 */
const QUESTIONS: ReadonlyMap<string, number | null> = new Map([
  ["CONSUMPTION_REQUEST", 12 * HOUR],
  ["RESCIND_CONSENT", null],
]);

/** A verified notification's question to the developer; null: none. */
export const questionIn = (
  { identifier, kind, bundleId, environment, signedAt, consumptionRequestReason }: Notification,
  { transaction, appTransaction }: NotificationParts,
) => {
  const within = QUESTIONS.get(kind);
  if (within === undefined) return null;
  const subject = transaction?.transactionId ?? appTransaction?.appTransactionId ?? "";
  const unnamed = [kind, bundleId, String(signedAt), subject];
  return {
    names: ["ios-store", environment, ...(identifier === null ? unnamed : [identifier])],
    askedAt: signedAt,
    answerBy: within === null ? null : signedAt + within,
    content: {
      store: "ios-store",
      kind,
      productIdentifier: transaction?.productId ?? null,
      transactionIdentifier: transaction?.transactionId ?? null,
      environment,
      bundleIdentifier: bundleId,
      ...(consumptionRequestReason !== null && { reason: consumptionRequestReason }),
    } satisfies Partial<StoreRequest>,
  };
};
