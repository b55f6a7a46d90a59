import type { Status } from "../contract/schemas.ts";
import { accessName, placedAccesses, type Access } from "./access.ts";
import type { Terms } from "./grants.ts";
import type { Holding } from "./holding.ts";
import { isRetriedSilently, statusAt } from "./status.ts";
import { momentAt } from "./moment.ts";
import type { Line } from "./purchase.ts";
import type { Instant } from "./time.ts";

/** Kind of a span: the period, or one after the period's end. */
export type SpanKind =
  "period" | "grace_period" | "billing_retry" | "silent_retry" | "renewal_leeway" | "paused" | "revoked";

/** A half-open span of time in which a line has one status. */
export interface AccessSpan {
  readonly from: Instant;
  /** Null: no end is known. */
  readonly to: Instant | null;
  readonly kind: SpanKind;
  /** Whether it gives access, or gave it. */
  readonly active: boolean;
}

/** Access of a mapped line over time, by what is known now. A pass whose entitlements begin at different times has several. */
export interface AccessPeriod {
  readonly holding: Holding;
  readonly line: Line;
  /** Entitlements to which it is access. */
  readonly grants: readonly string[];
  readonly spans: readonly AccessSpan[];
}

/** Kind of active access after the end of a period. */
const kindAfterEnd = ({ holding, line }: Access): SpanKind =>
  isRetriedSilently(holding.purchase.store, line) ? "silent_retry" : "renewal_leeway";

/** A span of one status; active access is divided where the period ends. */
const spansOfStatus = (
  access: Access,
  status: Status,
  { from, to }: Pick<AccessSpan, "from" | "to">,
): readonly AccessSpan[] => {
  if (status === "expired") return [];
  if (status !== "active") return [{ from, to, kind: status, active: status === "grace_period" }];
  const end = access.line.endsAt ?? access.ends ?? Infinity;
  const parts: readonly AccessSpan[] = [
    { from, to: end < (to ?? Infinity) ? end : to, kind: "period", active: true },
    { from: Math.max(from, end), to, kind: kindAfterEnd(access), active: true },
  ];
  return parts.filter((part) => part.from < (part.to ?? Infinity));
};

/**
 * Spans of a line that the store reports as over, paused or on hold: its period, followed by that state without an end.
 */
const spansUpToStanding = ({ line, begins, ends }: Access): readonly AccessSpan[] => {
  const to = Math.max(begins, ends ?? line.verifiedAt);
  const period: readonly AccessSpan[] =
    begins < to ? [{ from: begins, to, kind: "period", active: true }] : [];
  const { standing } = line;
  return standing === "paused" || standing === "billing_retry"
    ? [...period, { from: to, to: null, kind: standing, active: false }]
    : period;
};

const SAID: ReadonlySet<Line["standing"]> = new Set(["expired", "paused", "billing_retry"]);

const spansOf = (
  access: Access,
  replacedAt: Instant | null,
  renewalLeeway: number,
): readonly AccessSpan[] => {
  const { line, begins } = access;
  if (SAID.has(line.standing) && line.revokedAt === null) return spansUpToStanding(access);
  const spans: AccessSpan[] = [];
  let from: Instant | null = begins;
  while (from !== null && from < (replacedAt ?? Infinity)) {
    const moment = momentAt(from);
    const status = statusAt(moment, access, renewalLeeway);
    const next = moment.nextAsked();
    const to = next === null || (replacedAt !== null && replacedAt < next) ? replacedAt : next;
    for (const span of spansOfStatus(access, status, { from, to })) {
      const last = spans.at(-1);
      if (last?.kind === span.kind) spans[spans.length - 1] = { ...last, to: span.to };
      else spans.push(span);
    }
    from = next;
  }
  return spans;
};

/**
 * Lines that the catalog maps, over time: when each gave or will give access, by the same rules as `entitlementsAt`,
 * and by what is known now. A line that the store reports as over, paused or on hold had its period until then. A
 * revoked line without a revocation date never gave access.
 */
export const accessPeriods = (
  now: Instant,
  holdings: readonly Holding[],
  { catalog, renewalLeeway }: Terms,
): readonly AccessPeriod[] => {
  const remaining = placedAccesses(momentAt(now), holdings, catalog);
  const names = new Set(remaining.map(accessName));
  const replaced = placedAccesses(momentAt(-Infinity), holdings, catalog).filter(
    (access) => !names.has(accessName(access)),
  );
  const periodOf = (access: Access, replacedAt: Instant | null): AccessPeriod => ({
    holding: access.holding,
    line: access.line,
    grants: access.product.grants,
    spans: spansOf(access, replacedAt, renewalLeeway),
  });
  return [
    ...remaining.map((access) => periodOf(access, null)),
    ...replaced.map((access) => periodOf(access, access.holding.purchase.replacedAt)),
  ];
};
