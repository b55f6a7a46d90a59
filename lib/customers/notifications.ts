import { createHash } from "node:crypto";
import type { Application, ApplicationDirectory } from "../applications/application.ts";
import { ServiceError, type ErrorCode } from "../contract/errors.ts";
import type { StoreRequest } from "../contract/messages.ts";
import { DAY, MINUTE } from "../duration.ts";
import { referenceText, type IdentityReference, type PurchaseReference } from "../entitlements/purchase.ts";
import { isoTime, type Instant } from "../entitlements/time.ts";
import type { ApplicationId } from "../identifiers.ts";
import { tryAgain } from "../pause.ts";
import { notifyingStores, storeText, type StoreInEnvironment } from "./application-stores.ts";
import type { FactStore } from "./storing/fact-store.ts";
import type { StoredCustomer } from "./storing/records.ts";
import { orIfErased } from "./storing/store-facts.ts";

/**
 * `STORED`: its facts are stored, or what it asks waits for a destination. `PARTLY_UNDERSTOOD`: so is what is
 * understood of it; a part is of an unknown form. `UNUSED`: it can never be used.
 */
export type NotificationUse = "STORED" | "PARTLY_UNDERSTOOD" | "UNUSED";

/** `FORGED`: not signed by the App Store, so anyone may have sent it. `INTERNAL_ERROR`: this service failed. */
export interface ReceivedNotification {
  readonly outcome: NotificationUse | "FORGED" | ErrorCode;
  /** The store's name of its type; null: not authentic, or unreadable. */
  readonly type: string | null;
}

export interface Reception {
  readonly note: NoteNotification;
  readonly requests: StoreRequestQueue;
  /** Takes the outcome of each notification, once. */
  readonly onReceived: (received: ReceivedNotification) => void;
}

/** An erased customer's purchase can never be used; only a link with a credential lifts the erasure. */
export const storeNotified = async (storing: Promise<object>): Promise<NotificationUse> =>
  (await orIfErased(storing, () => null)) === null ? "UNUSED" : "STORED";

/**
 * Reports a failure, then throws the error that answers the store.
 *
 * @param isAnswered codes to answer with; others become `STORE_UNAVAILABLE`, so that the store sends again
 */
export const failNotification =
  ({ onReceived }: Reception, isAnswered: ReadonlySet<ErrorCode>, type: string | null) =>
  (error: unknown): never => {
    const isOurs = error instanceof ServiceError;
    onReceived({ outcome: isOurs ? error.code : "INTERNAL_ERROR", type });
    throw isOurs && isAnswered.has(error.code)
      ? error
      : new ServiceError("STORE_UNAVAILABLE", { cause: error });
  };

/** Time of the last notification of a bundle or package, by the store's clock; may lag by {@link STEP_MILLISECONDS}. */
export interface LastNotification extends StoreInEnvironment {
  readonly signedAt: Instant;
}

export interface NotificationTimes {
  /** Stores the time, unless the stored one is later or less than {@link STEP_MILLISECONDS} earlier. Returns the stored time. */
  raise(store: StoreInEnvironment, signedAt: Instant): Promise<Instant>;
  ofApplication(application: ApplicationId): Promise<readonly LastNotification[]>;
  all(): Promise<readonly LastNotification[]>;
}

/** Notes an authentic notification. Never rejects: a notification is used even if its note fails. */
export type NoteNotification = (store: StoreInEnvironment, signedAt: Instant) => Promise<void>;

/** Minimum time between two notes of a bundle or package: a flood causes one write in five minutes. */
export const STEP_MILLISECONDS = 5 * MINUTE;

/** Remembers what is stored, so that most notifications, and replays, cost no request. */
export const createNotificationLog = (
  { raise }: Pick<NotificationTimes, "raise">,
  onFailure: (error: unknown) => void,
): NoteNotification => {
  const stored = new Map<string, Instant>();
  return async (store, signedAt) => {
    const text = storeText(store);
    if (signedAt < (stored.get(text) ?? -Infinity) + STEP_MILLISECONDS) return;
    try {
      stored.set(text, await raise(store, signedAt));
    } catch (error) {
      onFailure(error);
    }
  };
};

/** Silence that is worth an alarm. */
const SILENT_MILLISECONDS = DAY;
/** Silence after which nobody expects notifications any more. */
const FORGOTTEN_MILLISECONDS = 30 * DAY;

/** Those with production notifications within 30 days, but none for a day. A sandbox is silent when nobody tests. */
export const watchNotifications = async ({
  times,
  directory,
  now,
}: {
  readonly times: Pick<NotificationTimes, "all">;
  readonly directory: ApplicationDirectory;
  readonly now: () => Instant;
}): Promise<readonly LastNotification[]> => {
  const moment = now();
  const silent: LastNotification[] = [];
  for (const last of await times.all()) {
    const silence = moment - last.signedAt;
    if (last.environment !== "production" || silence < SILENT_MILLISECONDS) continue;
    if (silence > FORGOTTEN_MILLISECONDS) continue;
    const application = await directory.byIdentifier(last.application);
    const expected = application === null ? [] : notifyingStores(application);
    if (expected.map(storeText).includes(storeText(last))) silent.push(last);
  }
  return silent;
};

export interface WaitingRequest {
  /** Identifier of its message: visible ASCII without a dot. */
  readonly identifier: string;
  readonly askedAt: Instant;
  /** Null: the store names no deadline. */
  readonly answerBy: Instant | null;
  readonly data: StoreRequest;
}

interface StoreQuestion extends Pick<WaitingRequest, "askedAt" | "answerBy"> {
  /** Texts that identify the notification within the store; a repetition has the same. */
  readonly names: readonly string[];
  readonly content: Omit<
    StoreRequest,
    | "applicationIdentifier"
    | "applicationAccountIdentifier"
    | "assertedBy"
    | "customerIdentifier"
    | "answerBy"
  >;
}

export interface StoreRequestQueue {
  /** Queues a request for each destination that does not have it yet. Safe to repeat after a failure. */
  add(application: ApplicationId, destinations: readonly string[], request: WaitingRequest): Promise<void>;
}

/** Time for which a request without a deadline is delivered. */
const DELIVERED_MILLISECONDS = 30 * DAY;

/** Time from which a request is no longer written or delivered. */
export const requestEnd = ({ askedAt, answerBy }: Pick<WaitingRequest, "askedAt" | "answerBy">): Instant =>
  answerBy ?? askedAt + DELIVERED_MILLISECONDS;

type RequestPassing = Pick<FactStore, "table" | "pause" | "now"> & Pick<Reception, "requests">;

interface VerifiedNames {
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

/** Passes a question on to all destinations, unless it has ended. Returns whether it waits for one. */
export const passOn = async (
  passing: RequestPassing,
  { identifier: application, destinations }: Application,
  { names, askedAt, answerBy, content }: StoreQuestion,
  about: VerifiedNames,
): Promise<boolean> => {
  if (destinations.length === 0 || requestEnd({ askedAt, answerBy }) <= passing.now()) return false;
  const owner = await findOwner(passing, application, about);
  await passing.requests.add(
    application,
    destinations.map(({ name }) => name),
    {
      identifier: `msg_${createHash("sha256").update(JSON.stringify(names)).digest("hex")}`,
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
