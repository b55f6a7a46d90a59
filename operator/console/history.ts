import type { Asking } from "../../lib/administration/reports/asking.ts";
import type { Status } from "../../lib/contract/schemas.ts";
import { type Line, lineName, type Purchase } from "../../lib/entitlements/purchase.ts";
import { type Instant, isoTime } from "../../lib/entitlements/time.ts";
import { givesAccess, type Span } from "../../lib/entitlements/timeline.ts";
import { timeOrNull } from "../text/answer.ts";

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
