import { renewedPurchase } from "../../../../lib/entitlements/purchase.ts";
import type { Renewal } from "../../../../lib/entitlements/renewal.ts";
import { aPurchase, aRenewal } from "../../../../testing/support/stores/purchases.ts";
import { LENGTHS, type Product } from "../catalog.ts";
import { appStoreLine } from "../core.ts";
import type { Fact, Happening } from "../life.ts";

interface Refund {
  readonly at: number;
  readonly signedAt: number;
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

export const refundAt = ({ refunds }: Period, moment: number): Refund | undefined =>
  refunds.find(({ at, backAt }) => at <= moment && moment < (backAt ?? Infinity));

const transactionAt = (period: Period, moment: number): Fact => {
  const { id, product, from, to, upgradedAt } = period;
  const isUpgraded = upgradedAt !== null && upgradedAt <= moment;
  const line = appStoreLine({
    id,
    event: `w${id}`,
    product,
    nature: "auto_renewable",
    startsAt: from,
    purchasedAt: from,
    endsAt: to,
    isUpgraded,
    revokedAt: refundAt(period, moment)?.at ?? null,
    signedAt: moment,
  });
  return { id, isMarked: isUpgraded, purchases: [aPurchase({ lines: [line] })] };
};

/** A copy of a period under another id, as restores make: it begins with its restore, and never carries a refund. */
const restoredAt = (period: Period, moment: number): Fact => {
  const { id, product, to, upgradedAt } = period;
  const isUpgraded = upgradedAt !== null && upgradedAt <= moment;
  const line = appStoreLine({
    id: `r${id}`,
    event: `w${id}`,
    product,
    nature: "auto_renewable",
    startsAt: moment,
    purchasedAt: moment,
    endsAt: to,
    isUpgraded,
    revokedAt: null,
    signedAt: moment,
  });
  return { id, isMarked: isUpgraded, purchases: [aPurchase({ lines: [line] })] };
};

/** The App Store's own record of one subscription. */
export const appStoreSubscription = () => {
  const periods: Period[] = [];
  const statements: Statement[] = [];
  const happenings: Happening[] = [];
  let renews = true;
  let next: Product = "basic";
  let failure: { readonly graceTo: number | null } | null = null;

  const lastOf = (): Period => {
    const last = periods.at(-1);
    if (last === undefined) throw new RangeError("A life begins with a purchase.");
    return last;
  };
  const statementAt = (moment: number): Happening["statement"] => {
    const said = statements.findLast(({ from }) => from <= moment);
    if (said === undefined) return null;
    const { from: _, ...fields } = said;
    const isInGrace = moment < (said.graceEndsAt ?? 0);
    const status = { isInGrace, periodEndsAt: said.periodEndsAt ?? null, signedAt: moment };
    const renewal = aRenewal({ ...fields, status, signedAt: moment });
    const purchases = [renewedPurchase(aPurchase({ lines: [] }), renewal)];
    return { purchases, endsAt: said.periodEndsAt ?? 0 };
  };
  /** The store tells of a period, with a renewal info. */
  const tell = (what: Happening["what"], of: Period, at: number, signedAt = at): void => {
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
  return {
    periods,
    happenings,
    lastOf,
    renews: () => renews,
    /** Whether it was to renew at a moment. */
    renewedAt: (moment: number) => statements.findLast(({ from }) => from <= moment)?.willRenew === true,
    next: () => next,
    failure: () => failure,
    /** Charges a period; ends what it is an upgrade of. */
    charge(what: "purchase" | "renewal", product: Product, from: number, chargedAt: number): Period {
      const to = from + LENGTHS[product];
      const id = String(periods.length + 1);
      const [upgradedAt, isOvertaken, refunds, grace] = [null, false, [], null];
      const period = { id, product, from, to, chargedAt, upgradedAt, isOvertaken, refunds, grace };
      periods.push(period);
      [renews, next, failure] = [true, product, null];
      tell(what, period, chargedAt);
      return period;
    },
    /** The person chooses whether it renews, and into what. */
    choose(at: number, willRenew: boolean, into: Product): void {
      [renews, next] = [willRenew, into];
      tell("change", lastOf(), at);
    },
    refund(period: Period, at: number, signedAt: number): void {
      period.refunds.push({ at, signedAt, backAt: null });
      tell("refund", period, at, signedAt);
    },
    giveBack(period: Period, at: number): void {
      const refund = period.refunds.at(-1);
      if (refund !== undefined) refund.backAt = at;
      tell("refund", period, at);
    },
    fail(at: number, graceTo: number | null): void {
      const last = lastOf();
      failure = { graceTo };
      if (graceTo !== null) last.grace = { to: graceTo, overAt: graceTo };
      tell("change", last, last.to, at);
    },
    giveUp(at: number): void {
      [renews, failure] = [false, null];
      tell("change", lastOf(), at);
    },
    /** It ended as it was to end. */
    end(signedAt: number): void {
      tell("change", lastOf(), lastOf().to, signedAt);
    },
    copy(of: Period, at: number, isRestored: boolean): void {
      const fact = isRestored ? restoredAt(of, at) : transactionAt(of, at);
      happenings.push({ what: "copy", at, signedAt: at, id: of.id, factAt: () => fact, statement: null });
    },
    /** History and statuses. */
    answerAt(moment: number): readonly Fact[] {
      const known = periods.filter(({ chargedAt }) => chargedAt <= moment);
      const facts = known.map((period) => transactionAt(period, moment));
      const said = statementAt(moment);
      return said === null ? facts : [...facts, { id: "", isMarked: false, purchases: said.purchases }];
    },
    /** The latest transaction and its renewal info. */
    heldAt(moment: number, revoked: boolean): readonly Fact[] {
      const last = periods.findLast(({ chargedAt }) => chargedAt <= moment);
      const said = statementAt(moment);
      if (last === undefined || said === null) return [];
      const isHeld = revoked || refundAt(last, moment) === undefined;
      const held = isHeld ? [transactionAt(last, moment)] : [];
      return [...held, { id: "", isMarked: false, purchases: said.purchases }];
    },
  };
};

export type AppStoreSubscription = ReturnType<typeof appStoreSubscription>;
