import { randomUUID } from "node:crypto";
import * as z from "zod";
import { DAY, HOUR } from "../../lib/duration.ts";
import type { Instant } from "../../lib/entitlements/time.ts";
import { instant, readonlyObject } from "../fields.ts";
import { createPushQueue, waitingPush } from "../pushes.ts";
import { accountSchema, type Account, type Notice } from "./shop/lineage.ts";
import { signedPayloadsOf, statusOf } from "./shop/payloads.ts";
import { signJws, type JwsSigner } from "./signing.ts";

/**
 * Time from one try to the next. Only production is retried.
 *
 * @see https://developer.apple.com/documentation/appstoreservernotifications/responding-to-app-store-server-notifications
 */
const RETRIES_AFTER = [1, 12, 24, 48, 72].map((hours) => hours * HOUR);

/** Time for which the store remembers its notifications. */
export const RETENTION = 180 * DAY;

/** Notifications kept; beyond, the oldest are forgotten. One is up to 15 KB in the saved state. */
const LARGEST_HISTORY = 500;

const pendingPush = waitingPush.extend({
  signedPayload: z.string(),
  environment: accountSchema.unwrap().shape.environment,
});
/** A notification with all tries to send it, in Apple's own names. */
const sentPush = readonlyObject({
  signedPayload: z.string(),
  sendAttempts: z
    .array(z.object({ attemptDate: instant, sendAttemptResult: z.string() }))
    .min(1)
    .readonly(),
});
export const savedPushes = z.object({
  enabled: z.boolean(),
  pending: z.array(pendingPush),
  history: z.array(sentPush).default([]),
});
type SavedPushes = z.output<typeof savedPushes>;
type PendingPush = z.output<typeof pendingPush>;
export type SentPush = z.output<typeof sentPush>;

export const sentAt = ({ sendAttempts }: SentPush): Instant => sendAttempts[0]?.attemptDate ?? 0;

export const isTaken = ({ sendAttempts }: SentPush): boolean =>
  sendAttempts.at(-1)?.sendAttemptResult === "SUCCESS";

const isSuccess = (status: number): boolean => status >= 200 && status <= 206;

/** @see https://developer.apple.com/documentation/appstoreserverapi/sendattemptresult */
const resultOf = (status: number | null): string => {
  if (status === null) return "NO_RESPONSE";
  return isSuccess(status) ? "SUCCESS" : "UNSUCCESSFUL_HTTP_RESPONSE_CODE";
};

/** Sends notifications, resends those that were not accepted, and remembers each try. */
export const createPushes = (url: () => string | null) => {
  /** By payload, in the order of the first tries. */
  const history = new Map<string, SentPush>();

  const note = ({ signedPayload, dueAt }: PendingPush, status: number | null): void => {
    const before = history.get(signedPayload)?.sendAttempts ?? [];
    const attempt = { attemptDate: dueAt, sendAttemptResult: resultOf(status) };
    history.set(signedPayload, { signedPayload, sendAttempts: [...before, attempt] });
    for (const [key, push] of history) {
      if (history.size <= LARGEST_HISTORY && sentAt(push) > dueAt - RETENTION) break;
      history.delete(key);
    }
  };
  const queue = createPushQueue<PendingPush>({
    url,
    request: ({ signedPayload }) =>
      Promise.resolve({
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ signedPayload }),
      }),
    isTaken: isSuccess,
    retryAfter: ({ environment, failures }) =>
      (environment === "Production" ? RETRIES_AFTER[failures] : undefined) ?? null,
    note,
  });
  return {
    ...queue,
    publish: (signedPayload: string, { environment }: Account, dueAt: Instant): void =>
      queue.publish({ signedPayload, environment, failures: 0, dueAt }),
    history: (): readonly SentPush[] => [...history.values()],
    restore: (saved: SavedPushes): void => {
      queue.enable(saved.enabled);
      queue.restore(saved.pending);
      history.clear();
      for (const push of saved.history) history.set(push.signedPayload, push);
    },
    save: (): SavedPushes => ({
      enabled: queue.isEnabled(),
      pending: queue.waiting(),
      history: [...history.values()],
    }),
  };
};

/** In Apple's own names; a field that is undefined is left out. */
type NotificationFields = Readonly<Record<string, unknown>>;

/**
 * Signs a notification of version 2. The fields may be invalid, and replace the envelope's own.
 *
 * @see https://developer.apple.com/documentation/appstoreservernotifications/responsebodyv2decodedpayload
 */
export const signNotification = (fields: NotificationFields, signer: JwsSigner): string =>
  signJws({ notificationUUID: randomUUID(), version: "2.0", ...fields }, signer);

/** An app as the Server API and the notifications name it. */
export const appFields = ({ environment, bundleIdentifier, appAppleIdentifier }: Account) => ({
  environment,
  bundleId: bundleIdentifier,
  ...(environment === "Production" && { appAppleId: appAppleIdentifier }),
});

/** The fields of a notice's notification. Its parts are signed at the moment of the event. */
export const notificationOf = (account: Account, notice: Notice, signer: JwsSigner): NotificationFields => {
  const { name, lineage, transactionIdentifier, consumptionRequestReason } = notice;
  const { subscription, changedAt, transactions } = lineage;
  const [notificationType, subtype] = name.split(" ");
  const envelope = { notificationType, subtype, signedDate: changedAt };
  const app = appFields(account);
  const signed = signedPayloadsOf(account, changedAt, signer, "store");
  if (notificationType === "RESCIND_CONSENT")
    return { ...envelope, appData: { ...app, signedAppTransactionInfo: signed.appTransaction() } };
  const transaction = transactions.find((each) => each.transactionIdentifier === transactionIdentifier);
  if (transaction === undefined) throw new Error(`There is no transaction ${transactionIdentifier}.`);
  return {
    ...envelope,
    data: {
      ...app,
      bundleVersion: "1",
      signedTransactionInfo: signed.transaction(lineage, transaction),
      signedRenewalInfo: signed.renewalInfo(lineage),
      status: subscription === null ? undefined : statusOf(subscription),
      consumptionRequestReason,
    },
  };
};
