import type { Asking } from "../../lib/administration/reports/asking.ts";
import type { Status } from "../../lib/contract/schemas.ts";
import { MINUTE } from "../../lib/duration.ts";
import {
  byReference,
  isRevoked,
  type Line,
  lineName,
  type Purchase,
  referenceText,
} from "../../lib/entitlements/purchase.ts";
import { type Instant, isoTime } from "../../lib/entitlements/time.ts";
import { givesAccess, type Span } from "../../lib/entitlements/timeline.ts";
import { timeOrNull } from "../text/answer.ts";
import type { ExplainedCustomer } from "../text/explanation.ts";

/**
 * Kind of a bar: a status, or `period`, an access that the store confirmed; `renewal_leeway` and `silent_retry`, access
 * after the end; `unmapped`: the catalog has no product for the line.
 */
type BarKind =
  Exclude<Status, "active" | "expired"> | "period" | "renewal_leeway" | "silent_retry" | "unmapped";

type MarkKind = "verified" | "refund" | "refund-reversed" | "replaced" | "asked-next";

const marksOf = ({ replacedAt }: Pick<Purchase, "replacedAt">, line: Line, askedAt: Instant | null) => {
  const isReversed = line.revokedSince !== null && line.revokedAt === null && line.refundedQuantity === 0;
  const marks: readonly (readonly [MarkKind, Instant | null])[] = [
    ["verified", line.verifiedAt],
    [isReversed ? "refund-reversed" : "refund", line.revokedAt ?? line.revokedSince],
    ["replaced", replacedAt],
    ["asked-next", askedAt],
  ];
  return marks.flatMap(([kind, at]) => (at === null ? [] : [{ at: isoTime(at), kind }]));
};

const kindOf = ({ status, isAssumed, holding, from, expiresAt, verifiedAt }: Span): BarKind | null => {
  if (status === "expired") return null;
  if (status !== "active") return status;
  if (!isAssumed || from < expiresAt) return "period";
  const isAfterEnd = holding.purchase.store === "android-store" && verifiedAt >= expiresAt;
  return isAfterEnd ? "silent_retry" : "renewal_leeway";
};

/** The clock tolerance before a start is not drawn; a refund lasts for ever, but is drawn up to the period's end. */
const barOf = (span: Span) => {
  const kind = kindOf(span);
  const from = Math.max(span.from, span.startsAt ?? span.line.startsAt ?? span.line.verifiedAt);
  const to = kind === "revoked" ? (span.line.endsAt ?? Infinity) : span.to;
  if (kind === null || to <= from) return [];
  return [{ from: isoTime(from), to: timeOrNull(to), kind, active: givesAccess(span) }];
};

const unmapped = ({ startsAt, endsAt, verifiedAt }: Line) => [
  { from: isoTime(startsAt ?? verifiedAt), to: timeOrNull(endsAt), kind: "unmapped" as const, active: false },
];

/**
 * A purchase's lines with when each gave or will give access, and when its store reported on it.
 *
 * @param spans those of the purchase
 */
export const pictureOf = <Pictured extends Line>(
  purchase: Pick<Purchase, "replacedAt"> & { readonly lines: readonly Pictured[] },
  spans: readonly Span[],
  asking: Asking | undefined,
) => {
  const ofLines = Map.groupBy(spans, ({ line }) => lineName(line));
  return purchase.lines.map((line) => ({
    ...line,
    bars: ofLines.get(lineName(line))?.flatMap(barOf) ?? unmapped(line),
    marks: marksOf(purchase, line, asking?.outcome === "due" ? asking.at : null),
  }));
};

/** Why a purchase no longer gives access; `lasts`: it gives access now. */
type Because =
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

/** A product that starts within this time after another's end replaces it. */
const AT_ONCE = MINUTE;

const changedTo = (
  { holding: { purchase }, line }: Span,
  end: Instant,
  purchases: ReadonlyMap<string, Purchase>,
) => {
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

const becauseOf = (spans: readonly Span[], { holding: { purchase }, line, product }: Span): Because => {
  if (isRevoked(line)) return "refunded";
  const statuses = new Set(spans.map(({ status }) => status));
  if (statuses.has("paused")) return "paused";
  if (statuses.has("grace_period")) return "grace_over";
  if (statuses.has("billing_retry")) return "payment_failed";
  const { renewal } = purchase;
  const intent =
    renewal?.periodEndsAt === line.endsAt ? INTENTS.get(renewal?.expirationIntent ?? null) : undefined;
  return intent ?? (product.accessDuration === null ? "not_renewed" : "pass_over");
};

/** For each entitlement, the access that a line of a purchase gave, and its end; -Infinity: it gave none that is known. */
const endedOf = (spans: readonly Span[], now: Instant, purchases: ReadonlyMap<string, Purchase>) => {
  const [first] = spans;
  const begun = spans.filter((span) => givesAccess(span) && span.from <= now);
  const end = Math.max(-Infinity, ...begun.map(({ to }) => to));
  if (first === undefined || (begun.length === 0 && !isRevoked(first.line))) return [];
  const { holding, line, product } = first;
  const { store, environment, replacedBy } = holding.purchase;
  const { productIdentifier, basePlanIdentifier } = line;
  const lasts = end > now;
  const next = lasts ? null : changedTo(first, end, purchases);
  // An upgrade revokes the rest of the period.
  const isChanged = next !== null || replacedBy !== null;
  const because = lasts ? "lasts" : isChanged ? "changed" : becauseOf(spans, first);
  return product.grants.map((entitlement) => ({
    end,
    name: JSON.stringify([
      entitlement,
      referenceText(holding.purchase),
      productIdentifier,
      basePlanIdentifier,
    ]),
    ending: {
      entitlement,
      store,
      environment,
      productIdentifier,
      basePlanIdentifier,
      /** End of access, ISO 8601; null: it has no end, or none is known. */
      until: Number.isFinite(end) ? isoTime(end) : null,
      because,
      /** Product that replaced it; null: none is known. */
      changedTo: next,
    },
  }));
};
type Ended = ReturnType<typeof endedOf>[number];
type Ending = Ended["ending"];

/** When each product of a purchase last gave access and why it ended, latest end first. */
export const endingsOf = (customers: readonly ExplainedCustomer[], moment: Instant): readonly Ending[] => {
  const explained = customers.flatMap(({ purchases }) => purchases);
  const purchases = byReference(explained.map(({ purchase }) => purchase));
  const ofLines = explained.flatMap(({ spans }) => [
    ...Map.groupBy(spans, ({ line }) => lineName(line)).values(),
  ]);
  const latest = new Map<string, Ended>();
  for (const ended of ofLines.flatMap((spans) => endedOf(spans, moment, purchases)))
    if (ended.end >= (latest.get(ended.name)?.end ?? -Infinity)) latest.set(ended.name, ended);
  // Equal ends may be infinite, whose difference is no number.
  return [...latest.values()]
    .toSorted((a, b) => (a.end === b.end ? 0 : b.end - a.end))
    .map(({ ending }) => ending);
};
