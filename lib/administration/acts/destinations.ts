import type { Application, WebhookDestination } from "../../applications/application.ts";
import type { DeliveryQueue, DestinationReference } from "../../delivery/delivery-queue.ts";
import { secretOf, secretText } from "../../delivery/webhook-secret.ts";
import type { Instant } from "../../entitlements/time.ts";
import type { AccountId, ApplicationId } from "../../identifiers.ts";
import { again, pause } from "../../pause.ts";
import {
  CHANGES_KEPT_MILLISECONDS,
  dayOf,
  type ChangeData,
  type ChangePlace,
  type FeedChange,
} from "../../telling/change.ts";
import {
  cursorOf,
  daysFrom,
  placeOfCursor,
  readChanges,
  type FeedTable,
} from "../../telling/read-changes.ts";
import { AT_ONCE, sideBySide } from "../side-by-side.ts";
import type { Audited } from "./audit.ts";

const WAITING_PER_PAGE = 1000;

/** `since`: time of the oldest message; null: nothing waits. */
const waitingFor = async (queue: Pick<DeliveryQueue, "waiting">, reference: DestinationReference) => {
  let [accounts, requests] = [0, 0];
  let since: Instant | null = null;
  for await (const page of queue.waiting(reference, WAITING_PER_PAGE))
    for (const delivery of page) {
      if (delivery.kind === "account") accounts += 1;
      else requests += 1;
      since = Math.min(since ?? delivery.since, delivery.since);
    }
  return { accounts, requests, since };
};

/** Reads all waiting messages of an application's destinations. */
export const reportDestinations = async (
  queue: Pick<DeliveryQueue, "waiting" | "healthOf">,
  { identifier, destinations }: Application,
) =>
  Promise.all(
    destinations.map(async (destination) => {
      const reference = { application: identifier, destination: destination.name };
      const [health, waiting] = await Promise.all([queue.healthOf(reference), waitingFor(queue, reference)]);
      return { destination, health, waiting };
    }),
  );

export type DestinationReport = Awaited<ReturnType<typeof reportDestinations>>[number];

export interface DestinationTable {
  /** `conflict`: the destination has changed since it was read. */
  setSecretEpochs(
    application: ApplicationId,
    before: WebhookDestination,
    secretEpochs: readonly Instant[],
    audit?: Audited,
  ): Promise<"written" | "conflict">;
  /** Deletes a removed destination's waiting messages and its health. May be repeated after an interruption. */
  drop(destination: DestinationReference, progress: (dropped: number) => void): Promise<number>;
}

/**
 * Rotates a webhook's secret. The previous one also signs for a day; older ones do not. The new one is derived first:
 * none takes effect without being shown. Null: the destination has changed since it was read.
 */
export const rotateSecret = async (
  secrets: Pick<DestinationTable, "setSecretEpochs">,
  master: Uint8Array,
  application: ApplicationId,
  before: WebhookDestination,
  moment: Instant,
  audit?: Audited,
) => {
  const [newest] = before.secretEpochs;
  // Epochs only increase, even if the clock goes back: each names its own secret.
  const epoch = newest === undefined ? moment : Math.max(moment, newest + 1);
  const secretEpochs = newest === undefined ? [epoch] : [epoch, newest];
  const destination = { ...before, secretEpochs };
  const secret = secretText(secretOf(master, application, destination, epoch));
  const written = await secrets.setSecretEpochs(application, before, secretEpochs, audit);
  return written === "conflict" ? null : { secret, destination };
};

/** Ends a destination's pause or suspension, and makes its waiting messages due at once. */
export const resume = async (
  queue: Pick<DeliveryQueue, "waiting" | "retry" | "resume">,
  reference: DestinationReference,
  moment: Instant,
  progress: (hastened: number) => void,
): Promise<number> => {
  let hastened = 0;
  for await (const page of queue.waiting(reference, WAITING_PER_PAGE)) {
    const later = page.filter(({ nextTryAt }) => nextTryAt > moment);
    await sideBySide(later, AT_ONCE, (delivery) => queue.retry(reference, delivery, delivery.tries, 0));
    hastened += later.length;
    if (later.length > 0) progress(hastened);
  }
  // Last, so that the deliverer then finds them due.
  await queue.resume(reference);
  return hastened;
};

export interface ToldVersion extends Pick<ChangeData, "version"> {
  readonly account: AccountId;
  readonly place: ChangePlace;
}

export interface ResendTable {
  /** Last told versions of accounts; accounts without one, or erased since, are left out. */
  newestOf(
    application: ApplicationId,
    accounts: readonly AccountId[],
  ): Promise<ReadonlyMap<AccountId, number>>;
  /** Makes a version due at a destination, in place of the account's waiting one. `newer`: it is superseded, or erased. */
  deliverAgain(
    destination: DestinationReference,
    version: ToldVersion,
    since: Instant,
  ): Promise<"written" | "newer" | "conflict">;
}

export interface Resending {
  readonly feed: FeedTable;
  readonly table: ResendTable;
  readonly now: () => Instant;
  /** Called once the cursor is valid, before anything is delivered. */
  readonly begin?: () => Promise<void>;
}

/** Start of the changes to deliver again: after a cursor of the feed, or at a time, inclusive. */
export type ResendStart = { readonly cursor: string } | { readonly time: Instant };

export interface Resent {
  readonly accounts: number;
  readonly changes: number;
  /** Cursor to resume from after an interruption; null: before the first change. */
  readonly cursor: string | null;
  readonly part: number;
}

const CHANGES_PER_PAGE = 250;
const ATTEMPTS = 20;

export const oldestKept = (moment: Instant): Instant => moment - CHANGES_KEPT_MILLISECONDS;

/** The changes that tell their account's newest version. */
const newestIn = async (
  { table }: Resending,
  application: ApplicationId,
  changes: readonly FeedChange[],
): Promise<readonly ToldVersion[]> => {
  const versions = changes.flatMap(({ data, place }) =>
    data === null ? [] : [{ account: data.applicationAccountIdentifier, version: data.version, place }],
  );
  const newest = await table.newestOf(
    application,
    versions.map(({ account }) => account),
  );
  return versions.filter(({ account, version }) => newest.get(account) === version);
};

/**
 * Delivers the newest version of each changed account to a destination once more. Safe to repeat; an older version
 * never replaces a newer one.
 *
 * @throws ServiceError `INVALID_REQUEST`: the cursor is malformed; `CURSOR_EXPIRED`: changes after it are no longer kept
 */
export const resendChanges = async (
  resending: Resending,
  destination: DestinationReference,
  start: ResendStart,
  progress: (done: Resent) => void,
): Promise<Resent> => {
  const { feed, table, now } = resending;
  const { application } = destination;
  if ("cursor" in start) await readChanges(resending, application, { after: start.cursor, limit: 1 });
  await resending.begin?.();
  const after = "cursor" in start ? placeOfCursor(start.cursor) : null;
  const from = "time" in start ? start.time : oldestKept(now());
  let done: Resent = { accounts: 0, changes: 0, cursor: null, part: 0 };
  const last = await feed.lastPlace(application);
  if (last === null) return { ...done, part: 1 };
  let first = after?.sequence ?? null;
  for (const day of daysFrom(after?.day ?? dayOf(from), last.day))
    for await (const page of feed.changesOf(application, day, after?.sequence ?? 0, CHANGES_PER_PAGE)) {
      const changes = page.filter(({ toldAt }) => after !== null || toldAt >= from);
      const end = changes.at(-1)?.place;
      if (end === undefined) continue;
      first ??= (changes[0]?.place.sequence ?? 1) - 1;
      let accounts = 0;
      await sideBySide(await newestIn(resending, application, changes), AT_ONCE, async (version) => {
        const delivered = await again(ATTEMPTS, pause, () => table.deliverAgain(destination, version, now()));
        if (delivered === "written") accounts += 1;
      });
      done = {
        accounts: done.accounts + accounts,
        changes: done.changes + changes.length,
        cursor: cursorOf(end),
        // Changes told meanwhile are delivered anyway, but read too.
        part: Math.min(1, (end.sequence - first) / Math.max(1, last.sequence - first)),
      };
      progress(done);
    }
  return { ...done, part: 1 };
};
