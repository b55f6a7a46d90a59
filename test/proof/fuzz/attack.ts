import type { KeyObject } from "node:crypto";
import { endpoints, type EndpointName } from "../../../lib/contract/endpoints.ts";
import type { Dice } from "../dice.ts";
import type { SigningChain } from "../../../sandbox/ios-store/signing.ts";

/** Google's pushes to the application, as the attacker knows them. */
interface PushTarget {
  readonly audience: string;
  readonly serviceAccount: string;
  /** Google's private key for push tokens. */
  readonly key: KeyObject;
  readonly keyIdentifier: string;
  /** Another tenant of the service. */
  readonly other: { readonly packageName: string; readonly serviceAccount: string };
}

/** One request, and the expectations of its answer. */
export interface Attack {
  /** A description of the attack, for counts and failures. */
  readonly note: string;
  readonly endpoint: EndpointName;
  readonly method: string;
  readonly path: string;
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: Buffer | null;
  /** Whether the request is forged, so that an answer of 200 is wrong. */
  readonly forged: boolean;
  /** The account to read after an answer of 200; null: none. */
  readonly reads: string | null;
}

/** The application under attack, as the attacker knows it. */
export interface Target {
  readonly bundleIdentifier: string;
  readonly packageName: string;
  readonly key: string;
  readonly readOnlyKey: string;
  readonly chain: SigningChain;
  /** A subscription in the Android store; {@link putAnswer} sets the store's answers for other tokens. */
  readonly purchaseToken: string;
  putAnswer(purchaseToken: string, body: unknown): void;
  readonly push: PushTarget;
}

/** Makes one attack; `identifier` is its own. */
export type Make = (target: Target, dice: Dice, identifier: string) => Attack;

export type Posting =
  | "linkAndroidStoreCustomer"
  | "linkIosStoreCustomer"
  | "synchronizeIosStorePurchases"
  | "receiveIosStoreNotification"
  | "receiveAndroidStoreNotification";

export const JSON_TYPE = ["Content-Type", "application/json"] as const;
export const bearer = (key: string) => ["Authorization", `Bearer ${key}`] as const;

type Details = Partial<Attack> & Pick<Attack, "note">;

/** A request of the endpoint, without a credential and a body unless it has them. */
export const requestTo = (endpoint: EndpointName, more: Details): Attack => ({
  endpoint,
  method: endpoints[endpoint].method,
  path: endpoints[endpoint].path,
  headers: [],
  body: null,
  forged: false,
  reads: null,
  ...more,
});

export const post = (
  target: Target,
  endpoint: Posting,
  body: Buffer | string | null,
  more: Details,
): Attack =>
  requestTo(endpoint, {
    headers: [JSON_TYPE, ...(endpoints[endpoint].scope === null ? [] : [bearer(target.key)])],
    body: typeof body === "string" ? Buffer.from(body) : body,
    ...more,
  });
