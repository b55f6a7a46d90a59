import type { Instant } from "../entitlements/time.ts";
import type { IdentityReference } from "../entitlements/proven-purchase.ts";
import { applicationId, type ApplicationId } from "../identifiers.ts";
import type { Key } from "./dynamodb/key.ts";
import { prefixes } from "./keys.ts";

/** The look that a key names; null for any other key. */
export const lookOfKey = ({
  pk,
  sk,
}: Key): { readonly application: ApplicationId; readonly dueAt: Instant } | null => {
  const [, application] = /^APPLICATION#([^#]+)#CHANGED$/.exec(pk) ?? [];
  const dueAt = Date.parse(sk.split("#", 1)[0] ?? "");
  return application === undefined || Number.isNaN(dueAt)
    ? null
    : { application: applicationId(application), dueAt };
};

/** Whether an item of a destination's partition is to be delivered. */
export const isDelivery = ({ sk }: Pick<Key, "sk">): boolean =>
  sk.startsWith(prefixes.delivery) || sk.startsWith(prefixes.requestDelivery);

/** The application of the delivery, or the notification to forward, that a key names; null for any other key. */
export const deliveryOfKey = ({ pk, sk }: Key): ApplicationId | null => {
  const [, application] = /^APPLICATION#([^#]+)#(?:DESTINATION|FORWARD)#[^#]+$/.exec(pk) ?? [];
  return application === undefined || !(isDelivery({ sk }) || sk.startsWith(prefixes.forward))
    ? null
    : applicationId(application);
};

/** The identity that a key names; null for any other key. */
export const identityOfKey = ({
  pk,
  sk,
}: Key):
  | (Pick<IdentityReference, "kind" | "value"> & { readonly store: string; readonly environment: string })
  | null => {
  const [, store, kind, environment, value] =
    /^APPLICATION#[^#]+#IDENTITY#([^#]+)#([^#]+)#([^#]+)#(.*)$/s.exec(pk) ?? [];
  if (sk !== "IDENTITY" || store === undefined || environment === undefined || value === undefined)
    return null;
  return kind === "app-transaction" ? { store, kind, environment, value } : null;
};
