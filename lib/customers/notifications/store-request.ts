import { createHash } from "node:crypto";
import type { Application } from "../../applications/application.ts";
import type { StoreRequest } from "../../contract/messages.ts";
import { DAY } from "../../duration.ts";
import { isoTime, type Instant } from "../../entitlements/time.ts";
import {
  type IdentityReference,
  referenceText,
  type PurchaseReference,
} from "../../entitlements/purchase.ts";
import type { ApplicationId } from "../../identifiers.ts";
import { tryAgain } from "../../pause.ts";
import type { FactStore } from "../storing/fact-store.ts";
import type { StoredCustomer } from "../storing/records.ts";

export interface StoreQuestion {
  /** Texts that identify the notification within the store; a repetition has the same. */
  readonly names: readonly string[];
  readonly askedAt: Instant;
  /** Null: the store names no deadline. */
  readonly answerBy: Instant | null;
  readonly content: Omit<
    StoreRequest,
    | "applicationIdentifier"
    | "applicationAccountIdentifier"
    | "assertedBy"
    | "customerIdentifier"
    | "answerBy"
  >;
}

export interface WaitingRequest {
  /** Identifier of its message: visible ASCII without a dot. */
  readonly identifier: string;
  readonly askedAt: Instant;
  readonly answerBy: Instant | null;
  readonly data: StoreRequest;
}

export interface StoreRequestQueue {
  /** Queues a request for each destination that does not have it yet. Safe to repeat after a failure. */
  add(application: ApplicationId, destinations: readonly string[], request: WaitingRequest): Promise<void>;
}

/** Time for which a request without a deadline is delivered. */
const KEPT_MILLISECONDS = 30 * DAY;

/** Time from which a request is no longer written or delivered. */
export const requestEnd = ({ askedAt, answerBy }: Pick<WaitingRequest, "askedAt" | "answerBy">): Instant =>
  answerBy ?? askedAt + KEPT_MILLISECONDS;

const messageIdentifier = (names: readonly string[]): string =>
  `msg_${createHash("sha256").update(JSON.stringify(names)).digest("hex")}`;

export interface RequestPassing extends Pick<FactStore, "table" | "pause" | "now"> {
  readonly requests: StoreRequestQueue;
}

export interface VerifiedNames {
  readonly purchases: readonly PurchaseReference[];
  readonly identities: readonly IdentityReference[];
}

/** Attempts before a missing customer counts as gone: it may be new. */
const ATTEMPTS = 4;

/** Owner of the first owned purchase, else identity; aliases are followed. Null: nobody, or an erased customer. */
const findOwner = async (
  { table, pause, now }: RequestPassing,
  application: ApplicationId,
  { purchases, identities }: VerifiedNames,
): Promise<StoredCustomer | null> => {
  if (purchases.length === 0 && identities.length === 0) return null;
  const owner = await tryAgain<StoredCustomer | null>(ATTEMPTS, pause, async () => {
    const known = await table.findFacts(application, identities, purchases, now());
    const [named] = [
      ...purchases.map((purchase) => known.purchases.get(referenceText(purchase))),
      ...known.identities,
    ].flatMap((owned) => owned?.customer ?? []);
    if (named === undefined) return null;
    const { living } = await table.findCustomers(application, [named]);
    return living.get(named) ?? "conflict";
  });
  return owner === "conflict" ? null : owner;
};

/**
 * Passes a store's question on to all destinations, unless it has ended.
 *
 * @returns whether it waits for a destination
 */
export const passOn = async (
  passing: RequestPassing,
  { identifier: application, destinations }: Application,
  question: StoreQuestion,
  about: VerifiedNames,
): Promise<boolean> => {
  if (destinations.length === 0 || requestEnd(question) <= passing.now()) return false;
  const owner = await findOwner(passing, application, about);
  const { names, askedAt, answerBy, content } = question;
  await passing.requests.add(
    application,
    destinations.map(({ name }) => name),
    {
      identifier: messageIdentifier(names),
      askedAt,
      answerBy,
      data: {
        applicationIdentifier: application,
        applicationAccountIdentifier: owner?.link?.account ?? null,
        ...(owner?.link != null && { assertedBy: owner.link.assertedBy }),
        customerIdentifier: owner?.identifier ?? null,
        ...content,
        answerBy: answerBy === null ? null : isoTime(answerBy),
      },
    },
  );
  return true;
};
