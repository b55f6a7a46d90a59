import { createHash } from "node:crypto";
import type { Application } from "../applications/application.ts";
import type { StoreRequest } from "../contract/schemas.ts";
import { DAY } from "../duration.ts";
import { isoTime, type Instant } from "../entitlements/time.ts";
import type { ApplicationId } from "../identifiers.ts";
import type { FactStore } from "./fact-store.ts";
import { findOwner, type VerifiedNames } from "./find-owner.ts";

/** A store's question to an application, from its notification. */
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

/** A store's request, as it waits for a destination. */
export interface WaitingRequest {
  /** Identifier of its message: visible ASCII without a dot. */
  readonly identifier: string;
  readonly askedAt: Instant;
  readonly answerBy: Instant | null;
  readonly data: StoreRequest;
}

/** Port for requests that wait for destinations. */
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

/**
 * Passes a store's question on to all destinations of the application. Does nothing if there is no destination, or the
 * request has ended.
 *
 * @returns whether the request waits for a destination
 */
export const passOn = async (
  { requests, table, pause, now }: RequestPassing,
  { identifier: application, destinations }: Application,
  question: StoreQuestion,
  about: VerifiedNames,
): Promise<boolean> => {
  if (destinations.length === 0 || requestEnd(question) <= now()) return false;
  const owner = await findOwner({ table, pause, now }, application, about);
  const { names, askedAt, answerBy, content } = question;
  await requests.add(
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
