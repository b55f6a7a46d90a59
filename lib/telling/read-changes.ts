import { ServiceError } from "../contract/errors.ts";
import type { AccountChange, ChangesPage, ChangesRequest } from "../contract/schemas.ts";
import { DAY } from "../duration.ts";
import { isoTime, type Instant } from "../entitlements/time.ts";
import type { ApplicationId } from "../identifiers.ts";
import {
  CHANGES_KEPT_MILLISECONDS,
  dayOf,
  type ChangeData,
  type ChangePlace,
  type FeedChange,
} from "./change.ts";

/** All reads are strongly consistent. */
export interface FeedTable {
  /** The last place of the sequence; null: nothing was told yet. */
  lastPlace(application: ApplicationId): Promise<ChangePlace | null>;
  /** Changes of a day after a place in the sequence, in its order. */
  changesOf(
    application: ApplicationId,
    day: string,
    after: number,
    perPage: number,
  ): AsyncIterable<readonly FeedChange[]>;
}

export const cursorOf = ({ day, sequence }: ChangePlace): string =>
  Buffer.from(`${day} ${sequence}`).toString("base64url");

/** Cursor that stands for no cursor: from the oldest change kept. */
export const START = Buffer.from("start").toString("base64url");

const CURSOR = /^(\d{4}-\d{2}-\d{2}) (0|[1-9]\d{0,15})$/;

/** Place before the first change. A day back, as the teller's clock may be behind; expires like any other. */
export const beforeAll = (now: Instant): ChangePlace => ({ day: dayOf(now - DAY), sequence: 0 });

/**
 * Place after which a cursor's changes start; null: from the oldest kept.
 *
 * @throws ServiceError `INVALID_REQUEST`
 */
export const placeOfCursor = (cursor: string): ChangePlace | null => {
  if (cursor === START) return null;
  const [, day = "", sequence = ""] = CURSOR.exec(Buffer.from(cursor, "base64url").toString()) ?? [];
  const place = { day, sequence: Number(sequence) };
  if (Number.isNaN(Date.parse(day)) || cursorOf(place) !== cursor)
    throw new ServiceError("INVALID_REQUEST", {
      issues: [{ path: "after", message: "must be a cursor that this endpoint has answered" }],
    });
  return place;
};

/** Both included. */
export const daysFrom = (from: string, to: string): readonly string[] => {
  const days: string[] = [];
  for (let at = Date.parse(from); at <= Date.parse(to); at += DAY) days.push(dayOf(at));
  return days;
};

const LIMIT = 100;

/** Bytes of changes in one answer, below the 6 MB that a function can answer. */
const BYTES = 4_000_000;

/**
 * Changes after a place, or from the oldest kept (null), up to another. A read may see part of a transaction: changes
 * after a gap are left for later.
 *
 * @throws ServiceError `CURSOR_EXPIRED` where the gap begins before the first of the days
 */
const withoutGaps = async function* (
  changesOf: (day: string, after: number) => AsyncIterable<readonly FeedChange[]>,
  days: readonly string[],
  after: ChangePlace | null,
  last: ChangePlace,
): AsyncGenerator<FeedChange> {
  const isCut = after !== null && (days[0] ?? "") > after.day;
  let next = after === null ? null : after.sequence + 1;
  for (const day of days)
    for await (const page of changesOf(day, (next ?? 1) - 1))
      for (const change of page) {
        const { sequence } = change.place;
        if (sequence > last.sequence) return;
        if (sequence !== (next ?? change.first)) {
          if (isCut && next === after.sequence + 1 && change.first > next)
            throw new ServiceError("CURSOR_EXPIRED");
          return;
        }
        next = sequence + 1;
        yield change;
      }
};

const shownAs = (data: ChangeData, { toldAt, place }: FeedChange): AccountChange => ({
  ...data,
  changed: [...data.changed],
  customerIdentifiers: [...data.customerIdentifiers],
  entitlements: [...data.entitlements],
  timestamp: isoTime(toldAt),
  cursor: cursorOf(place),
});

/**
 * Changes of all accounts in the order in which they were told, after a cursor or from the oldest kept.
 *
 * @throws ServiceError `INVALID_REQUEST` for a malformed cursor; `CURSOR_EXPIRED`
 */
export const readChanges = async (
  { feed, now }: { readonly feed: FeedTable; readonly now: () => Instant },
  application: ApplicationId,
  { after: cursor = START, limit = LIMIT }: ChangesRequest,
): Promise<ChangesPage> => {
  const after = placeOfCursor(cursor);
  const last = await feed.lastPlace(application);
  if ((last?.sequence ?? 0) < (after?.sequence ?? 0)) throw new ServiceError("CURSOR_EXPIRED");
  if (last === null) return { changes: [], next: after === null ? cursorOf(beforeAll(now())) : cursor };
  if (last.sequence === after?.sequence) return { changes: [], next: cursor };
  const oldest = dayOf(now() - CHANGES_KEPT_MILLISECONDS);
  const days = daysFrom(after !== null && after.day > oldest ? after.day : oldest, last.day);
  if (days.length === 0 && after !== null) throw new ServiceError("CURSOR_EXPIRED");

  const changes: ChangesPage["changes"] = [];
  let place = days.length === 0 ? last : after;
  let bytes = 0;
  const changesOf = (day: string, from: number) => feed.changesOf(application, day, from, limit);
  for await (const change of withoutGaps(changesOf, days, after, last)) {
    // An erased account's changes are left out.
    if (change.data !== null) {
      const shown = shownAs(change.data, change);
      bytes += Buffer.byteLength(JSON.stringify(shown));
      if (changes.length > 0 && bytes > BYTES) break;
      changes.push(shown);
    }
    place = change.place;
    if (changes.length === limit) break;
  }
  return { changes, next: place === null ? START : cursorOf(place) };
};
