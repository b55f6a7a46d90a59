import { DAY } from "../duration.ts";
import type { ApplicationId } from "../identifiers.ts";
import type { Instant } from "../entitlements/time.ts";
import { ServiceError } from "../contract/errors.ts";
import { dayOf, type ChangePlace, type FeedChange } from "./change.ts";

/** Changes in the order of their application's sequence. All reads are strongly consistent. */
export interface FeedTable {
  /** The last place of the sequence; null: nothing was told yet. */
  lastPlace(application: ApplicationId): Promise<ChangePlace | null>;
  /** Changes of a day after a place in the sequence, in pages. */
  changesOf(
    application: ApplicationId,
    day: string,
    after: number,
    perPage: number,
  ): AsyncIterable<readonly FeedChange[]>;
}

/** Cursor of the changes after a place. */
export const cursorOf = ({ day, sequence }: ChangePlace): string =>
  Buffer.from(`${day} ${sequence}`).toString("base64url");

/** Cursor that stands for no cursor: from the oldest change kept. */
export const START = Buffer.from("start").toString("base64url");

const CURSOR = /^(\d{4}-\d{2}-\d{2}) (0|[1-9]\d{0,15})$/;

/**
 * Place before an application's first change. A day back, as the teller's clock may be behind; expires like any other.
 */
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

/** The days between two days, both included. */
export const daysFrom = (from: string, to: string): readonly string[] => {
  const days: string[] = [];
  for (let at = Date.parse(from); at <= Date.parse(to); at += DAY) days.push(dayOf(at));
  return days;
};
