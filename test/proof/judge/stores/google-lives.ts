import { DAY, HOUR, MINUTE } from "../../../../lib/duration.ts";
import { NOW } from "../../../../testing/support/stores/purchases.ts";
import type { Dice } from "../../dice.ts";
import type { GoogleProduct, Happening, Life, Rates } from "../life.ts";
import {
  googleSubscription,
  lifeOfGoogle,
  type GoogleSubscription,
  type Item,
  type Phase,
  type Token,
} from "./google.ts";

const MONTH = 30 * DAY;

interface Course {
  readonly google: GoogleSubscription;
  readonly dice: Dice;
  readonly rates: Rates;
  /** Days; 0: none. */
  readonly grace: number;
  now: number;
}

const anItem = (product: GoogleProduct, expiry: number | null, changes: Partial<Item> = {}): Item => ({
  product,
  expiry,
  renews: product !== "prepaid",
  isPrepaid: product === "prepaid",
  replacedBy: null,
  ...changes,
});

const other = (product: GoogleProduct): GoogleProduct => (product === "silver" ? "gold" : "silver");

const itemsOf = ({ phases }: Token): readonly Item[] => phases.at(-1)?.items ?? [];

/** The product that is owned last, with its end. */
const currentOf = (token: Token): Item & { readonly end: number } => {
  const owned = itemsOf(token).findLast(({ expiry }) => expiry !== null);
  if (owned === undefined) throw new RangeError("A token has a product.");
  return { ...owned, end: owned.expiry ?? 0 };
};

const enter = (
  { google, now }: Course,
  token: Token,
  what: Happening["what"] | null,
  state: Phase["state"],
  items: readonly Item[] = itemsOf(token),
): void => google.enter(token, what, { from: now, state, items });

const expire = (course: Course, token: Token, what: "change" | "refund" | null = "change"): void => {
  const { now } = course;
  const items = itemsOf(token)
    .filter(({ expiry }) => expiry !== null)
    .map((item) => ({ ...item, expiry: Math.min(item.expiry ?? now, now), renews: false, replacedBy: null }));
  enter(course, token, what, "EXPIRED", items);
};

const replace = (course: Course, old: Token): void => {
  old.isReplaced = true;
  expire(course, old, null);
};

/** Buys, sometimes with a payment that is pending first. Null: it was never paid. */
const buy = (course: Course, product: GoogleProduct, until: number, old: Token | null): Token | null => {
  const { google, dice, rates } = course;
  const token = google.buy(course.now, old?.id ?? null);
  const item = anItem(product, Math.max(until, course.now + DAY));
  if (dice.chance(rates.pending)) {
    enter(course, token, "purchase", "PENDING", [anItem(product, null)]);
    const end = old === null ? Infinity : currentOf(old).end;
    course.now = Math.min(end, course.now + dice.within(MINUTE, 8 * HOUR));
    if (dice.chance(0.3)) {
      enter(course, token, "change", "PENDING_PURCHASE_CANCELED");
      return null;
    }
  }
  enter(course, token, "purchase", "ACTIVE", [item]);
  if (old !== null) replace(course, old);
  return token;
};

/** The old product until its end, and then another one, by a token that replaces this one at once. */
const replaceLater = (course: Course, old: Token): Token => {
  const { product, expiry } = currentOf(old);
  const token = course.google.buy(course.now, old.id);
  const next = other(product);
  const leaving = anItem(product, expiry, { renews: false, replacedBy: next });
  enter(course, token, "purchase", "ACTIVE", [leaving, anItem(next, null)]);
  replace(course, old);
  return token;
};

const renew = (course: Course, token: Token, until: number, what: "renewal" | "change"): void => {
  const items = itemsOf(token).map((item): Item =>
    item.replacedBy === null ? anItem(item.product, until) : { ...item, renews: false, replacedBy: null },
  );
  // What was replaced stays in the answer, past its end.
  const isCurrent = (item: Item): boolean => item.renews || item.isPrepaid;
  const past = items.filter((item) => !isCurrent(item));
  enter(course, token, what, "ACTIVE", [...past, ...items.filter(isCurrent)]);
};

const inState = (course: Course, token: Token, state: "ON_HOLD" | "PAUSED" | "CANCELED" | "ACTIVE"): void => {
  const renews = state !== "CANCELED";
  const items = itemsOf(token).map((item) =>
    item.replacedBy === null && item.expiry !== null ? { ...item, renews } : item,
  );
  enter(course, token, "change", state, items);
};

/** The grace period: as a whole, or moved a day at a time. Whether the payment recovers in it. */
const recoversInGrace = (course: Course, token: Token, end: number): boolean => {
  const { dice } = course;
  const { product } = currentOf(token);
  const until = end + course.grace * DAY;
  const isMoved = dice.chance(0.5);
  for (let to = isMoved ? course.now + DAY : until; course.now < until; to = Math.min(until, to + DAY)) {
    const what = token.phases.at(-1)?.state === "IN_GRACE_PERIOD" ? "silent" : "change";
    enter(course, token, what, "IN_GRACE_PERIOD", [anItem(product, Math.min(to, until))]);
    course.now = Math.min(until, isMoved ? course.now + DAY - HOUR : until);
    if (dice.chance(isMoved ? 0.1 : 0.4)) {
      course.now -= dice.number(HOUR);
      return true;
    }
  }
  return false;
};

/** The payment fails at the end: silent retries, a grace period, a hold. False: it is over. */
const fail = (course: Course, token: Token): boolean => {
  const { dice } = course;
  const { end, replacedBy } = currentOf(token);
  course.now = end;
  enter(course, token, "silent", "ACTIVE");
  course.now += dice.within(DAY, 2 * DAY);
  const isSoon = dice.chance(0.3);
  if (isSoon || (course.grace > 0 && replacedBy === null && recoversInGrace(course, token, end))) {
    renew(course, token, end + MONTH, "change");
    return true;
  }
  inState(course, token, "ON_HOLD");
  course.now += dice.within(HOUR, 30 * DAY);
  const isRecovered = dice.chance(0.4);
  if (isRecovered) renew(course, token, course.now + MONTH, "change");
  else expire(course, token);
  return isRecovered;
};

/** What happens within a period. The token that goes on; null: it is over. */
const within = (course: Course, token: Token): Token | null => {
  const { dice, rates } = course;
  const { end, product, isPrepaid } = currentOf(token);
  course.now = dice.within(course.now + HOUR, end - HOUR);
  if (course.now >= end - HOUR) return token;
  if (dice.chance(rates.refund)) {
    expire(course, token, "refund");
    return null;
  }
  if (isPrepaid) return dice.chance(0.5) ? (buy(course, product, end + MONTH, token) ?? token) : token;
  if (!dice.chance(rates.replacement)) return token;
  if (dice.chance(0.5) && itemsOf(token).length === 1) return replaceLater(course, token);
  return buy(course, other(product), course.now + dice.within(DAY, MONTH), token) ?? token;
};

const comeBack = (course: Course): Token | null => {
  const { dice } = course;
  if (!dice.chance(0.5)) return null;
  course.now += dice.within(HOUR, 100 * DAY);
  return buy(course, dice.pick(["silver", "gold", "prepaid"]), course.now + MONTH, null);
};

/** The end of a period. False: the subscription is over. */
const atEnd = (course: Course, token: Token, isCanceled: boolean): boolean => {
  const { dice, rates } = course;
  const { end, isPrepaid, replacedBy } = currentOf(token);
  if (isCanceled || isPrepaid) {
    course.now = end + dice.number(6) * MINUTE;
    expire(course, token);
    return false;
  }
  if (replacedBy === null && dice.chance(rates.pause)) {
    course.now = end;
    inState(course, token, "PAUSED");
    course.now += dice.within(7 * DAY, 90 * DAY);
    renew(course, token, course.now + MONTH, "change");
    return true;
  }
  if (dice.chance(rates.failure)) return fail(course, token);
  const renewedAt = replacedBy === null ? end + dice.within(-HOUR, 10 * MINUTE) : end;
  course.now = end;
  if (renewedAt > end) enter(course, token, "silent", "ACTIVE");
  course.now = renewedAt;
  renew(course, token, end + MONTH, "renewal");
  return true;
};

/** Cancels, and sometimes restarts. Whether it stays cancelled. */
const cancel = (course: Course, token: Token): boolean => {
  const { dice, rates } = course;
  const { end, isPrepaid, replacedBy } = currentOf(token);
  const isOver = (): boolean => course.now >= end - 2 * HOUR;
  if (isPrepaid || replacedBy !== null || isOver() || !dice.chance(rates.cancellation)) return false;
  course.now = dice.within(course.now + MINUTE, end - HOUR);
  inState(course, token, "CANCELED");
  if (isOver() || !dice.chance(0.3)) return true;
  course.now = dice.within(course.now + MINUTE, end - HOUR);
  inState(course, token, "ACTIVE");
  return false;
};

/** A life of up to a year and a half. */
export const googleLife = (dice: Dice, rates: Rates): Life => {
  const google = googleSubscription();
  const course: Course = { google, dice, rates, grace: dice.pick([0, 3, 7, 30]), now: NOW };
  const until = NOW + dice.within(DAY, 500 * DAY);
  let token = buy(course, dice.pick(["silver", "gold", "gold", "prepaid"]), NOW + MONTH, null);
  while (token !== null && course.now < until) {
    const running: Token | null = within(course, token);
    const goesOn = running !== null && atEnd(course, running, cancel(course, running));
    token = goesOn ? running : comeBack(course);
  }
  return lifeOfGoogle(google, course.now);
};
