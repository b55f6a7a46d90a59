import fc from "fast-check";
import { entitlementsAt, nextChangeAt } from "../../../lib/entitlements/entitlements.ts";
import { timelineOf } from "../../../lib/entitlements/timeline.ts";
import { cases, inLength, TIMEOUT } from "../../../testing/support/proof.ts";
import { factsOf, histories, LEEWAYS, moments, renewalsIn } from "./histories.ts";
import { heldBySomebody, joinedFacts } from "./as-verified.ts";
import { CATALOG } from "./model-client.ts";

const MOMENTS = inLength(40, 400);
/** Boundaries after which a next change may be one at which nothing that is shown changes. */
const BOUNDARIES_COMPARED = 50;

test(
  "the answer stays until the next change, and differs there",
  () => {
    fc.assert(
      fc.property(histories, fc.constantFrom(...LEEWAYS), (history, renewalLeeway) => {
        const [facts, renewals] = [factsOf(history), renewalsIn(history)];
        const terms = { catalog: CATALOG, renewalLeeway };
        const holdings = heldBySomebody(joinedFacts(facts, renewals));
        const boundaries = new Set(timelineOf(holdings, terms).flatMap(({ from, to }) => [from, to]));
        const toldAt = (moment: number): string =>
          JSON.stringify(
            entitlementsAt(moment, holdings, terms).map((one) => ({ ...one, lastVerifiedAt: null })),
          );
        const [first = 0, ...later] = moments(facts, MOMENTS, renewals).sort((a, b) => a - b);
        let [from, told] = [first, toldAt(first)];
        const expectSameAt = (moment: number): void =>
          expect({ from, moment, told: toldAt(moment) }).toEqual({ from, moment, told });
        for (;;) {
          const next = nextChangeAt(from, holdings, terms);
          for (const moment of later) if (moment > from && moment < (next ?? Infinity)) expectSameAt(moment);
          if (next === null) break;
          expect(next).toBeGreaterThan(from);
          expectSameAt(next - 1);
          const changed = toldAt(next);
          const passed = [...boundaries].filter((at) => at > from && at < next).length;
          expect({ next, hasChanged: changed !== told || passed === BOUNDARIES_COMPARED }).toEqual({
            next,
            hasChanged: true,
          });
          [from, told] = [next, changed];
        }
      }),
      cases(150, 20_000),
    );
  },
  TIMEOUT,
);
