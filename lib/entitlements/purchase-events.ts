import type { Environment } from "../contract/schemas.ts";
import { compare } from "../order.ts";
import { isRevoked, lineText, type Line } from "./purchase.ts";

/**
 * A purchase event: one product, bought once, as its copies tell it. Each restore, and in older clients each device,
 * makes another transaction id for the same event.
 */
export type PurchaseEvent = readonly [Line, ...Line[]];

export const eventName = ({ productIdentifier, event }: Line): string => `${productIdentifier} ${event}`;

/** The later verified line; ties are broken deterministically. */
const laterLine = (a: Line, b: Line): Line => {
  if (a.verifiedAt !== b.verifiedAt) return a.verifiedAt > b.verifiedAt ? a : b;
  return lineText(a) >= lineText(b) ? a : b;
};

/** Later signed copy of one transaction id, with the earliest revocation of both. */
const laterCopy = (a: Line, b: Line): Line => {
  const later = laterLine(a, b);
  if (a.revokedSince === null && b.revokedSince === null) return later;
  return { ...later, revokedSince: Math.min(a.revokedSince ?? Infinity, b.revokedSince ?? Infinity) };
};

/** Last signed copy of each transaction id. In Xcode every id is "0", so there the event is part of the key. */
export const latestCopies = (lines: readonly Line[], environment: Environment): readonly Line[] => {
  const copies = new Map<string, Line>();
  for (const line of lines) {
    const id = line.transactionIdentifier ?? "";
    const key = environment === "xcode" ? `${id} ${eventName(line)}` : id;
    const known = copies.get(key);
    copies.set(key, known === undefined ? line : laterCopy(known, line));
  }
  return [...copies.values()];
};

/** Purchase events of one iOS lineage, from one line per transaction id. */
export const eventsOf = (copies: readonly Line[]): readonly PurchaseEvent[] =>
  [...Map.groupBy(copies, eventName).values()].flatMap(([first, ...others]) =>
    first === undefined ? [] : [[first, ...others] as const],
  );

const byPurchase = (a: Line, b: Line): number =>
  compare(a.purchasedAt ?? 0, b.purchasedAt ?? 0) ||
  compare(a.transactionIdentifier ?? "", b.transactionIdentifier ?? "");

const lastSigned = (copies: readonly Line[]): Line | undefined =>
  copies.length === 0 ? undefined : copies.reduce(laterLine);

/** Newest copies of an event that are kept beside the earliest. */
const NEWEST_KEPT = 6;

/** Kept by purchase date, which no later copy of an id changes: what was dropped never returns, in whatever order. */
export const keptCopies = (copies: PurchaseEvent): readonly Line[] => {
  const [earliest = copies[0], ...others] = copies.toSorted(byPurchase);
  return [earliest, ...others.slice(-NEWEST_KEPT)];
};

/**
 * The event as one line. The store marks a refund on one transaction id and keeps signing the others without it: an id
 * that ever was revoked speaks for the event until a later copy of that id takes it back. The mark of an upgrade and
 * the earliest start count under any id. A non-consumable bought after its refund is bought anew.
 */
export const decided = (copies: PurchaseEvent): Line => {
  if (copies.length === 1) return copies[0];
  const revoked = lastSigned(copies.filter(({ revokedSince }) => revokedSince !== null));
  const isRefunded = revoked !== undefined && (isRevoked(revoked) || revoked.refundedQuantity > 0);
  if (copies[0].nature !== "auto_renewable") {
    const newest = copies.reduce((a, b) => (byPurchase(a, b) > 0 ? a : b));
    const isBoughtAnew =
      newest.nature === "non_consumable" &&
      !isRevoked(newest) &&
      (newest.purchasedAt ?? 0) > (revoked?.revokedAt ?? Infinity);
    // Where the last word under another id took its refund back, the newest may still carry it.
    return revoked !== undefined && (isRefunded ? !isBoughtAnew : isRevoked(newest)) ? revoked : newest;
  }
  const marked = lastSigned(copies.filter(({ standing }) => standing === "expired"));
  return {
    ...(isRefunded ? revoked : copies.reduce(laterLine)),
    startsAt: Math.min(...copies.map(({ startsAt }) => startsAt ?? Infinity)),
    revokedSince: revoked?.revokedSince ?? null,
    ...(marked !== undefined && { standing: marked.standing, verifiedAt: marked.verifiedAt }),
  };
};
