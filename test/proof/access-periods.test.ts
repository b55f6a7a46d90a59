import fc from "fast-check";
import { statedPurchases } from "../../lib/customers/verified-facts.ts";
import { accessPeriods, type AccessSpan } from "../../lib/entitlements/access-periods.ts";
import { grantsAt, type Grant } from "../../lib/entitlements/grants.ts";
import type { Holding } from "../../lib/entitlements/holding.ts";
import { joinAll } from "../../lib/entitlements/join.ts";
import { lineName } from "../../lib/entitlements/purchase.ts";
import { customerId } from "../../lib/identifiers.ts";
import { cases, TIMEOUT } from "../../testing/support/proof.ts";
import { MOMENTS, SOLD } from "./any-order.ts";
import { toPurchases, toRenewal } from "./as-verified.ts";
import { factsOf, histories, LEEWAYS, moments, renewalsIn } from "./histories.ts";

const SOMEBODY = customerId("00000000-0000-7000-8000-000000000001");

const STATUS_OF: Record<AccessSpan["kind"], Grant["status"]> = {
  period: "active",
  renewal_leeway: "active",
  silent_retry: "active",
  grace_period: "grace_period",
  billing_retry: "billing_retry",
  paused: "paused",
  revoked: "revoked",
};

/** Standings that the store gives a line as a whole, whatever the moment. */
const SAID = new Set(["expired", "paused", "billing_retry"]);

test(
  "a line's periods of access are those in which it grants, at every moment",
  () => {
    const kinds = new Set<string>();
    fc.assert(
      fc.property(histories, fc.constantFrom(...LEEWAYS), (history, renewalLeeway) => {
        const [facts, renewals] = [factsOf(history), renewalsIn(history)];
        const stated = statedPurchases({ purchases: toPurchases(facts), renewals: [] });
        const purchases = joinAll([...stated, ...renewals.map(toRenewal)]);
        const terms = { catalog: SOLD, renewalLeeway };
        const holdings = purchases.map((purchase): Holding => ({
          customerIdentifier: SOMEBODY,
          assertedBy: null,
          purchase,
        }));
        for (const moment of moments(facts, MOMENTS, renewals)) {
          const grants = grantsAt(moment, holdings, terms);
          for (const { holding, line, grants: given, spans } of accessPeriods(moment, holdings, terms)) {
            const found = grants.filter(
              (grant) =>
                grant.holding === holding &&
                lineName(grant.line) === lineName(line) &&
                grant.product.grants.some((one) => given.includes(one)),
            );
            const span = spans.find(({ from, to }) => from <= moment && moment < (to ?? Infinity));
            // Access that begins within a minute has begun; a line without a start has always.
            const begins = [spans[0]?.from, line.startsAt ?? line.verifiedAt].filter(
              (at) => at !== undefined,
            );
            if (begins.some((at) => moment < at && (at - moment <= 60_000 || line.startsAt === null)))
              continue;
            if (span !== undefined) kinds.add(span.kind);
            const statuses = new Set(found.map(({ status }) => status));
            const isSaid = SAID.has(line.standing) && line.revokedAt === null;
            const expected = isSaid
              ? [line.standing]
              : span === undefined
                ? ["expired"]
                : [STATUS_OF[span.kind]];
            const isAbsent = statuses.size === 0 && (isSaid || span === undefined);
            expect(isAbsent ? expected : [...statuses]).toEqual(expected);
          }
        }
      }),
      cases(150, 10_000),
    );
    expect(kinds).toContain("period");
  },
  TIMEOUT,
);
