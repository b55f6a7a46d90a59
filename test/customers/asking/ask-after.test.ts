import {
  askAfter,
  nextAcknowledgement,
  type AskInput,
  type FactsOrigin,
} from "../../../lib/customers/asking/ask.ts";
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
const waiting = (ask: NextAsk | null): StoredPurchase => stored(purchase, { ask });
const signedAgain = aPurchase({ lines: [aLine({ verifiedAt: NOW })] });
const unseen = aPurchase({ renewal: aRenewal({ periodEndsAt: END + 30 * DAY, signedAt: NOW }) });
const until = (endsAt: number) => aPurchase({ lines: [aLine({ endsAt, verifiedAt: NOW })] });
const inXcode = aPurchase({ environment: "xcode" });
const ahead = aPurchase({ lines: [aLine({ verifiedAt: NOW + 6000 })] });

const ofPlay = android();
const byGoogle = (more: Partial<FactsOrigin>) => ({ origin: { ...GOOGLE, ...more }, purchase: ofPlay });
const NOTIFIED = byGoogle({ isNotified: true });
const CLOSED = byGoogle({ canAsk: false });
const CLOSING = byGoogle({ isNotified: true, canAsk: false });
/** The same facts are stored, or others. */
const sameOnGoogle = (ask: NextAsk | null, changes: Partial<StoredPurchase> = {}): StoredPurchase =>
  stored(ofPlay, { ask, ...changes });
const onGoogle = (ask: NextAsk): StoredPurchase =>
  stored(android({ lines: ofPlay.lines.map((line) => ({ ...line, willRenew: true })) }), { ask });

const atOnce = { at: NOW + 5000, because: "unsettled" } as const;
const again = { at: NOW + MINUTE, because: "notification" } as const;
const due = { at: NOW + MINUTE, because: "acknowledgement" } as const;
const [soon, daily, overdue] = [renewal(NOW + MINUTE / 2), renewal(NOW + DAY / 2), renewal(NOW - DAY)];
const acknowledgement = { dueSince: NOW, deadline: NOW + 3 * DAY };
const GIVEN_BY_GOOGLE = byGoogle({});
const pending = { ...GIVEN_BY_GOOGLE, acknowledgement };
const answering = (about: Partial<FactsOrigin> = {}) => ({
  origin: { ...APPLE, askedAt: AHEAD.at, ...about },
  stored: waiting(AHEAD),
});

test.each<[rule: string, given: Partial<AskInput>, next: NextAsk | null]>([
  ["first facts give the question that follows from them", {}, AHEAD],
  ["first facts of Google's do, too", GIVEN_BY_GOOGLE, JUST_AFTER],
  ["first facts without a key give none", { origin: { ...APPLE, canAsk: false } }, null],
  ["first facts without an origin give none", { origin: null }, null],
  ["first facts of Xcode give none", { purchase: inXcode, liftsErasure: true }, null],

  ["an end without its transaction is asked about at once", { purchase: unseen }, atOnce],
  ["such an end is, though a question waits", { purchase: unseen, stored: waiting(daily) }, atOnce],
  [
    "new facts bring a question nearer",
    { purchase: until(NOW + 10 * DAY), stored: waiting(AHEAD) },
    renewal(NOW + 10 * DAY - HOUR),
  ],
  ["new facts put off no request", { purchase: signedAgain, stored: waiting(requested) }, requested],
  ["new facts put off nothing due", { purchase: signedAgain, stored: waiting(overdue) }, overdue],
  ["new facts put off nothing near", { purchase: signedAgain, stored: waiting(soon) }, soon],
  [
    "new facts with a later end set it anew",
    { purchase: until(END + 30 * DAY), stored: waiting(soon) },
    { at: END, because: "refund" },
  ],
  ["Google's new facts set it anew", { ...GIVEN_BY_GOOGLE, stored: onGoogle(requested) }, JUST_AFTER],
  ["Google's last facts end it", { ...CLOSED, stored: onGoogle(requested) }, null],
  ["known facts move nothing", { stored: waiting(renewal(END + DAY)) }, renewal(END + DAY)],

  ["an answer without news is followed by the next question", answering(), JUST_AFTER],
  ["an answer about the purchase is, too", answering({ askedAbout: purchase.key }), JUST_AFTER],
  ["an answer about another purchase is none", answering({ askedAbout: purchaseKey("another") }), AHEAD],

  [
    "a notification of Google's without news is repeated",
    { ...NOTIFIED, stored: sameOnGoogle(JUST_AFTER) },
    again,
  ],
  ["it is not where a question comes sooner", { ...NOTIFIED, stored: sameOnGoogle(soon) }, soon],
  ["a notification with news is not", { ...NOTIFIED, stored: onGoogle(JUST_AFTER) }, JUST_AFTER],
  ["a notification that closes the purchase is not", { ...CLOSING, stored: sameOnGoogle(JUST_AFTER) }, null],

  ["an acknowledgement is made in a minute", pending, due],
  ["an acknowledgement without other news is, too", { ...pending, stored: sameOnGoogle(JUST_AFTER) }, due],
  [
    "an acknowledgement that is made gives way to the facts' question",
    { ...GIVEN_BY_GOOGLE, stored: sameOnGoogle(due, { acknowledgement }) },
    JUST_AFTER,
  ],

  ["a lifted erasure is asked about at once", { liftsErasure: true }, atOnce],
  [
    "a lifted erasure is asked about after what was signed ahead",
    { purchase: ahead, liftsErasure: true },
    { ...atOnce, at: NOW + 11_000 },
  ],
])("%s", (_, given, next) => {
  const facts = { origin: APPLE, purchase, stored: undefined, acknowledgement: null, liftsErasure: false };
  expect(askAfter({ ...facts, moment: NOW, ...given })).toEqual(next);
});

test.each<[what: string, deadline: Instant, minutes: readonly number[]]>([
  ["after a minute, ten, then hourly", NOW + 3 * DAY, [1, 10, 70, 130, 190]],
  ["oftener in a licence tester's five minutes", NOW + 5 * MINUTE, [1, 2 + 1 / 3, 3 + 1 / 3, 4 + 1 / 3]],
  ["no oftener once Google has refunded the purchase", NOW - MINUTE, [1, 10, 70]],
])("an acknowledgement is tried %s", (_, deadline, minutes) => {
  const tries: number[] = [];
  for (let at = NOW; tries.length < minutes.length;) {
    at = nextAcknowledgement({ dueSince: NOW, deadline }, at);
    tries.push((at - NOW) / MINUTE);
  }
  expect(tries).toEqual(minutes);
});
