import type { WebhookDestination } from "../applications/destination.ts";
import { DAY } from "../duration.ts";
import type { Instant } from "../entitlements/time.ts";
import type { ApplicationId } from "../identifiers.ts";
import { webhookSecret } from "./webhook-secret.ts";

/** Time for which the previous secret signs beside the new one after a rotation. */
export const OVERLAP_MILLISECONDS = DAY;

/** Epoch of the secret of a destination that was never rotated: never shown. */
const NEVER_ROTATED: Instant = 0;

/** The secret of one epoch. */
export const secretOf = (
  master: Uint8Array,
  application: ApplicationId,
  { name }: WebhookDestination,
  epoch: Instant,
): Uint8Array => webhookSecret(master, { application, destination: name, epoch });

/** Secrets that sign a destination's messages at the moment: the newest, and the previous one for a day. */
export const signingSecrets = (
  master: Uint8Array,
  application: ApplicationId,
  destination: WebhookDestination,
  moment: Instant,
): readonly Uint8Array[] => {
  const { secretEpochs } = destination;
  const [newest = NEVER_ROTATED, before] = secretEpochs;
  const isOverlap = before !== undefined && moment < newest + OVERLAP_MILLISECONDS;
  return [newest, ...(isOverlap ? [before] : [])].map((epoch) =>
    secretOf(master, application, destination, epoch),
  );
};
