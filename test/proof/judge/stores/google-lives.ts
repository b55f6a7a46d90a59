import { DAY, HOUR, MINUTE } from "../../../../lib/duration.ts";
import { NOW } from "../../../../testing/support/stores/purchases.ts";
import type { GoogleProduct } from "../catalog.ts";
import type { Dice } from "../dice.ts";
import { googleSubscription, phaseAt, type GoogleSubscription, type Item, type Token } from "./google.ts";
import { lifeOfGoogle } from "./google-truth.ts";
import type { Life } from "../life.ts";

const MONTH = 30 * DAY;

/** Probabilities for each period. */
export interface GoogleRates {
  readonly refund: number;
  readonly replacement: number;
  readonly failure: number;
  readonly cancellation: number;
  readonly pause: number;
  readonly pending: number;
}

export const REALISTIC_GOOGLE: GoogleRates = {
  refund: 0.01,
  replacement: 0.01,
  failure: 0.03,
  cancellation: 0.08,
  pause: 0.01,
  pending: 0.01,
};

export const HOSTILE_GOOGLE: GoogleRates = {
  refund: 0.1,
  replacement: 0.3,
  failure: 0.4,
  cancellation: 0.3,
  pause: 0.2,
  pending: 0.2,
};

interface Course {
  readonly google: GoogleSubscription;
  readonly dice: Dice;
  readonly rates: GoogleRates;
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

const others = (product: GoogleProduct): GoogleProduct => (product === "silver" ? "gold" : "silver");

const currentOf = (token: Token): Item => {
  const items = phaseAt(token, Infinity)?.items ?? [];
  const owned = items.findLast(({ expiry }) => expiry !== null);
  if (owned === undefined) throw new RangeError("A token has a product.");
  return owned;
};

const expire = ({ google, now }: Course, token: Token, what: "change" | "refund" | null = "change"): void => {
  const items = (phaseAt(token, Infinity)?.items ?? [])
    .filter(({ expiry }) => expiry !== null)
    .map((item) => ({ ...item, expiry: Math.min(item.expiry ?? now, now), renews: false, replacedBy: null }));
  google.enter(token, what, { from: now, state: "EXPIRED", items });
};

/** Buys, sometimes with a payment that is pending first. Null: it was never paid. */
const buy = (course: Course, product: GoogleProduct, until: number, old: Token | null): Token | null => {
  const { google, dice, rates } = course;
  const token = google.buy(course.now, old?.id ?? null);
  const item = anItem(product, Math.max(until, course.now + DAY));
  if (dice.chance(rates.pending)) {
    const pending = anItem(product, null);
    google.enter(token, "purchase", { from: course.now, state: "PENDING", items: [pending] });
    course.now += dice.within(MINUTE, 8 * HOUR);
    if (dice.chance(0.3)) {
      google.enter(token, "change", {
        from: course.now,
        state: "PENDING_PURCHASE_CANCELED",
        items: [pending],
      });
      return null;
    }
  }
  google.enter(token, "purchase", { from: course.now, state: "ACTIVE", items: [item] });
  if (old !== null) {
    old.isReplaced = true;
    expire(course, old, null);
  }
  return token;
};

/** The old product until its end, and then another one, by a token that replaces this one at once. */
const replaceLater = (course: Course, old: Token): Token => {
  const { google } = course;
  const { product, expiry } = currentOf(old);
  const token = google.buy(course.now, old.id);
  const next = others(product);
  google.enter(token, "purchase", {
    from: course.now,
    state: "ACTIVE",
    items: [anItem(product, expiry, { renews: false, replacedBy: next }), anItem(next, null)],
  });
  old.isReplaced = true;
  expire(course, old, null);
  return token;
};

const renew = (course: Course, token: Token, until: number, what: "renewal" | "change"): void => {
  const { google, now } = course;
  const items = (phaseAt(token, Infinity)?.items ?? []).map((item): Item => {
    const { product, replacedBy } = item;
    if (replacedBy !== null) return { ...item, renews: false, replacedBy: null };
    return anItem(product, until);
  });
  // What was replaced stays in the answer, past its end.
  const isCurrent = (item: Item): boolean => item.renews || item.isPrepaid;
  google.enter(token, what, {
    from: now,
    state: "ACTIVE",
    items: [...items.filter((item) => !isCurrent(item)), ...items.filter(isCurrent)],
  });
};

const inState = (course: Course, token: Token, state: "ON_HOLD" | "PAUSED" | "CANCELED" | "ACTIVE"): void => {
  const items = phaseAt(token, Infinity)?.items ?? [];
  const renews = state !== "CANCELED";
  course.google.enter(token, "change", {
    from: course.now,
    state,
    items: items.map((item) =>
      item.replacedBy === null && item.expiry !== null ? { ...item, renews } : item,
    ),
  });
};

/** The payment fails at the end: silent retries, a grace period, a hold. False: it is over. */
const fail = (course: Course, token: Token): boolean => {
  const { google, dice, grace } = course;
  const { expiry, replacedBy } = currentOf(token);
  const end = expiry ?? course.now;
  course.now = end;
  google.enter(token, "silent", { from: end, state: "ACTIVE", items: phaseAt(token, end)?.items ?? [] });
  course.now += dice.within(DAY, 2 * DAY);
  if (dice.chance(0.3)) {
    renew(course, token, end + MONTH, "change");
    return true;
  }
  if (grace > 0 && replacedBy === null) {
    const until = end + grace * DAY;
    const isMoved = dice.chance(0.5);
    for (let to = isMoved ? course.now + DAY : until; course.now < until; to = Math.min(until, to + DAY)) {
      const items = [anItem(currentOf(token).product, Math.min(to, until))];
      const what = phaseAt(token, course.now)?.state === "IN_GRACE_PERIOD" ? "silent" : "change";
      google.enter(token, what, { from: course.now, state: "IN_GRACE_PERIOD", items });
      course.now = Math.min(until, isMoved ? course.now + DAY - HOUR : until);
      if (dice.chance(isMoved ? 0.1 : 0.4)) {
        course.now -= dice.upTo(HOUR);
        renew(course, token, end + MONTH, "change");
        return true;
      }
    }
  }
  inState(course, token, "ON_HOLD");
  course.now += dice.within(HOUR, 30 * DAY);
  if (dice.chance(0.4)) {
    renew(course, token, course.now + MONTH, "change");
    return true;
  }
  expire(course, token);
  return false;
};

/** What happens within a period. The token that goes on; null: it is over. */
const within = (course: Course, token: Token): Token | null => {
  const { dice, rates } = course;
  const { expiry, product, isPrepaid } = currentOf(token);
  const end = expiry ?? course.now;
  course.now = dice.within(course.now + HOUR, end - HOUR);
  if (course.now >= end - HOUR) return token;
  if (dice.chance(rates.refund)) {
    expire(course, token, "refund");
    return null;
  }
  if (isPrepaid) return dice.chance(0.5) ? (buy(course, product, end + MONTH, token) ?? token) : token;
  if (!dice.chance(rates.replacement)) return token;
  if (dice.chance(0.5) && token.phases.at(-1)?.items.length === 1) return replaceLater(course, token);
  const next = buy(course, others(product), course.now + dice.within(DAY, MONTH), token);
  return next ?? token;
};

const comeBack = (course: Course): Token | null => {
  const { dice } = course;
  if (!dice.chance(0.5)) return null;
  course.now += dice.within(HOUR, 100 * DAY);
  return buy(course, dice.one("silver", "gold", "prepaid"), course.now + MONTH, null);
};

/** The end of a period. False: the subscription is over. */
const atEnd = (course: Course, token: Token, isCanceled: boolean): boolean => {
  const { dice, rates } = course;
  const { expiry, isPrepaid, replacedBy } = currentOf(token);
  const end = expiry ?? course.now;
  if (isCanceled || isPrepaid) {
    course.now = end + dice.upTo(5) * MINUTE;
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
  course.now = replacedBy === null ? end + dice.within(-HOUR, 10 * MINUTE) : end;
  if (course.now > end)
    course.google.enter(token, "silent", {
      from: end,
      state: "ACTIVE",
      items: phaseAt(token, end)?.items ?? [],
    });
  renew(course, token, end + MONTH, "renewal");
  return true;
};

/** Cancels, and sometimes restarts. Whether it stays cancelled. */
const cancel = (course: Course, token: Token): boolean => {
  const { dice } = course;
  const { expiry, isPrepaid, replacedBy } = currentOf(token);
  const end = expiry ?? course.now;
  if (
    isPrepaid ||
    replacedBy !== null ||
    course.now >= end - 2 * HOUR ||
    !dice.chance(course.rates.cancellation)
  )
    return false;
  course.now = dice.within(course.now + MINUTE, end - HOUR);
  inState(course, token, "CANCELED");
  if (course.now >= end - 2 * HOUR || !dice.chance(0.3)) return true;
  course.now = dice.within(course.now + MINUTE, end - HOUR);
  inState(course, token, "ACTIVE");
  return false;
};

/** A life of up to a year and a half. */
export const googleLife = (dice: Dice, rates: GoogleRates): Life => {
  const google = googleSubscription();
  const course: Course = { google, dice, rates, grace: dice.one(0, 3, 7, 30), now: NOW };
  const until = NOW + dice.within(DAY, 500 * DAY);
  let token = buy(course, dice.one("silver", "gold", "gold", "prepaid"), NOW + MONTH, null);
  while (token !== null && course.now < until) {
    const running: Token | null = within(course, token);
    const goesOn = running !== null && atEnd(course, running, cancel(course, running));
    token = goesOn ? running : comeBack(course);
  }
  return lifeOfGoogle(google, course.now);
};
