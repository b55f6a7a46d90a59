import { DAY, HOUR, MINUTE } from "../../../../lib/duration.ts";
import { NOW } from "../../../../testing/support/stores/purchases.ts";
import type { Dice } from "../../dice.ts";
import { PRODUCTS, type Product, type Life, type Rates } from "../life.ts";
import {
  appStoreSubscription,
  lifeOfAppStore,
  refundAt,
  type AppStoreSubscription,
  type Period,
} from "./app-store.ts";

/** Something that the person or the store does at a time, unless what it is about is over by then. */
interface Plan {
  readonly at: number;
  readonly act: () => void;
}

interface Course {
  readonly subscription: AppStoreSubscription;
  readonly dice: Dice;
  readonly rates: Rates;
  /** Days; 0: none. */
  readonly grace: number;
  plans: Plan[];
  now: number;
}

/** Does what is planned before a time, and goes there, or to where another period is bought. */
const goTo = (course: Course, time: number): void => {
  const last = course.subscription.periods.at(-1);
  while (course.subscription.periods.at(-1) === last) {
    const [first, ...others] = course.plans.toSorted((a, b) => a.at - b.at);
    if (first === undefined || first.at >= time) {
      course.now = Math.max(course.now, time);
      return;
    }
    course.plans = others;
    course.now = Math.max(course.now, first.at);
    first.act();
  }
};

const isRunning = ({ subscription, now }: Course, period: Period): boolean =>
  subscription.lastOf() === period && period.from <= now && now < period.to;

const isAbove = (one: Product, other: Product): boolean => PRODUCTS.indexOf(one) > PRODUCTS.indexOf(other);

const buy = (course: Course, product: Product, from = course.now): void =>
  begin(course, course.subscription.charge("purchase", product, from, course.now));

/** Buys a higher product at once; what was charged ahead by then never runs, and may be refunded. */
const upgrade = (course: Course): void => {
  const { subscription, dice, rates, now } = course;
  const last = subscription.lastOf();
  const isAhead = now < last.from;
  const running = isAhead ? subscription.periods.at(-2) : last;
  if (running === undefined || running.product === "year" || !subscription.renews()) return;
  const product = dice.pick(PRODUCTS.filter((one) => isAbove(one, running.product)));
  if (now >= running.to || now < running.from || refundAt(running, now) !== undefined) return;
  if (isAhead && (running.to !== last.from || !isAbove(product, last.product))) return;
  running.upgradedAt = now;
  if (isAhead) [last.upgradedAt, last.isOvertaken] = [now, true];
  if (isAhead && dice.chance(0.5)) last.refunds.push({ at: now, backAt: null });
  if (dice.chance(rates.copy)) {
    const copied = dice.pick([running, last]);
    const act = (): void => subscription.copy(copied, course.now, copied === running && dice.chance(0.5));
    course.plans.push({ at: now + MINUTE, act });
  }
  buy(course, product);
};

const refund = (course: Course, period: Period): void => {
  const { subscription, dice, rates, now } = course;
  // A known limit: what has overtaken a period is refunded before that period's start.
  const overtakes = subscription.periods.some((one) => one.isOvertaken && now <= one.from);
  if (period.isOvertaken || overtakes || refundAt(period, now) !== undefined) return;
  subscription.refund(period, now - dice.number(11) * MINUTE, now);
  if (dice.chance(rates.takenBack)) {
    const act = (): void => {
      subscription.giveBack(period, course.now);
      const at = dice.within(course.now + HOUR, period.to);
      if (dice.chance(0.5)) course.plans.push({ at, act: () => upgrade(course) });
    };
    course.plans.push({ at: now + dice.within(HOUR, dice.pick([2, 20]) * DAY), act });
  } else if (isRunning(course, period) && dice.chance(0.3)) {
    const at = dice.within(now + HOUR, period.to - 49 * HOUR);
    const act = (): void => {
      if (isRunning(course, period)) buy(course, dice.pick(PRODUCTS));
    };
    course.plans.push({ at, act });
  }
};

/** Plans what happens to a period that was just charged. */
function begin(course: Course, period: Period): void {
  const { subscription, dice, rates } = course;
  const { from, to, chargedAt, product } = period;
  // What recovers in its grace period begins before its charge.
  const begun = Math.max(from, chargedAt + MINUTE);
  const plan = (probability: number, act: () => void, until = to, after = begun): void => {
    if (dice.chance(probability)) course.plans.push({ at: dice.within(after, until), act });
  };
  const choose = (willRenew: boolean, into = subscription.next()): void => {
    if (isRunning(course, period)) subscription.choose(course.now, willRenew, into);
  };
  const paidAt = Math.max(from, chargedAt) + HOUR;
  plan(rates.refund, () => refund(course, period), paidAt + Math.min(90 * DAY, 2 * (to - from)), paidAt);
  plan(rates.upgrade, () => upgrade(course));
  plan(rates.copy, () =>
    subscription.copy(period, course.now, isRunning(course, period) && dice.chance(0.7)),
  );
  plan(rates.cancellation, () => choose(false));
  plan(rates.cancellation / 3, () => choose(true));
  plan(rates.change, () =>
    choose(subscription.renews(), dice.pick(PRODUCTS.filter((one) => one !== product))),
  );
}

const comeBack = (course: Course): boolean => {
  const { dice } = course;
  if (!dice.chance(0.4)) return false;
  goTo(course, course.now + dice.within(HOUR, 100 * DAY));
  buy(course, dice.pick(PRODUCTS));
  return true;
};

/** The payment fails at the end: it recovers in the grace period or later, or never. False: the life is over. */
const fail = (course: Course, period: Period): boolean => {
  const { subscription, dice, grace } = course;
  goTo(course, period.to + dice.within(MINUTE, 10 * MINUTE));
  const isRefunded = refundAt(period, course.now) !== undefined;
  subscription.fail(course.now, isRefunded || grace === 0 ? null : period.to + grace * DAY);
  if (dice.chance(0.4)) {
    goTo(course, period.to + 60 * DAY);
    subscription.giveUp(course.now);
    return comeBack(course);
  }
  goTo(course, dice.within(course.now + HOUR, period.to + (period.grace === null ? 20 : grace) * DAY));
  // The store's documents leave open whether a recovered period is dated from the old end or from the payment.
  const isFromEnd = period.grace !== null && dice.chance(0.5);
  if (period.grace !== null) period.grace.overAt = course.now;
  buy(course, subscription.next(), isFromEnd ? period.to : course.now);
  return true;
};

/** Goes to the end of a period, and to the next one. False: the life is over. */
const goOn = (course: Course): boolean => {
  const { subscription, dice, rates } = course;
  const period = subscription.lastOf();
  const ahead = dice.chance(rates.ahead) ? dice.within(MINUTE, DAY) : 0;
  const isFailing = dice.chance(rates.failure);
  goTo(course, isFailing ? period.to : period.to - ahead);
  // The person may turn renewal on until the end: it is charged then.
  if (!subscription.renews()) goTo(course, period.to);
  // A purchase has begun another period on the way.
  if (subscription.lastOf() !== period) return true;
  if (!subscription.renews()) {
    goTo(course, period.to + MINUTE);
    subscription.end(course.now);
    return comeBack(course);
  }
  if (isFailing) return fail(course, period);
  begin(course, subscription.charge("renewal", subscription.next(), period.to, course.now));
  if (course.now < period.to && dice.chance(rates.upgrade))
    course.plans.push({ at: dice.within(course.now, period.to), act: () => upgrade(course) });
  goTo(course, period.to);
  return true;
};

/** A life of up to two years and a half. */
export const appStoreLife = (dice: Dice, rates: Rates): Life => {
  const subscription = appStoreSubscription();
  const course: Course = {
    subscription,
    dice,
    rates,
    grace: dice.pick([0, 0, 3, 16, 28]),
    plans: [],
    now: NOW,
  };
  buy(course, dice.pick(["basic", "basic", "plus", "year"]));
  const until = NOW + dice.within(DAY, 900 * DAY);
  while (course.now < until && goOn(course));
  return lifeOfAppStore(subscription, course.now);
};
