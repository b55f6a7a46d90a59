import { DAY, HOUR, MINUTE } from "../../../../lib/duration.ts";
import { renewedPurchase } from "../../../../lib/entitlements/purchase.ts";
import type { Renewal } from "../../../../lib/entitlements/renewal.ts";
import { aLine, aPurchase, aRenewal } from "../../../../testing/support/stores/purchases.ts";
import { LEEWAY, LENGTHS, type Product, type Fact, type Happening, type Life, type Span } from "../life.ts";

interface Refund {
  readonly at: number;
  backAt: number | null;
}

/** One charge of the subscription, and what became of it. */
export interface Period {
  readonly id: string;
  readonly product: Product;
  readonly from: number;
  readonly to: number;
  readonly chargedAt: number;
  upgradedAt: number | null;
  /** Charged ahead, and overtaken by an upgrade before it began. */
  isOvertaken: boolean;
  readonly refunds: Refund[];
  /** The billing grace period after its end: as announced, and when it was over, paid or not. */
  grace: { readonly to: number; overAt: number } | null;
}

/** What renewal infos say from a moment on. */
type Statement = Pick<
  Renewal,
  "periodEndsAt" | "willRenew" | "renewsInto" | "graceEndsAt" | "isInBillingRetry" | "expirationIntent"
> & { readonly from: number };

/** What the person has chosen, and whether a payment fails. */
interface State {
  renews: boolean;
  next: Product;
  failure: { readonly graceTo: number | null } | null;
}

export const refundAt = ({ refunds }: Period, moment: number): Refund | undefined =>
  refunds.find(({ at, backAt }) => at <= moment && moment < (backAt ?? Infinity));

/**
 * A period as a transaction; or as a copy under another id, as restores make: it begins with its restore, and never
 * carries a refund.
 */
const transactionAt = (period: Period, moment: number, isRestored = false): Fact => {
  const { product, from, to, upgradedAt } = period;
  const id = isRestored ? `r${period.id}` : period.id;
  const line = aLine({
    transactionIdentifier: id,
    event: `w${period.id}`,
    productIdentifier: product,
    standing: upgradedAt !== null && upgradedAt <= moment ? "expired" : "entitled",
    startsAt: isRestored ? moment : from,
    endsAt: to,
    revokedAt: isRestored ? null : (refundAt(period, moment)?.at ?? null),
    verifiedAt: moment,
  });
  return { id, purchases: [aPurchase({ lines: [line] })] };
};

/** What the store signs of one subscription as it goes. */
const appStoreRecord = () => {
  const periods: Period[] = [];
  const statements: Statement[] = [];
  const happenings: Happening[] = [];
  const state: State = { renews: true, next: "basic", failure: null };

  const lastOf = (): Period => {
    const last = periods.at(-1);
    if (last === undefined) throw new RangeError("A life begins with a purchase.");
    return last;
  };
  const statedAt = (moment: number): Statement | undefined =>
    statements.findLast(({ from }) => from <= moment);
  const statementAt = (moment: number): Happening["statement"] => {
    const said = statedAt(moment);
    if (said === undefined) return null;
    const { from: _, ...fields } = said;
    const isInGrace = moment < (said.graceEndsAt ?? 0);
    const status = { isInGrace, periodEndsAt: said.periodEndsAt, signedAt: moment };
    const renewal = aRenewal({ ...fields, status, signedAt: moment });
    const fact = { id: "", purchases: [renewedPurchase(aPurchase({ lines: [] }), renewal)] };
    return { fact, endsAt: said.periodEndsAt ?? 0 };
  };
  /** The store tells of a period, with a renewal info. */
  const tell = (what: Happening["what"], of: Period, at: number, signedAt = at): void => {
    const { renews, next, failure } = state;
    statements.push({
      from: signedAt,
      periodEndsAt: lastOf().to,
      willRenew: renews,
      renewsInto: next,
      graceEndsAt: failure?.graceTo ?? null,
      isInBillingRetry: failure !== null,
      expirationIntent: renews ? null : 1,
    });
    const fact = transactionAt(of, signedAt);
    happenings.push({ what, at, signedAt, id: of.id, factAt: () => fact, statement: statementAt(signedAt) });
  };
  return { periods, happenings, state, lastOf, statedAt, statementAt, tell };
};

/** What the store answers about a subscription, and what its app holds. */
const answersOf = ({ periods, statementAt }: ReturnType<typeof appStoreRecord>) => ({
  /** History and statuses. */
  answerAt: (moment: number): readonly Fact[] => {
    const known = periods.filter(({ chargedAt }) => chargedAt <= moment);
    const said = statementAt(moment);
    return [...known.map((period) => transactionAt(period, moment)), ...(said === null ? [] : [said.fact])];
  },
  /** The latest transaction and its renewal info. */
  heldAt: (moment: number, revoked: boolean): readonly Fact[] => {
    const last = periods.findLast(({ chargedAt }) => chargedAt <= moment);
    const said = statementAt(moment);
    if (last === undefined || said === null) return [];
    const isHeld = revoked || refundAt(last, moment) === undefined;
    return [...(isHeld ? [transactionAt(last, moment)] : []), said.fact];
  },
});

/** The App Store's own record of one subscription, and what a person and the store do with it. */
export const appStoreSubscription = () => {
  const record = appStoreRecord();
  const { periods, happenings, state, lastOf, statedAt, tell } = record;
  return {
    periods,
    happenings,
    lastOf,
    ...answersOf(record),
    renews: () => state.renews,
    /** Whether it was to renew at a moment. */
    renewedAt: (moment: number) => statedAt(moment)?.willRenew === true,
    next: () => state.next,
    charge(what: "purchase" | "renewal", product: Product, from: number, chargedAt: number): Period {
      const [id, to] = [String(periods.length + 1), from + LENGTHS[product]];
      const [upgradedAt, isOvertaken, refunds, grace] = [null, false, [], null];
      const period = { id, product, from, to, chargedAt, upgradedAt, isOvertaken, refunds, grace };
      periods.push(period);
      Object.assign(state, { renews: true, next: product, failure: null } satisfies State);
      tell(what, period, chargedAt);
      return period;
    },
    /** The person chooses whether it renews, and into what. */
    choose(at: number, willRenew: boolean, into: Product): void {
      [state.renews, state.next] = [willRenew, into];
      tell("change", lastOf(), at);
    },
    refund(period: Period, at: number, signedAt: number): void {
      period.refunds.push({ at, backAt: null });
      tell("refund", period, at, signedAt);
    },
    giveBack(period: Period, at: number): void {
      const refund = period.refunds.at(-1);
      if (refund !== undefined) refund.backAt = at;
      tell("refund", period, at);
    },
    fail(at: number, graceTo: number | null): void {
      const last = lastOf();
      state.failure = { graceTo };
      if (graceTo !== null) last.grace = { to: graceTo, overAt: graceTo };
      tell("change", last, last.to, at);
    },
    giveUp(at: number): void {
      [state.renews, state.failure] = [false, null];
      tell("change", lastOf(), at);
    },
    /** It ended as it was to end. */
    end(signedAt: number): void {
      tell("change", lastOf(), lastOf().to, signedAt);
    },
    copy(of: Period, at: number, isRestored: boolean): void {
      const fact = transactionAt(of, at, isRestored);
      happenings.push({ what: "copy", at, signedAt: at, id: of.id, factAt: () => fact, statement: null });
    },
  };
};

export type AppStoreSubscription = ReturnType<typeof appStoreSubscription>;

/** A time without the times of the period's refunds. */
const withoutRefunds = ({ refunds }: Period, from: number, to: number): (readonly [number, number])[] => {
  let parts: (readonly [number, number])[] = [[from, to]];
  for (const { at, backAt } of refunds)
    parts = parts.flatMap(([start, end]) => [
      [start, Math.min(end, at)] as const,
      [Math.max(start, backAt ?? Infinity), end] as const,
    ]);
  return parts.filter(([start, end]) => start < end);
};

/** What a period gave, its charge known from how the life was made. */
const spansOf = (period: Period, subscription: AppStoreSubscription): Span[] => {
  const { product, from, to, chargedAt, upgradedAt, isOvertaken, grace, id } = period;
  const begins = Math.max(from, chargedAt);
  const of = { entitlement: product, id, shownEnd: to };
  const given = (kind: Span["kind"], start: number, end: number, shownEnd = to): Span[] =>
    withoutRefunds(period, start, end).map(([from, to]) => ({ ...of, kind, from, to, shownEnd }));
  const spans: Span[] = [
    ...given("paid", begins, isOvertaken ? begins : (upgradedAt ?? to)),
    ...given("ahead", chargedAt, isOvertaken ? (upgradedAt ?? from) : from),
    { ...of, kind: "allowed", from: from - MINUTE, to: begins },
    ...(grace === null ? [] : given("grace", to, grace.overAt, grace.to)),
  ];
  const mayRenew = subscription.renewedAt(to) && refundAt(period, to) === undefined;
  if (!mayRenew || isOvertaken || upgradedAt !== null) return spans;
  // The leeway lasts while the store is silent, or says only that it will renew.
  const said = subscription.happenings.find(({ what, signedAt }) => what === "change" && signedAt >= to);
  const until = Math.min(to + LEEWAY, said?.signedAt ?? Infinity);
  return [...spans, { ...of, kind: "allowed", from: to, to: until }];
};

/** The life of a subscription, told until a moment. */
export const lifeOfAppStore = (subscription: AppStoreSubscription, now: number): Life => {
  const { periods, happenings, answerAt, heldAt } = subscription;
  const { to } = subscription.lastOf();
  return {
    happenings: happenings.toSorted((a, b) => a.signedAt - b.signedAt),
    isSnapshot: false,
    truth: periods.flatMap((period) => spansOf(period, subscription)),
    last: now,
    mayRenew: subscription.renews() ? { from: to - DAY, to: to + DAY - HOUR } : null,
    lasts: false,
    horizon: subscription.renews() ? to : Infinity,
    answerAt,
    heldAt,
  };
};
