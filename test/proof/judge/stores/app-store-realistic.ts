import { DAY, HOUR, MINUTE } from "../../../../lib/duration.ts";
import { NOW } from "../../../../testing/support/stores/purchases.ts";
import { appStoreSubscription, refundAt, type AppStoreSubscription, type Period } from "./app-store.ts";
import { lifeOfAppStore } from "./app-store-truth.ts";
import { PRODUCTS, type Product } from "../catalog.ts";
import type { Dice } from "../dice.ts";
import type { Life } from "../life.ts";

/** Probabilities for each transaction. */
export interface Rates {
  readonly refund: number;
  /** Of a refund. */
  readonly takenBack: number;
  readonly upgrade: number;
  readonly failure: number;
  /** Of a renewal: that it is charged ahead. */
  readonly ahead: number;
  readonly cancellation: number;
  readonly change: number;
  readonly copy: number;
}

/** Of a million transactions 10,000 are refunded, 100 of those given back; 5,000 are upgrades, and 30,000 payments fail. */
export const REALISTIC: Rates = {
  refund: 0.01,
  takenBack: 0.01,
  upgrade: 0.005,
  failure: 0.03,
  ahead: 0.8,
  cancellation: 0.08,
  change: 0.01,
  copy: 0.05,
};

/** Something that the person or the store does at a time, unless what it is about is over by then. */
interface Plan {
  readonly at: number;
  readonly act: () => void;
}

interface Course {
  readonly subscription: AppStoreSubscription;
  readonly dice: Dice;
  readonly rates: Rates;
  readonly hasGrace: number;
  plans: Plan[];
  now: number;
}

/** Does what is planned before a time, and goes there. */
const goTo = (course: Course, time: number): void => {
  for (;;) {
    const [first, ...others] = course.plans.toSorted((a, b) => a.at - b.at);
    if (first === undefined || first.at >= time) break;
    course.plans = others;
    course.now = Math.max(course.now, first.at);
    first.act();
  }
  course.now = Math.max(course.now, time);
};

const plan = (course: Course, at: number, act: () => void): void => {
  course.plans.push({ at, act });
};

const isRunning = ({ subscription, now }: Course, period: Period): boolean =>
  subscription.lastOf() === period && period.from <= now && now < period.to;

const others = (product: Product, isAbove: boolean): readonly Product[] =>
  PRODUCTS.filter((one) => (isAbove ? PRODUCTS.indexOf(one) > PRODUCTS.indexOf(product) : one !== product));

const any = (dice: Dice, products: readonly Product[]): Product | undefined =>
  products[dice.within(0, products.length)];

/** Buys a higher product at once; what was charged ahead by then is refunded, and never runs. */
const upgrade = (course: Course): void => {
  const { subscription, dice, now } = course;
  const last = subscription.lastOf();
  const isAhead = now < last.from;
  const running = isAhead ? subscription.periods.at(-2) : last;
  const product = any(dice, others((running ?? last).product, true));
  if (running === undefined || product === undefined || !subscription.renews()) return;
  if (now >= running.to || now < running.from || refundAt(running, now) !== undefined) return;
  if (isAhead && (running.to !== last.from || PRODUCTS.indexOf(product) <= PRODUCTS.indexOf(last.product)))
    return;
  running.upgradedAt = now;
  if (isAhead) [last.upgradedAt, last.isOvertaken] = [now, true];
  if (isAhead && dice.chance(0.5)) last.refunds.push({ at: now, signedAt: now, backAt: null });
  begin(course, subscription.charge("purchase", product, now, now));
};

const refund = (course: Course, period: Period): void => {
  const { subscription, dice, rates, now } = course;
  if (period.isOvertaken || refundAt(period, now) !== undefined) return;
  subscription.refund(period, now - dice.upTo(10) * MINUTE, now);
  if (!dice.chance(rates.takenBack)) return;
  plan(course, now + dice.within(HOUR, 20 * DAY), () => subscription.giveBack(period, course.now));
};

/** Plans what happens to a period that was just charged. */
function begin(course: Course, period: Period): void {
  const { subscription, dice, rates } = course;
  const within = (): number => dice.within(period.from, period.to);
  const paidAt = Math.max(period.from, period.chargedAt) + HOUR;
  if (dice.chance(rates.refund))
    plan(course, dice.within(paidAt, paidAt + Math.min(90 * DAY, 2 * (period.to - period.from))), () =>
      refund(course, period),
    );
  if (dice.chance(rates.upgrade)) plan(course, within(), () => upgrade(course));
  if (dice.chance(rates.copy))
    plan(course, within(), () =>
      subscription.copy(period, course.now, isRunning(course, period) && dice.chance(0.7)),
    );
  if (dice.chance(rates.cancellation))
    plan(course, within(), () => {
      if (isRunning(course, period)) subscription.choose(course.now, false, subscription.next());
    });
  if (dice.chance(rates.cancellation / 3))
    plan(course, within(), () => {
      if (isRunning(course, period)) subscription.choose(course.now, true, subscription.next());
    });
  if (dice.chance(rates.change))
    plan(course, within(), () => {
      const into = any(dice, others(period.product, false));
      if (into !== undefined && isRunning(course, period))
        subscription.choose(course.now, subscription.renews(), into);
    });
}

const comeBack = (course: Course): boolean => {
  const { subscription, dice } = course;
  if (!dice.chance(0.4)) return false;
  goTo(course, course.now + dice.within(HOUR, 100 * DAY));
  begin(course, subscription.charge("purchase", dice.one(...PRODUCTS), course.now, course.now));
  return true;
};

/** The payment fails at the end: it recovers in the grace period or later, or never. False: the life is over. */
const fail = (course: Course, period: Period): boolean => {
  const { subscription, dice, hasGrace } = course;
  goTo(course, period.to + dice.within(MINUTE, 10 * MINUTE));
  const graceTo = hasGrace === 0 ? null : period.to + hasGrace * DAY;
  const isRefunded = refundAt(period, course.now) !== undefined;
  subscription.fail(course.now, isRefunded ? null : graceTo);
  if (dice.chance(0.6)) {
    goTo(course, dice.within(course.now + HOUR, period.to + (period.grace === null ? 20 : hasGrace) * DAY));
    const isInGrace = period.grace !== null;
    if (period.grace !== null) period.grace.overAt = course.now;
    const from = isInGrace && dice.chance(0.5) ? period.to : course.now;
    begin(course, subscription.charge("purchase", subscription.next(), from, course.now));
    return true;
  }
  goTo(course, period.to + 60 * DAY);
  subscription.giveUp(course.now);
  return comeBack(course);
};

/** Goes to the end of a period, and to the next one. False: the life is over. */
const goOn = (course: Course): boolean => {
  const { subscription, dice, rates } = course;
  const period = subscription.lastOf();
  const ahead = dice.chance(rates.ahead) ? dice.within(MINUTE, DAY) : 0;
  const isFailing = dice.chance(rates.failure);
  goTo(course, isFailing ? period.to : period.to - ahead);
  // An upgrade has begun another period on the way.
  if (subscription.lastOf() !== period) return true;
  if (!subscription.renews()) {
    goTo(course, period.to + MINUTE);
    subscription.end(course.now);
    return comeBack(course);
  }
  if (isFailing) return fail(course, period);
  const renewal = subscription.charge("renewal", subscription.next(), period.to, course.now);
  begin(course, renewal);
  // Another upgrade may overtake it.
  goTo(course, period.to);
  return true;
};

/** A life of up to two years and a half. */
export const realisticLife = (dice: Dice, rates: Rates = REALISTIC): Life => {
  const hasGrace = dice.one(0, 0, 3, 16, 28);
  const course: Course = { subscription: appStoreSubscription(), dice, rates, hasGrace, plans: [], now: NOW };
  begin(course, course.subscription.charge("purchase", dice.one("basic", "basic", "plus", "year"), NOW, NOW));
  const until = NOW + dice.within(DAY, 900 * DAY);
  while (course.now < until && goOn(course));
  return lifeOfAppStore(course.subscription, course.now);
};
