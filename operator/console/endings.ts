import { MINUTE } from "../../lib/duration.ts";
import type { AccountReport } from "../../lib/administration/reports/account-report.ts";
import type { Holding } from "../../lib/entitlements/holding.ts";
import {
  isRevoked,
  lineName,
  referenceText,
  type Line,
  type Purchase,
} from "../../lib/entitlements/purchase.ts";
import { isoTime, type Instant } from "../../lib/entitlements/time.ts";
import { givesAccess, type Span } from "../../lib/entitlements/timeline.ts";

/** Why a purchase no longer gives access; `lasts`: it gives access now. */
export type Because =
  | "lasts"
  | "refunded"
  | "changed"
  | "payment_failed"
  /** As `payment_failed`, and the end of its grace period is known. */
  | "grace_over"
  | "cancelled"
  | "price_refused"
  | "not_for_sale"
  | "paused"
  | "pass_over"
  | "not_renewed";

/** Apple's reasons: https://developer.apple.com/documentation/appstoreserverapi/expirationintent */
const INTENTS: ReadonlyMap<number | null, Because> = new Map([
  [1, "cancelled"],
  [2, "payment_failed"],
  [3, "price_refused"],
  [4, "not_for_sale"],
]);

/** Access that one product of one purchase gave to an entitlement, and its end. */
export interface Ending {
  readonly entitlement: string;
  readonly store: Purchase["store"];
  readonly environment: Purchase["environment"];
  readonly productIdentifier: string;
  readonly basePlanIdentifier: string | null;
  /** End of access, ISO 8601; null: it has no end, or none is known. */
  readonly until: string | null;
  readonly because: Because;
  /** Product that replaced it; null: none is known. */
  readonly changedTo: string | null;
}

/** A product that starts within this time after another's end replaces it. */
const AT_ONCE = MINUTE;

interface LineSpans {
  readonly holding: Holding;
  readonly line: Line;
  readonly spans: readonly Span[];
}

const byLine = (timeline: readonly Span[]): readonly LineSpans[] =>
  [
    ...Map.groupBy(
      timeline,
      ({ holding, line }) => `${referenceText(holding.purchase)} ${lineName(line)}`,
    ).values(),
  ].flatMap((spans) => {
    const [first] = spans;
    return first === undefined ? [] : [{ holding: first.holding, line: first.line, spans }];
  });

/** Purchases of an account, by `referenceText`. */
type Purchases = ReadonlyMap<string, Purchase>;

const changedTo = ({ holding, line }: LineSpans, end: Instant, purchases: Purchases): string | null => {
  const { purchase } = holding;
  const { replacedBy: key } = purchase;
  const replacing = key === null ? undefined : purchases.get(referenceText({ ...purchase, key }));
  const next = [...purchase.lines, ...(replacing?.lines ?? [])].find(
    ({ productIdentifier, basePlanIdentifier, startsAt }) =>
      (productIdentifier !== line.productIdentifier || basePlanIdentifier !== line.basePlanIdentifier) &&
      startsAt !== null &&
      Math.abs(startsAt - end) <= AT_ONCE,
  );
  return next?.productIdentifier ?? null;
};

const becauseOf = (
  { holding, line, spans }: LineSpans,
  { isPass, hasNext }: { readonly isPass: boolean; readonly hasNext: boolean },
): Because => {
  // An upgrade revokes the rest of the period.
  if (hasNext || holding.purchase.replacedBy !== null) return "changed";
  if (isRevoked(line)) return "refunded";
  const statuses = new Set(spans.map(({ status }) => status));
  if (statuses.has("paused")) return "paused";
  if (statuses.has("grace_period")) return "grace_over";
  if (statuses.has("billing_retry")) return "payment_failed";
  const { renewal } = holding.purchase;
  const intent =
    renewal?.periodEndsAt === line.endsAt ? INTENTS.get(renewal?.expirationIntent ?? null) : undefined;
  if (intent !== undefined) return intent;
  return isPass ? "pass_over" : "not_renewed";
};

const endOf = ({ spans }: LineSpans, now: Instant): Instant | null => {
  const ends = spans.filter((span) => givesAccess(span) && span.from <= now).map(({ to }) => to);
  return ends.length === 0 ? null : Math.max(...ends);
};

interface Ended {
  readonly end: Instant;
  readonly ending: Ending;
}

const endedOf = (period: LineSpans, now: Instant, purchases: Purchases): readonly Ended[] => {
  const { holding, line, spans } = period;
  const { store, environment } = holding.purchase;
  const product = spans[0]?.product;
  const end = endOf(period, now);
  if (product === undefined || (end === null && !isRevoked(line))) return [];
  const lasts = end !== null && end > now;
  const next = end === null || lasts ? null : changedTo(period, end, purchases);
  const isPass = product.accessDuration !== null;
  return product.grants.map((entitlement) => ({
    end: end ?? Number.NEGATIVE_INFINITY,
    ending: {
      entitlement,
      store,
      environment,
      productIdentifier: line.productIdentifier,
      basePlanIdentifier: line.basePlanIdentifier,
      until: end === null || end === Number.POSITIVE_INFINITY ? null : isoTime(end),
      because: lasts ? "lasts" : becauseOf(period, { isPass, hasNext: next !== null }),
      changedTo: next,
    },
  }));
};

/**
 * When each purchase of an account last gave access and why it ended, one entry per product of a purchase, latest end
 * first. Pure.
 */
export const endingsOf = (
  { customers }: Pick<AccountReport, "customers">,
  timeline: readonly Span[],
  moment: Instant,
): readonly Ending[] => {
  const purchases = new Map(
    customers.flatMap((customer) =>
      customer.purchases.map((purchase) => [referenceText(purchase), purchase]),
    ),
  );
  const latest = new Map<string, Ended>();
  for (const period of byLine(timeline))
    for (const ended of endedOf(period, moment, purchases)) {
      const { entitlement, productIdentifier, basePlanIdentifier } = ended.ending;
      const name = JSON.stringify([
        entitlement,
        referenceText(period.holding.purchase),
        productIdentifier,
        basePlanIdentifier,
      ]);
      if (ended.end >= (latest.get(name)?.end ?? Number.NEGATIVE_INFINITY)) latest.set(name, ended);
    }
  // Equal ends may be infinite, whose difference is no number.
  return [...latest.values()]
    .toSorted((a, b) => (a.end === b.end ? 0 : b.end - a.end))
    .map(({ ending }) => ending);
};
