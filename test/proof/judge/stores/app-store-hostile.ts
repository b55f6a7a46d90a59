import { DAY, HOUR, MINUTE } from "../../../../lib/duration.ts";
import { NOW } from "../../../../testing/support/stores/purchases.ts";
import { appStoreSubscription, refundAt, type AppStoreSubscription, type Period } from "./app-store.ts";
import { lifeOfAppStore } from "./app-store-truth.ts";
import { PRODUCTS, type Product } from "../catalog.ts";
import type { Dice } from "../dice.ts";
import type { Life } from "../life.ts";

/** One choice of the person or the store. */
export interface Step {
  readonly what: number;
  readonly which: number;
  /** In thousandths of the time that there is. */
  readonly when: number;
  /** Whether a device sends its copy of a period too. */
  readonly copies: number;
}

export const MOST = { what: 19, which: 5, when: 1000, copies: 9 } as const satisfies Step;
export const MOST_STEPS = 9;

export const stepsFrom = (dice: Dice): Step[] =>
  Array.from({ length: 1 + dice.upTo(MOST_STEPS - 1) }, () => ({
    what: dice.upTo(MOST.what),
    which: dice.upTo(MOST.which),
    when: dice.upTo(MOST.when),
    copies: dice.upTo(MOST.copies),
  }));

interface Course {
  readonly subscription: AppStoreSubscription;
  now: number;
}

const chosen = (from: readonly Product[], { which }: Step): Product | undefined =>
  from[which % Math.max(1, from.length)];
const above = (...others: readonly Product[]): readonly Product[] =>
  PRODUCTS.filter((one) => others.every((other) => PRODUCTS.indexOf(one) > PRODUCTS.indexOf(other)));
const below = (other: Product): readonly Product[] => PRODUCTS.slice(0, PRODUCTS.indexOf(other));

/** Moves to a time within the period, at least this long before its end; false: there is none. */
const moveWithin = (course: Course, { from, to }: Period, before: number, { when }: Step): boolean => {
  const [first, last] = [Math.max(course.now, from) + HOUR, to - before];
  if (last <= first) return false;
  course.now = first + Math.floor((when / 1000) * (last - first));
  return true;
};

/** A device sends its copy of a period, sometimes under the id of a restore. */
const copy = (course: Course, of: Period, { which }: Step): void => {
  course.now += MINUTE;
  const isRestored = which % 2 === 0 && of.from <= course.now && course.now < of.to;
  course.subscription.copy(of, course.now, isRestored);
};

const stepWhileFailing = (course: Course, step: Step, graceTo: number | null): void => {
  const { subscription } = course;
  const old = subscription.lastOf();
  const next = subscription.next();
  if (graceTo !== null && course.now < graceTo - 2 * HOUR && step.what % 2 === 0) {
    course.now += HOUR + Math.floor((step.when / 1000) * (graceTo - course.now - 2 * HOUR));
    if (old.grace !== null) old.grace.overAt = course.now;
    // The store's documents leave open whether a recovered period is dated from the old end or from the payment.
    const from = step.which % 2 === 0 ? old.to : course.now;
    subscription.charge("purchase", next, from, course.now);
  } else if (step.what % 3 === 0) {
    course.now = old.to + 61 * DAY;
    subscription.giveUp(course.now);
  } else {
    course.now = Math.max(course.now, graceTo ?? 0) + DAY + step.when * 20 * MINUTE;
    subscription.charge("purchase", chosen([next, "plus", "year"], step) ?? next, course.now, course.now);
  }
};

/** The renewal was charged, and has not begun: an upgrade may overtake it. */
const stepWhileAhead = (course: Course, step: Step, charged: Period): void => {
  const { subscription } = course;
  const before = subscription.periods.at(-2);
  const product = before === undefined ? undefined : chosen(above(before.product, charged.product), step);
  const mayOvertake =
    before !== undefined && before.to === charged.from && refundAt(before, course.now) === undefined;
  if (product === undefined || !mayOvertake || step.what % 2 === 0) {
    course.now = charged.from + HOUR;
    return;
  }
  course.now += Math.floor((step.when / 1000) * (charged.from - course.now - 10 * MINUTE));
  [charged.upgradedAt, charged.isOvertaken, before.upgradedAt] = [course.now, true, course.now];
  if (step.copies % 2 === 0) charged.refunds.push({ at: course.now, signedAt: course.now, backAt: null });
  subscription.charge("purchase", product, course.now, course.now);
  if (step.copies <= 1) copy(course, step.which % 2 === 0 ? charged : before, step);
};

const buyAnew = (course: Course, step: Step, refunded: Period): void => {
  const { subscription } = course;
  if (!moveWithin(course, refunded, 49 * HOUR, step)) return;
  subscription.charge("purchase", chosen(PRODUCTS, step) ?? "basic", course.now, course.now);
  if (step.copies % 3 <= 1) copy(course, refunded, step);
};

const upgrade = (course: Course, step: Step, running: Period): void => {
  const product = chosen(above(running.product), step);
  if (product === undefined || !moveWithin(course, running, 49 * HOUR, step)) return;
  running.upgradedAt = course.now;
  course.subscription.charge("purchase", product, course.now, course.now);
  if (step.copies <= 1) copy(course, running, step);
};

const refund = (course: Course, step: Step, running: Period): void => {
  const { subscription } = course;
  if (refundAt(running, course.now) !== undefined || !moveWithin(course, running, 50 * HOUR, step)) return;
  subscription.refund(running, course.now - MINUTE, course.now);
  if (step.copies > 2) return;
  course.now += DAY;
  subscription.giveBack(running, course.now);
};

const fail = (course: Course, step: Step, running: Period): void => {
  course.now = running.to + MINUTE;
  const hasGrace = refundAt(running, course.now) === undefined && step.which % 2 === 0;
  course.subscription.fail(course.now, hasGrace ? running.to + 16 * DAY : null);
};

const stepWhileRunning = (course: Course, step: Step, running: Period): void => {
  const { subscription } = course;
  const { what } = step;
  if (what < 4 && refundAt(running, course.now) !== undefined) buyAnew(course, step, running);
  else if (what < 4) upgrade(course, step, running);
  else if (what < 7) {
    const product = chosen(below(running.product), step);
    if (product === undefined || !moveWithin(course, running, 22 * HOUR, step)) return;
    subscription.choose(course.now, subscription.renews(), product);
  } else if (what < 9) {
    if (!moveWithin(course, running, 22 * HOUR, step)) return;
    subscription.choose(course.now, !subscription.renews(), subscription.next());
  } else if (what < 12) refund(course, step, running);
  else if (!subscription.renews()) {
    course.now = running.to + MINUTE;
    subscription.end(course.now);
  } else if (what < 16) {
    course.now = running.to - (step.which % 2 === 0 ? 20 * HOUR : 0);
    subscription.charge("renewal", subscription.next(), running.to, course.now);
  } else fail(course, step, running);
};

const take = (course: Course, step: Step): void => {
  const { subscription } = course;
  const last = subscription.lastOf();
  const failure = subscription.failure();
  if (failure !== null) stepWhileFailing(course, step, failure.graceTo);
  else if (course.now >= last.to) {
    course.now += DAY + step.when * 20 * MINUTE;
    subscription.charge("purchase", chosen(PRODUCTS, step) ?? "basic", course.now, course.now);
  } else if (course.now < last.from) stepWhileAhead(course, step, last);
  else stepWhileRunning(course, step, last);
  const { periods } = subscription;
  if (step.copies === 3) copy(course, periods[step.which % periods.length] ?? last, { ...step, copies: 0 });
};

/** A life in which what is rare happens all the time. */
export const hostileLife = ([first, ...others]: readonly Step[]): Life => {
  const course: Course = { subscription: appStoreSubscription(), now: NOW };
  const product = first === undefined ? undefined : chosen(PRODUCTS, first);
  course.subscription.charge("purchase", product ?? "basic", NOW, NOW);
  for (const step of others) take(course, step);
  return lifeOfAppStore(course.subscription, course.now);
};
