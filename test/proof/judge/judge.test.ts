import fc from "fast-check";
import { countOf, SEED, TIMEOUT, cases } from "../../../testing/support/proof.ts";
import { hostileLife, MOST, MOST_STEPS, type Step } from "./stores/app-store-hostile.ts";
import { diceFrom } from "./dice.ts";
import { diceOfLife, KINDS } from "./kinds.ts";
import { hostileTellings } from "./telling.ts";
import { judged, momentsOf, type Finding } from "./verdict.ts";

const steps = fc.array(
  fc.record<Step>({
    what: fc.nat(MOST.what),
    which: fc.nat(MOST.which),
    when: fc.nat(MOST.when),
    copies: fc.nat(MOST.copies),
  }),
  { minLength: 1, maxLength: MOST_STEPS },
);

const wrong = (findings: readonly Finding[]): readonly Finding[] =>
  findings.filter(({ cause }) => cause === "wrong");

test(
  "an App Store subscription gives access to who paid, however told",
  () => {
    fc.assert(
      fc.property(steps, fc.nat(), (chosen, seed) => {
        const life = hostileLife(chosen);
        const dice = diceFrom(seed);
        for (const telling of hostileTellings(life, dice)) {
          const findings = judged(life, telling, momentsOf(life, telling, dice, 3));
          expect({ way: telling.way, wrong: wrong(findings) }).toEqual({ way: telling.way, wrong: [] });
        }
      }),
      cases(300, 20_000),
    );
  },
  TIMEOUT,
);

test.each(KINDS)(
  "the truth of $name",
  ({ life: made, tellings }) => {
    for (let index = 0; index < countOf(150, 5_000); index += 1) {
      const dice = diceOfLife(SEED, index);
      const life = made(dice);
      for (const telling of tellings(life, dice)) {
        const findings = judged(life, telling, momentsOf(life, telling, dice, 3));
        const of = { SEED, index, way: telling.way };
        expect({ ...of, wrong: wrong(findings) }).toEqual({ ...of, wrong: [] });
      }
    }
  },
  TIMEOUT,
);
