import { DAY, HOUR, MINUTE } from "../../../lib/duration.ts";
import type { Store } from "../../../lib/contract/schemas.ts";
import { isoTime } from "../../../lib/entitlements/time.ts";
import { readOneTimeProduct } from "../../../lib/stores/android-store/one-time-product.ts";
import { NOW, aLine, aPurchase } from "../../../testing/support/stores/purchases.ts";
import type { Dice } from "../dice.ts";
import {
  PASS_LENGTHS,
  type PassProduct,
  lifeOf,
  type Fact,
  type Happening,
  type Life,
  type Span,
  type Rates,
} from "./life.ts";
import { factOf } from "./stores/google.ts";

/** Passes bought together. */
interface Pass {
  readonly id: string;
  readonly boughtAt: number;
  readonly units: number;
  refund: { readonly at: number; readonly units: number } | null;
}

const refundedAt = ({ refund }: Pass, moment: number): Pass["refund"] =>
  refund !== null && refund.at <= moment ? refund : null;

const appStorePass = (product: PassProduct, pass: Pass, moment: number): Fact => {
  const { id, boughtAt, units } = pass;
  const refund = refundedAt(pass, moment);
  const isWhole = refund?.units === units;
  const line = aLine({
    transactionIdentifier: id,
    event: product === "week pass" ? "" : id,
    productIdentifier: product,
    nature: product === "week pass" ? "non_renewing" : "consumable",
    startsAt: boughtAt,
    endsAt: null,
    revokedAt: isWhole ? refund.at : null,
    revokedSince: refund?.at ?? null,
    quantity: units,
    refundedQuantity: isWhole ? 0 : (refund?.units ?? 0),
    verifiedAt: moment,
  });
  return { id, purchases: [aPurchase({ key: id, lines: [line] })] };
};

const googlePass = (productId: PassProduct, pass: Pass, moment: number): Fact => {
  const { id, boughtAt, units: quantity } = pass;
  const refunded = refundedAt(pass, moment)?.units ?? 0;
  const productOfferDetails = { quantity, refundableQuantity: quantity - refunded };
  const body = {
    purchaseStateContext: { purchaseState: refunded === quantity ? "CANCELLED" : "PURCHASED" },
    purchaseCompletionTime: isoTime(boughtAt),
    acknowledgementState: "ACKNOWLEDGEMENT_STATE_ACKNOWLEDGED",
    productLineItem: [{ productId, productOfferDetails }],
  };
  return factOf(readOneTimeProduct, body, id, moment);
};

/**
 * What passes of one product give: each follows the one before; a refund takes the time that it has not used, and the next one follows
 * there. Google does not date a refund, so its following passes end within a day of that.
 */
const truthOf = (entitlement: PassProduct, passes: readonly Pass[], store: Store): Span[] => {
  const length = PASS_LENGTHS[entitlement];
  let [taken, isDated] = [0, true];
  return passes.flatMap(({ id, boughtAt, units, refund }): Span[] => {
    const from = Math.max(boughtAt, taken);
    const end = from + units * length;
    const span = (kind: Span["kind"], from: number, to: number, shownEnd?: number): Span => ({
      kind,
      entitlement,
      id,
      from,
      to,
      shownEnd,
    });
    const kept = from + (units - (refund?.units ?? 0)) * length;
    const ended = refund === null ? end : Math.min(end, Math.max(from, kept, refund.at));
    const before = Math.max(from, Math.min(ended, refund?.at ?? end));
    const spans = [
      span("ahead", boughtAt, from, end),
      span("allowed", Math.max(boughtAt, from - MINUTE), from, refund === null ? end : undefined),
      span("paid", from, before, isDated ? end : undefined),
      span("paid", before, ended, isDated ? kept : undefined),
      ...(isDated ? [] : [span("allowed", ended, ended + DAY)]),
    ];
    taken = ended;
    if (store === "android-store" && refund !== null && refund.at < end) isDated = false;
    return spans.filter((one) => one.from < one.to);
  });
};

/** A person who buys passes of one product, some before the last one is over. */
export const passLife = (dice: Dice, rates: Rates, store: Store): Life => {
  const product = dice.pick(["day pass", "week pass", "day pass"]);
  const passes: Pass[] = [];
  const happenings: Happening[] = [];
  const factAbout = store === "ios-store" ? appStorePass : googlePass;
  const tell = (what: Happening["what"], pass: Pass, at: number): void => {
    // A transaction stays as it was signed; Google answers as it is.
    const factAt = (moment: number): Fact => factAbout(product, pass, store === "ios-store" ? at : moment);
    happenings.push({ what, at, signedAt: at, id: pass.id, statement: null, factAt });
  };
  let now = NOW;
  for (let left = 1 + dice.number(6); left > 0; left -= 1) {
    const units = dice.chance(0.5) ? 1 : 1 + dice.number(5);
    const pass: Pass = { id: `pass ${passes.length + 1}`, boughtAt: now, units, refund: null };
    passes.push(pass);
    tell("purchase", pass, now);
    if (dice.chance(rates.refund)) {
      const at = now + dice.within(2 * HOUR, 2 * units * PASS_LENGTHS[product]);
      pass.refund = { at, units: dice.chance(rates.share) ? 1 + dice.number(units) : units };
      tell("refund", pass, at);
    }
    now += dice.within(MINUTE, 1.5 * units * PASS_LENGTHS[product]);
  }
  const answerAt = (moment: number): readonly Fact[] =>
    passes.filter(({ boughtAt }) => boughtAt <= moment).map((pass) => factAbout(product, pass, moment));
  const last = Math.max(...happenings.map(({ at }) => at));
  return lifeOf({ happenings, truth: truthOf(product, passes, store), last, answerAt });
};
