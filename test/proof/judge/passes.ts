import { DAY, HOUR, MINUTE } from "../../../lib/duration.ts";
import { isoTime } from "../../../lib/entitlements/time.ts";
import { readOneTimeProduct } from "../../../lib/stores/android-store/one-time-product.ts";
import { provenPurchaseOf } from "../../../lib/stores/android-store/reading.ts";
import { NOW, aPurchase } from "../../../testing/support/stores/purchases.ts";
import { PASS_LENGTHS, type PassProduct } from "./catalog.ts";
import { appStoreLine } from "./core.ts";
import type { Dice } from "./dice.ts";
import type { Fact, Happening, Life, Span } from "./life.ts";

/** Passes bought together. */
interface Pass {
  readonly id: string;
  readonly boughtAt: number;
  readonly units: number;
  refund: { readonly at: number; readonly units: number; backAt: number | null } | null;
}

const refundedAt = ({ refund }: Pass, moment: number): { at: number; units: number } | null =>
  refund !== null && refund.at <= moment && moment < (refund.backAt ?? Infinity) ? refund : null;

const appStorePass = (product: PassProduct, pass: Pass, moment: number): Fact => {
  const { id, boughtAt, units } = pass;
  const refund = refundedAt(pass, moment);
  const isWhole = refund?.units === units;
  const line = appStoreLine({
    id,
    event: product === "week pass" ? "" : id,
    product,
    nature: product === "week pass" ? "non_renewing" : "consumable",
    startsAt: boughtAt,
    purchasedAt: boughtAt,
    endsAt: null,
    isUpgraded: false,
    revokedAt: isWhole ? refund.at : null,
    refundedAt: refund?.at ?? null,
    quantity: units,
    refundedQuantity: isWhole ? 0 : (refund?.units ?? 0),
    signedAt: moment,
  });
  return { id, isMarked: false, purchases: [aPurchase({ key: id, lines: [line] })] };
};

const googlePass = (product: PassProduct, pass: Pass, moment: number): Fact => {
  const { id, boughtAt, units } = pass;
  const refunded = refundedAt(pass, moment)?.units ?? 0;
  const body = {
    purchaseStateContext: { purchaseState: refunded === units ? "CANCELLED" : "PURCHASED" },
    purchaseCompletionTime: isoTime(boughtAt),
    acknowledgementState: "ACKNOWLEDGEMENT_STATE_ACKNOWLEDGED",
    productLineItem: [
      {
        productId: product,
        productOfferDetails: { quantity: units, refundableQuantity: units - refunded },
      },
    ],
  };
  const question = {
    packageName: "com.example.trails",
    purchaseToken: id,
    productIdentifier: null,
    answeredAt: moment,
  };
  const reading = readOneTimeProduct(body, question);
  if (reading === null || reading === "product-not-in-purchase")
    throw new Error("Google's answer is malformed.");
  return { id, isMarked: false, purchases: [provenPurchaseOf(reading).purchase] };
};

/**
 * What passes of one product give: each follows the one before; a refund takes the time that it has not used, and the next one follows
 * there. Google does not date a refund, so its following passes end within a day of that.
 */
const truthOf = (
  product: PassProduct,
  passes: readonly Pass[],
  store: "ios-store" | "android-store",
): Span[] => {
  const length = PASS_LENGTHS[product];
  let [taken, isDated] = [0, true];
  return passes.flatMap(({ id, boughtAt, units, refund }): Span[] => {
    const from = Math.max(boughtAt, taken);
    const end = from + units * length;
    const of = { entitlement: product, id };
    const ahead: readonly Span[] = [
      { ...of, kind: "ahead", from: boughtAt, to: from, shownEnd: end },
      {
        ...of,
        kind: "allowed",
        from: Math.max(boughtAt, from - MINUTE),
        to: from,
        shownEnd: refund === null ? end : undefined,
      },
    ];
    const shownEnd = isDated ? end : undefined;
    const lateBy = (at: number): Span => ({
      ...of,
      kind: "allowed",
      from: at,
      to: at + DAY,
      shownEnd: undefined,
    });
    if (refund === null) {
      taken = end;
      return [...ahead, { ...of, kind: "paid", from, to: end, shownEnd }, ...(isDated ? [] : [lateBy(end)])];
    }
    const kept = from + (units - refund.units) * length;
    const ended = Math.min(end, Math.max(from, kept, refund.at));
    taken = ended;
    const before = Math.max(from, Math.min(ended, refund.at));
    const left = isDated ? kept : undefined;
    const wasDated = isDated;
    if (store === "android-store" && refund.at < end) isDated = false;
    return [
      ...ahead,
      { ...of, kind: "paid" as const, from, to: before, shownEnd },
      { ...of, kind: "paid" as const, from: before, to: ended, shownEnd: left },
      ...(wasDated ? [] : [lateBy(ended)]),
    ].filter((span) => span.from < span.to);
  });
};

export interface PassRates {
  readonly refund: number;
  /** Of the refunds, those of a share. */
  readonly share: number;
}

/** A person who buys passes of one product, some before the last one is over. */
export const passLife = (dice: Dice, rates: PassRates, store: "ios-store" | "android-store"): Life => {
  const product = dice.one("day pass", "week pass", "day pass");
  const passes: Pass[] = [];
  const happenings: Happening[] = [];
  const factOf = store === "ios-store" ? appStorePass : googlePass;
  const tell = (what: Happening["what"], pass: Pass, at: number): void => {
    happenings.push({
      what,
      at,
      signedAt: at,
      id: pass.id,
      statement: null,
      factAt: (moment) => factOf(product, pass, store === "ios-store" ? at : moment),
    });
  };
  let now = NOW;
  const count = 1 + dice.upTo(5);
  for (let index = 0; index < count; index += 1) {
    const units = dice.chance(0.5) ? 1 : 1 + dice.upTo(4);
    const pass: Pass = { id: `pass ${index + 1}`, boughtAt: now, units, refund: null };
    passes.push(pass);
    tell("purchase", pass, now);
    if (dice.chance(rates.refund)) {
      const at = now + dice.within(2 * HOUR, 2 * units * PASS_LENGTHS[product]);
      pass.refund = { at, units: dice.chance(rates.share) ? 1 + dice.upTo(units - 1) : units, backAt: null };
      tell("refund", pass, at);
    }
    now += dice.within(MINUTE, 1.5 * units * PASS_LENGTHS[product]);
  }
  const last = Math.max(...happenings.map(({ at }) => at));
  return {
    happenings: happenings.toSorted((a, b) => a.at - b.at),
    isSnapshot: true,
    truth: truthOf(product, passes, store),
    begins: NOW,
    last,
    horizon: Infinity,
    mayRenew: null,
    lasts: false,
    answerAt: (moment) =>
      passes.filter(({ boughtAt }) => boughtAt <= moment).map((pass) => factOf(product, pass, moment)),
    heldAt: () => [],
  };
};
