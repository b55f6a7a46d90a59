import fc from "fast-check";
import { statedPurchases } from "../../lib/customers/verified-facts.ts";
import { joinAll } from "../../lib/entitlements/join.ts";
import { nextChangeAt } from "../../lib/entitlements/next-change.ts";
import { customerId } from "../../lib/identifiers.ts";
import { cases, inLength, TIMEOUT } from "../../testing/support/proof.ts";
import { entitlementsFrom } from "../support/reference-model.ts";
import { SOLD } from "./any-order.ts";
import { toPurchases, toRenewal } from "./as-verified.ts";
import { factsOf, histories, LEEWAYS, moments, renewalsIn } from "./histories.ts";
import { CATALOG } from "./model-client.ts";

const SOMEBODY = customerId("00000000-0000-7000-8000-000000000001");
const MOMENTS = inLength(40, 400);

test(
  "the plain list's answer stays the same up to the next change, and changes there",
  () => {
    fc.assert(
      fc.property(histories, fc.constantFrom(...LEEWAYS), (history, leeway) => {
        const [facts, renewals] = [factsOf(history), renewalsIn(history)];
        const purchases = joinAll([
          ...statedPurchases({ purchases: toPurchases(facts), renewals: [] }),
          ...renewals.map(toRenewal),
        ]);
        const holdings = purchases.map((purchase) => ({
          customerIdentifier: SOMEBODY,
          assertedBy: null,
          purchase,
        }));
        const toldAt = (moment: number): string =>
          JSON.stringify(
            entitlementsFrom(
              facts.map((fact) => ({ fact, customer: 1, by: null })),
              CATALOG,
              moment,
              { renewals, leeway },
            ).map((entitlement) => ({ ...entitlement, lastVerifiedAt: null })),
          );
        const [first = 0, ...later] = moments(facts, MOMENTS, renewals).sort((a, b) => a - b);
        let [from, told] = [first, toldAt(first)];
        const expectSameAt = (moment: number): void =>
          expect({ from, moment, told: toldAt(moment) }).toEqual({ from, moment, told });
        for (;;) {
          const next = nextChangeAt(from, holdings, { catalog: SOLD, renewalLeeway: leeway });
          for (const moment of later) if (moment > from && moment < (next ?? Infinity)) expectSameAt(moment);
          if (next === null) break;
          expect(next).toBeGreaterThan(from);
          expectSameAt(next - 1);
          const changed = toldAt(next);
          expect(changed).not.toBe(told);
          [from, told] = [next, changed];
        }
      }),
      cases(150, 20_000),
    );
  },
  TIMEOUT,
);
