import { decodeJwt } from "jose";
import * as z from "zod";
import type { Person } from "../server-api/persons.ts";
import type { SentPush } from "./push-history.ts";

const app = z.object({ bundleId: z.string() });
const envelope = z.object({
  notificationUUID: z.string(),
  notificationType: z.string(),
  subtype: z.string().optional(),
  data: app.extend({ signedTransactionInfo: z.string().optional() }).optional(),
  appData: app.extend({ signedAppTransactionInfo: z.string() }).optional(),
  summary: app.optional(),
  externalPurchaseToken: app.optional(),
});
type Envelope = z.output<typeof envelope>;

/** Decodes a notification without verifying it: the store signed it itself. */
const opened = ({ signedPayload }: SentPush): Envelope => envelope.parse(decodeJwt(signedPayload));

const bundleOf = ({ data, appData, summary, externalPurchaseToken }: Envelope): string | undefined =>
  (data ?? appData ?? summary ?? externalPurchaseToken)?.bundleId;

/** Whether a notification is about what a person bought. */
export const isAbout = ({ account, lineages }: Person, { data, appData }: Envelope): boolean => {
  if (appData !== undefined) {
    const { appTransactionId, receiptType } = decodeJwt(appData.signedAppTransactionInfo);
    return appTransactionId === account.appTransactionIdentifier && receiptType === account.environment;
  }
  if (data?.signedTransactionInfo === undefined) return false;
  const { originalTransactionId } = decodeJwt(data.signedTransactionInfo);
  return lineages.some((lineage) => lineage.originalTransactionIdentifier === originalTransactionId);
};

/** The app's notifications, in the order in which they were sent. */
export const sentFor = (bundleIdentifier: string, history: readonly SentPush[]) =>
  history
    .map((push) => ({ push, envelope: opened(push) }))
    .filter(({ envelope }) => bundleOf(envelope) === bundleIdentifier);
