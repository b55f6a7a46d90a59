import { askAfter, nextAcknowledgement, type AskInput } from "../../../lib/customers/asking/ask.ts";
import type { StoredPurchase } from "../../../lib/customers/storing/records.ts";
import { DAY, HOUR, MINUTE } from "../../../lib/duration.ts";
import type { NextAsk } from "../../../lib/entitlements/next-ask.ts";
import type { Instant } from "../../../lib/entitlements/time.ts";
import { purchaseKey } from "../../../lib/identifiers.ts";
import { aLine, aPurchase, aRenewal, NOW } from "../../../testing/support/stores/purchases.ts";
import { android, stored } from "../planning.ts";
import { fromApple, fromGoogle } from "../refreshing.ts";

const END = NOW + 20 * DAY;
const renewal = (at: Instant): NextAsk => ({ at, because: "renewal" });
const requested: NextAsk = { at: NOW, because: "requested" };
/** Questions of {@link aPurchase}: before its end, and just after it. */
const [AHEAD, JUST_AFTER] = [renewal(END - HOUR), renewal(END + 5000)];

const [APPLE, GOOGLE] = [fromApple(), fromGoogle()];

const purchase = aPurchase();
const waiting = (ask: NextAsk | null, changes: Partial<StoredPurchase> = {}): StoredPurchase =>
  stored(purchase, { ask, ...changes });
const ofPlay = android();
/** The same facts are stored, or others. */
const sameOnGoogle = (ask: NextAsk | null, changes: Partial<StoredPurchase> = {}): StoredPurchase =>
  stored(ofPlay, { ask, ...changes });
const onGoogle = (ask: NextAsk): StoredPurchase =>
  stored(android({ lines: ofPlay.lines.map((line) => ({ ...line, willRenew: true })) }), { ask });

/** The question after facts of the App Store. */
const after = (changes: Partial<AskInput> = {}): NextAsk | null =>
  askAfter({
    origin: APPLE,
    purchase,
    stored: undefined,
    acknowledgement: null,
    liftsErasure: false,
    moment: NOW,
    ...changes,
  });
const ofGoogle = (changes: Partial<AskInput> = {}): NextAsk | null =>
  after({ origin: GOOGLE, purchase: ofPlay, ...changes });
const signedAgain = aPurchase({ lines: [aLine({ verifiedAt: NOW })] });

describe("first facts", () => {
  test("give the question that follows from them", () => {
    expect(after()).toEqual(AHEAD);
    expect(ofGoogle()).toEqual(JUST_AFTER);
  });

  test("give none without a key, an origin, or a store to ask", () => {
    expect(after({ origin: { ...APPLE, canAsk: false } })).toBeNull();
    expect(after({ origin: null })).toBeNull();
    expect(after({ purchase: aPurchase({ environment: "xcode" }), liftsErasure: true })).toBeNull();
  });
});

describe("new facts", () => {
  test("with an end without its transaction are asked about at once", () => {
    const unseen = aPurchase({ renewal: aRenewal({ periodEndsAt: END + 30 * DAY, signedAt: NOW }) });
    for (const known of [undefined, waiting(renewal(NOW + DAY / 2))])
      expect(after({ purchase: unseen, stored: known })).toEqual({ at: NOW + 5000, because: "unsettled" });
  });
  test("bring a question nearer", () => {
    const shortened = aPurchase({ lines: [aLine({ endsAt: NOW + 10 * DAY, verifiedAt: NOW })] });
    expect(after({ purchase: shortened, stored: waiting(AHEAD) })).toEqual(renewal(NOW + 10 * DAY - HOUR));
  });
  test("put none off", () => {
    for (const ask of [requested, renewal(NOW - DAY), renewal(NOW + HOUR)])
      expect(after({ purchase: signedAgain, stored: waiting(ask) })).toEqual(ask);
  });
  test("with a later end set it anew", () => {
    const renewed = aPurchase({ lines: [aLine({ endsAt: END + 30 * DAY, verifiedAt: NOW })] });
    expect(after({ purchase: renewed, stored: waiting(renewal(NOW + HOUR)) })?.at).toBeGreaterThan(NOW + DAY);
  });
  test("of Google's set it anew, or end it", () => {
    expect(ofGoogle({ stored: onGoogle(requested) })).toEqual(JUST_AFTER);
    expect(ofGoogle({ stored: onGoogle(requested), origin: { ...GOOGLE, canAsk: false } })).toBeNull();
  });
});

test("facts that are known already move nothing", () => {
  expect(after({ stored: waiting(renewal(END + DAY)) })).toEqual(renewal(END + DAY));
});

describe("an answer", () => {
  test.each([
    ["is followed by the next question, also where it brings no news", {}, JUST_AFTER],
    ["about the purchase is, too", { askedAbout: purchase.key }, JUST_AFTER],
    ["about another purchase is none", { askedAbout: purchaseKey("another") }, AHEAD],
  ])("%s", (_, about, expected) => {
    const origin = { ...APPLE, askedAt: AHEAD.at, ...about };
    expect(after({ origin, stored: waiting(AHEAD) })).toEqual(expected);
  });
});

describe("a notification of Google's", () => {
  const origin = { ...GOOGLE, isNotified: true };
  test("that taught nothing is asked about again a minute later", () => {
    const again = { at: NOW + MINUTE, because: "notification" };
    expect(ofGoogle({ origin, stored: sameOnGoogle(JUST_AFTER) })).toEqual(again);
    const near = renewal(NOW + MINUTE / 2);
    expect(ofGoogle({ origin, stored: sameOnGoogle(near) })).toEqual(near);
  });
  test("that taught something, or closes the purchase, is not", () => {
    expect(ofGoogle({ origin, stored: onGoogle(JUST_AFTER) })).toEqual(JUST_AFTER);
    const closed = { ...origin, canAsk: false };
    expect(ofGoogle({ origin: closed, stored: sameOnGoogle(JUST_AFTER) })).toBeNull();
  });
});

describe("an acknowledgement", () => {
  const pending = { dueSince: NOW, deadline: NOW + 3 * DAY };
  const due = { at: NOW + MINUTE, because: "acknowledgement" };
  test("that becomes due is made in a minute, without other news too", () => {
    expect(ofGoogle({ acknowledgement: pending })).toEqual(due);
    expect(ofGoogle({ acknowledgement: pending, stored: sameOnGoogle(JUST_AFTER) })).toEqual(due);
  });
  test("that is made gives way to the question of the facts", () => {
    const asked = sameOnGoogle({ ...due, because: "acknowledgement" }, { acknowledgement: pending });
    expect(ofGoogle({ stored: asked })).toEqual(JUST_AFTER);
  });
  test("is tried after a minute, ten, then hourly; oftener near its deadline", () => {
    const tries = (deadline: Instant, count: number) => {
      const minutes: number[] = [];
      for (let at = NOW; minutes.length < count;) {
        at = nextAcknowledgement({ dueSince: NOW, deadline }, at);
        minutes.push((at - NOW) / MINUTE);
      }
      return minutes;
    };
    expect(tries(NOW + 3 * DAY, 5)).toEqual([1, 10, 70, 130, 190]);
    // A licence tester's five minutes, and what Google has refunded already.
    expect(tries(NOW + 5 * MINUTE, 4)).toEqual([1, 2 + 1 / 3, 3 + 1 / 3, 4 + 1 / 3]);
    expect(tries(NOW - MINUTE, 3)).toEqual([1, 10, 70]);
  });
});

test("an erasure that is lifted has the App Store asked at once, after what was signed ahead", () => {
  expect(after({ liftsErasure: true })).toEqual({ at: NOW + 5000, because: "unsettled" });
  const ahead = aPurchase({ lines: [aLine({ verifiedAt: NOW + 6000 })] });
  expect(after({ purchase: ahead, liftsErasure: true })?.at).toBe(NOW + 11_000);
});
