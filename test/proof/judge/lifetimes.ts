import { DAY, HOUR, MINUTE } from "../../../lib/duration.ts";
import { NOW, aLine, aPurchase } from "../../../testing/support/stores/purchases.ts";
import type { Dice } from "../dice.ts";
import { lifeOf, type Fact, type Happening, type Life, type Span } from "./life.ts";

/** One transaction id of a non-consumable. */
interface Copy {
  readonly id: string;
  readonly purchasedAt: number;
  readonly refunds: { readonly at: number; backAt: number | null }[];
}

const factOf = ({ id, purchasedAt, refunds }: Copy, moment: number): Fact => {
  const refund = refunds.find(({ at, backAt }) => at <= moment && moment < (backAt ?? Infinity));
  const line = aLine({
    transactionIdentifier: id,
    event: "",
    productIdentifier: "lifetime",
    nature: "non_consumable",
    startsAt: NOW,
    purchasedAt,
    endsAt: null,
    revokedAt: refund?.at ?? null,
    verifiedAt: moment,
  });
  return { id, purchases: [aPurchase({ lines: [line] })] };
};

/** A person who buys a lifetime product, restores it, has it refunded, and buys it again: of one lineage. */
export const lifetimeLife = (dice: Dice): Life => {
  const copies: Copy[] = [];
  const happenings: Happening[] = [];
  const truth: Span[] = [];
  let now = NOW;
  const tell = (what: Happening["what"], copy: Copy): void => {
    const fact = factOf(copy, now);
    happenings.push({ what, at: now, signedAt: now, id: copy.id, factAt: () => fact, statement: null });
  };
  const add = (what: "purchase" | "copy"): Copy => {
    const copy: Copy = { id: String(copies.length + 1), purchasedAt: now, refunds: [] };
    copies.push(copy);
    tell(what, copy);
    return copy;
  };
  const owns = (from: number, to: number, id: string): void => {
    truth.push({ kind: "paid", entitlement: "lifetime", id, from, to, shownEnd: null });
  };
  let isOwned = false;
  for (let purchases = 1 + dice.number(3); purchases > 0 && !isOwned; purchases -= 1) {
    const bought = add("purchase");
    let since = now;
    isOwned = true;
    for (let steps = dice.number(5); steps > 0 && isOwned; steps -= 1) {
      now += dice.within(HOUR, 60 * DAY);
      if (dice.chance(0.5)) {
        add("copy");
        continue;
      }
      const refund = { at: now, backAt: null as number | null };
      bought.refunds.push(refund);
      owns(since, now, bought.id);
      tell("refund", bought);
      isOwned = dice.chance(0.4);
      if (!isOwned) continue;
      now += dice.within(HOUR, 10 * DAY);
      [since, refund.backAt] = [now, now];
      tell("refund", bought);
    }
    if (isOwned) owns(since, Infinity, bought.id);
    else now += dice.within(HOUR, 60 * DAY);
  }
  const answerAt = (moment: number): readonly Fact[] =>
    copies.filter(({ purchasedAt }) => purchasedAt <= moment).map((copy) => factOf(copy, moment));
  return lifeOf({ happenings, truth, last: now + MINUTE, lasts: isOwned, answerAt });
};
