import type { AccountReport } from "../../lib/administration/reports/account-report.ts";
import type { Status } from "../../lib/contract/schemas.ts";
import { lineName, referenceText, type Line, type Purchase } from "../../lib/entitlements/purchase.ts";
import { isoTime, type Instant } from "../../lib/entitlements/time.ts";
import { givesAccess, type Span } from "../../lib/entitlements/timeline.ts";
import { timeOrNull } from "../text/answer.ts";

/**
 * Kind of a bar: a status, or `period`, an access that the store confirmed; `renewal_leeway` and `silent_retry`, access
 * after the end; `unmapped`: the catalog has no product for the line.
 */
type BarKind =
  Exclude<Status, "active" | "expired"> | "period" | "renewal_leeway" | "silent_retry" | "unmapped";

type MarkKind = "verified" | "refund" | "refund-reversed" | "replaced" | "asked-next";

const marksOf = (purchase: Purchase, line: Line, askedAt: Instant | null) => {
  const isReversed = line.revokedSince !== null && line.revokedAt === null && line.refundedQuantity === 0;
  const marks: readonly (readonly [MarkKind, Instant | null])[] = [
    ["verified", line.verifiedAt],
    [isReversed ? "refund-reversed" : "refund", line.revokedAt ?? line.revokedSince],
    ["replaced", purchase.replacedAt],
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

/** `to` null: no end is known. The clock tolerance before a start is not drawn; a refund lasts for ever, but is drawn up to the period's end. */
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
 * The shown purchases of an account over time: when each line gave or will give access, by the rules of the answer, and
 * when its store reported on it. Oldest first within a purchase. Pure.
 *
 * @param shown keys of the purchases, by `referenceText`, in their order
 */
export const pictureOf = (
  { customers }: Pick<AccountReport, "customers">,
  timeline: readonly Span[],
  shown: readonly string[],
) => {
  const asking = new Map(customers.flatMap((customer) => [...customer.asking]));
  const purchases = customers.flatMap((customer) => customer.purchases);
  const byReference = new Map(purchases.map((purchase) => [referenceText(purchase), purchase]));
  const spansOf = Map.groupBy(timeline, ({ holding }) => referenceText(holding.purchase));
  return shown.flatMap((reference) => {
    const purchase = byReference.get(reference);
    if (purchase === undefined) return [];
    const next = asking.get(reference);
    const askedAt = next?.outcome === "due" ? next.at : null;
    const known = Map.groupBy(spansOf.get(reference) ?? [], ({ line }) => lineName(line));
    return purchase.lines.map((line) => {
      const spans = known.get(lineName(line));
      return {
        store: purchase.store,
        environment: purchase.environment,
        key: purchase.key,
        productIdentifier: line.productIdentifier,
        basePlanIdentifier: line.basePlanIdentifier,
        transactionIdentifier: line.transactionIdentifier,
        bars: spans?.flatMap(barOf) ?? unmapped(line),
        marks: marksOf(purchase, line, askedAt),
      };
    });
  });
};
