import type { StoredPurchase } from "../../lib/customers/records.ts";
import {
  mentionedPurchase,
  renewedPurchase,
  type Line,
  type Purchase,
} from "../../lib/entitlements/purchase.ts";
import type { Instant } from "../../lib/entitlements/time.ts";
import type { FactsOrigin, AskSource } from "../../lib/customers/ask.ts";
import { purchaseKey } from "../../lib/identifiers.ts";
import { aLine, aPurchase, aRenewal, DAY, NOW } from "../../testing/support/purchases.ts";
import { aCustomer, android, plan, stored } from "./planning.ts";

const HOUR = 3600_000;
const END = NOW + 20 * DAY;
/** The refreshes of {@link aPurchase}: while it runs, and the first two after its end. */
const [AHEAD, JUST_AFTER, MINUTES_AFTER] = [END - HOUR, END + 5000, END + 120_000];
/** A time that its facts do not give: the refresh was put off. */
const PUT_OFF = END + DAY;

const BUNDLE = "com.example.trails";
const APPLE: AskSource = { store: "ios-store", bundleIdentifier: BUNDLE };
const GOOGLE: AskSource = {
  store: "android-store",
  packageName: "com.example.trails",
  purchaseToken: "the-token",
  productKind: "subscription",
};

/** Facts that came by themselves, and whose store can be asked again. */
const from = (source: AskSource, changes: Partial<FactsOrigin> = {}): FactsOrigin => ({
  source,
  canAsk: true,
  askedAt: null,
  ...changes,
});

/** The purchases to write after facts about a customer's purchases, of which it holds those that are known. */
const written = (purchases: readonly Purchase[], origin: FactsOrigin | null, ...known: StoredPurchase[]) =>
  plan({
    survivor: aCustomer({ holdings: known.map(({ purchase }) => purchase) }),
    facts: { purchases, origin },
    known,
  }).change?.purchases ?? [];

const purchase = aPurchase();
/** The purchase as stored, with a refresh at a time. */
const waiting = (refreshAt: Instant, askedForAt: Instant | null = null): StoredPurchase =>
  stored(purchase, { refreshAt, askedForAt, bundleIdentifier: BUNDLE });
/** The same purchase, signed later, with nothing else new. */
const signedAgain = aPurchase({ lines: [aLine({ verifiedAt: NOW })] });
const renewed = aPurchase({ lines: [aLine({ endsAt: END + 30 * DAY, verifiedAt: NOW })] });

describe("an iOS purchase's first facts", () => {
  test("set its refresh, and say its bundle", () => {
    expect(written([purchase], from(APPLE))).toMatchObject([
      {
        refresh: { from: null, to: { at: AHEAD, source: APPLE } },
        refreshAt: AHEAD,
        bundleIdentifier: BUNDLE,
      },
    ]);
  });
  test("that a device had kept beyond its refresh set it from now on, behind what is due already", () => {
    const ended = aPurchase({ lines: [aLine({ endsAt: NOW - 3 * DAY, verifiedAt: NOW - 20 * DAY })] });
    expect(written([ended], from(APPLE))).toMatchObject([{ refreshAt: NOW }]);
  });
  test("that leave a known refresh where it is do so, also if that is due", () => {
    const due = waiting(NOW - DAY);
    expect(written([signedAgain], from(APPLE), due)).toMatchObject([{ refresh: null, refreshAt: NOW - DAY }]);
  });
  test("set none, but say its bundle, where its store cannot be asked", () => {
    expect(written([purchase], from(APPLE, { canAsk: false }))).toMatchObject([
      { refresh: null, ask: null, bundleIdentifier: BUNDLE },
    ]);
  });
  test("set none, and say no bundle, where they have no origin", () => {
    expect(written([purchase], null)).toMatchObject([{ refresh: null, ask: null, bundleIdentifier: null }]);
  });
});

describe("an iOS purchase whose renewal info names an end of which nothing is told", () => {
  const NAMED = END + 30 * DAY;
  const untold = (signedAt: number, verifiedAt = signedAt, periodEndsAt = NAMED) =>
    aPurchase({ lines: [aLine({ verifiedAt })], renewal: aRenewal({ periodEndsAt, signedAt }) });
  const daily = NOW + DAY / 2;
  const asked = stored(untold(NOW), { refreshAt: daily, bundleIdentifier: BUNDLE });
  const refreshOf = (facts: Purchase, ...known: StoredPurchase[]) =>
    written([facts], from(APPLE), ...known).map(({ refreshAt }) => refreshAt);

  test("is asked about at once, where it is new", () => {
    expect(refreshOf(untold(NOW))).toEqual([NOW + 5000]);
  });
  test("stays due where its payment is retried, and each renewal info names another attempt", () => {
    const retried = (signedAt: number) =>
      aPurchase({
        lines: [aLine({ endsAt: NOW - DAY, verifiedAt: NOW - DAY })],
        renewal: aRenewal({ periodEndsAt: signedAt + DAY, isInBillingRetry: true, signedAt }),
      });
    const due = stored(retried(NOW - HOUR), { refreshAt: NOW - 60_000, bundleIdentifier: BUNDLE });
    expect(refreshOf(retried(NOW), due)[0] ?? NOW - 60_000).toBe(NOW - 60_000);
  });
  test("is not asked about sooner, whatever the app signs anew and sends", () => {
    for (const minutes of [0, 1, 5, 30]) {
      const sent = NOW + minutes * 60_000 + 1;
      for (const facts of [untold(sent), untold(NOW, sent)]) expect(refreshOf(facts, asked)).toEqual([daily]);
    }
  });
});

test("an Android purchase's first facts set its refresh, with its token; it has no bundle", () => {
  expect(written([android()], from(GOOGLE))).toMatchObject([
    {
      refresh: { from: null, to: { at: JUST_AFTER, source: GOOGLE } },
      refreshAt: JUST_AFTER,
      bundleIdentifier: null,
    },
  ]);
});

describe("the refresh of a known purchase", () => {
  test("is moved by news of its bundle", () => {
    const shortened = aPurchase({ lines: [aLine({ endsAt: NOW + 10 * DAY, verifiedAt: NOW })] });
    const to = { at: NOW + 10 * DAY - HOUR, source: APPLE };
    expect(written([shortened], from(APPLE), waiting(AHEAD))).toMatchObject([
      { refresh: { from: AHEAD, to }, refreshAt: to.at, bundleIdentifier: BUNDLE },
    ]);
  });
  test("is set by the first news whose bundle is known", () => {
    expect(written([signedAgain], from(APPLE), stored(purchase))).toMatchObject([
      {
        refresh: { from: null, to: { at: AHEAD, source: APPLE } },
        refreshAt: AHEAD,
        bundleIdentifier: BUNDLE,
      },
    ]);
  });
  test("stays where news give it the same time", () => {
    expect(written([signedAgain], from(APPLE), waiting(AHEAD))).toMatchObject([
      { refresh: null, refreshAt: AHEAD },
    ]);
  });
  test("stays where news have no origin", () => {
    expect(written([signedAgain], null, waiting(PUT_OFF))).toMatchObject([
      { refresh: null, refreshAt: PUT_OFF, bundleIdentifier: BUNDLE },
    ]);
  });
  test("stays where news are of another bundle, which does not become the purchase's", () => {
    const other = from({ store: "ios-store", bundleIdentifier: "com.example.other" });
    expect(written([signedAgain], other, waiting(PUT_OFF))).toMatchObject([
      { refresh: null, refreshAt: PUT_OFF, bundleIdentifier: BUNDLE },
    ]);
  });
  test("stays where news are of an app without a key: it may have come since the configuration was read", () => {
    for (const askedForAt of [null, NOW])
      for (const said of [signedAgain, renewed])
        expect(written([said], from(APPLE, { canAsk: false }), waiting(AHEAD, askedForAt))).toMatchObject([
          { refresh: null, refreshAt: AHEAD, askedForAt },
        ]);
  });
  test("that was put off is moved to its own time by a later copy", () => {
    expect(written([signedAgain], from(APPLE), waiting(PUT_OFF))).toMatchObject([
      { refresh: { from: PUT_OFF, to: { at: AHEAD, source: APPLE } }, refreshAt: AHEAD },
    ]);
  });
  test("that was asked for stays where something comes by itself, until the store has answered", () => {
    for (const at of [NOW - DAY, NOW + 5000, NOW + HOUR])
      for (const said of [signedAgain, renewed])
        expect(written([said], from(APPLE), waiting(at, NOW - HOUR))).toMatchObject([
          { refresh: null, refreshAt: at, askedForAt: NOW - HOUR },
        ]);
    // The clock of who asked may be ahead of the one of who was answered.
    for (const askedAt of [NOW - 1, NOW])
      expect(written([signedAgain], from(APPLE, { askedAt }), waiting(NOW, NOW))).toMatchObject([
        { refresh: { from: NOW, to: { at: AHEAD, source: APPLE } }, refreshAt: AHEAD, askedForAt: null },
      ]);
  });
  test("that was asked for a day ago gives way, and counts as not asked for", () => {
    const asked = (since: Instant) => written([signedAgain], from(APPLE), waiting(NOW + HOUR, since));
    expect(asked(NOW - DAY + 1)).toMatchObject([{ refreshAt: NOW + HOUR, askedForAt: NOW - DAY + 1 }]);
    expect(asked(NOW - DAY)).toMatchObject([{ refreshAt: NOW + HOUR, askedForAt: null }]);
    expect(written([renewed], from(APPLE), waiting(NOW + HOUR, NOW - DAY))).toMatchObject([
      { refreshAt: END, askedForAt: null },
    ]);
    expect(written([purchase], from(APPLE), waiting(PUT_OFF, NOW - DAY))).toEqual([]);
  });
  test("of an Android purchase that was asked for is answered by whatever makes the service ask Google", () => {
    const at = (verifiedAt: Instant) => android({ lines: [aLine({ verifiedAt })] });
    const known = (askedForAt: Instant) => stored(at(NOW - HOUR), { refreshAt: JUST_AFTER, askedForAt });
    const said = at(NOW);
    for (const askedAt of [null, NOW])
      for (const askedForAt of [NOW - HOUR, NOW])
        expect(written([said], from(GOOGLE, { askedAt }), known(askedForAt))).toMatchObject([
          { refreshAt: JUST_AFTER, askedForAt: null },
        ]);
  });
  test("that was asked for is made earlier where news give it an earlier time, and is still asked for", () => {
    const shortened = aPurchase({ lines: [aLine({ endsAt: NOW + 2 * HOUR, verifiedAt: NOW })] });
    expect(written([shortened], from(APPLE), waiting(NOW + 3 * HOUR, NOW))).toMatchObject([
      { refreshAt: NOW + HOUR, askedForAt: NOW },
    ]);
  });
  test("that was asked for is no longer, once it is answered", () => {
    // Neither the facts nor the time are new.
    expect(written([purchase], from(APPLE, { askedAt: NOW }), waiting(AHEAD, NOW))).toMatchObject([
      { refresh: null, refreshAt: AHEAD, askedForAt: null },
    ]);
  });
  test("that was asked for stays so where it is only mentioned, or news are of another bundle", () => {
    const other = from({ store: "ios-store", bundleIdentifier: "com.example.other" });
    for (const origin of [null, other])
      expect(written([signedAgain], origin, waiting(PUT_OFF, NOW))).toMatchObject([
        { refreshAt: PUT_OFF, askedForAt: NOW },
      ]);
  });
  test("that is overdue, or put off while its store is down, stays where no renewal comes by itself", () => {
    const info = renewedPurchase(purchase, aRenewal({ signedAt: NOW }));
    const refunded = aPurchase({ lines: [aLine({ revokedAt: NOW, revokedSince: NOW, verifiedAt: NOW })] });
    for (const said of [signedAgain, info, refunded])
      for (const at of [NOW - 119 * DAY, NOW - DAY, NOW, NOW + 1, NOW + HOUR])
        expect(written([said], from(APPLE), waiting(at))).toMatchObject([{ refresh: null, refreshAt: at }]);
  });
  test("whose item has expired is written anew, also where nothing is new", () => {
    const expired = NOW - 120 * DAY;
    // The item is there until then.
    expect(written([purchase], from(APPLE), waiting(expired + 1))).toEqual([]);
    expect(written([signedAgain], from(APPLE), waiting(expired + 1))).toMatchObject([
      { refresh: null, refreshAt: expired + 1 },
    ]);
    for (const said of [signedAgain, purchase])
      expect(written([said], from(APPLE), waiting(expired))).toMatchObject([
        { refresh: { from: expired, to: { at: AHEAD } }, refreshAt: AHEAD },
      ]);
  });
  test("that facts from long ago give is due now, as its item would have expired, or at its known time", () => {
    const heard = NOW - 300 * DAY;
    const year = { startsAt: heard - DAY, endsAt: heard + 364 * DAY };
    const old = aPurchase({ lines: [aLine({ ...year, verifiedAt: heard })] });
    const due = (...known: StoredPurchase[]) =>
      written([old], from(APPLE), ...known)[0]?.refresh?.to?.at ?? null;
    expect(due()).toBe(NOW);
    const earlier = aPurchase({ lines: [aLine({ ...year, verifiedAt: heard - HOUR })] });
    const known = (refreshAt: Instant) => stored(earlier, { refreshAt, bundleIdentifier: BUNDLE });
    expect(due(known(NOW + DAY))).toBe(NOW);
    for (const refreshAt of [NOW, NOW - 119 * DAY])
      expect(written([old], from(APPLE), known(refreshAt))).toMatchObject([{ refresh: null, refreshAt }]);
    // A purchase that is long over is due no more once its item has expired.
    const over = aPurchase({
      lines: [aLine({ startsAt: heard - 31 * DAY, endsAt: heard, verifiedAt: heard - DAY })],
    });
    expect(written([over], from(APPLE))).toMatchObject([{ refreshAt: NOW }]);
    const expired = stored(over, { refreshAt: heard, bundleIdentifier: BUNDLE });
    expect(written([over], from(APPLE), expired)).toMatchObject([{ refresh: { from: heard, to: null } }]);
  });
  test("that was put off, and not asked for, gives way to a renewal", () => {
    const monthAfterItsStart = END;
    for (const refreshAt of [NOW - DAY, NOW + 5000, NOW + HOUR, AHEAD])
      expect(written([renewed], from(APPLE), waiting(refreshAt))).toMatchObject([
        { refreshAt: monthAfterItsStart, askedForAt: null },
      ]);
  });
  test("that was put off stays put off while the same facts come again by themselves", () => {
    expect(written([purchase], from(APPLE), waiting(PUT_OFF))).toEqual([]);
  });
  test("stays where another purchase only mentions it as replaced, whose token is not its own", () => {
    const replaced = stored(android({ key: "old" }), { refreshAt: JUST_AFTER });
    const replacing = android({ key: "new" });
    const mentioned = mentionedPurchase(replaced.purchase, purchaseKey("new"));
    expect(
      written([replacing, mentioned], from(GOOGLE), replaced).map((one) => [one.purchase.key, one.refresh]),
    ).toEqual([
      ["new", { from: null, to: { at: JUST_AFTER, source: GOOGLE } }],
      ["old", null],
    ]);
  });
});

describe("a refresh that the store answered", () => {
  test("is followed by the next after the question, also where the answer brings no news", () => {
    expect(written([purchase], from(APPLE, { askedAt: AHEAD }), waiting(AHEAD))).toMatchObject([
      { refresh: { from: AHEAD, to: { at: JUST_AFTER, source: APPLE } }, refreshAt: JUST_AFTER },
    ]);
  });
  test("is followed by the next after what the store has said since", () => {
    const later = stored(aPurchase({ lines: [aLine({ verifiedAt: JUST_AFTER })] }), { refreshAt: AHEAD });
    expect(written([purchase], from(APPLE, { askedAt: AHEAD }), later)).toMatchObject([
      { refresh: { from: AHEAD, to: { at: MINUTES_AFTER, source: APPLE } }, refreshAt: MINUTES_AFTER },
    ]);
  });
  test("stays where it was put to the next time before, and nothing is written", () => {
    expect(written([purchase], from(APPLE, { askedAt: AHEAD }), waiting(JUST_AFTER))).toEqual([]);
  });
});

describe("a refresh that somebody has asked for at Google's", () => {
  const said = (verifiedAt: Instant, line: Partial<Line> = {}) =>
    android({ key: "1", lines: [aLine({ ...line, verifiedAt })] });
  const pass = { nature: "non_consumable", endsAt: null } as const;

  test.each<[what: string, before: Partial<Line>, line: Partial<Line>]>([
    ["of a subscription", {}, { willRenew: false }],
    ["of a one-time product, of whose token it is the last copy", pass, { ...pass, quantity: 2 }],
  ])("stays where an answer from before is stored after, with news: %s", (_, before, line) => {
    const asked = stored(said(NOW - DAY, before), { refreshAt: NOW, askedForAt: NOW });
    const overdue = { ...asked, refreshAt: NOW - HOUR };
    // One that was overdue is made at the time of the question, so that it is not the one that was just answered.
    for (const askedAt of [null, NOW - 1])
      for (const known of [asked, overdue])
        expect(written([said(NOW - 1, line)], from(GOOGLE, { askedAt }), known)).toMatchObject([
          { refreshAt: NOW, askedForAt: NOW },
        ]);
    expect(written([said(NOW, line)], from(GOOGLE), asked)).toMatchObject([{ askedForAt: null }]);
  });
  test("stays at its own time, which is before the question, where an answer from before both comes", () => {
    const refreshAt = NOW - HOUR / 2;
    const known = stored(said(NOW - DAY, {}), { refreshAt, askedForAt: NOW });
    expect(written([said(NOW - HOUR, { willRenew: false })], from(GOOGLE), known)).toMatchObject([
      { refresh: null, refreshAt, askedForAt: NOW },
    ]);
  });
  test("is put off by an answer to it, however long it was due, and taken away where nothing can be asked", () => {
    const known = stored(said(NOW - DAY, {}), { refreshAt: NOW - HOUR, askedForAt: NOW });
    expect(written([said(NOW, { willRenew: false })], from(GOOGLE), known)).toMatchObject([
      { refreshAt: JUST_AFTER, askedForAt: null },
    ]);
    const unasked = from(GOOGLE, { canAsk: false });
    expect(written([said(NOW - 1, { willRenew: false })], unasked, known)).toMatchObject([
      { ask: null, askedForAt: null },
    ]);
  });
});

describe("a notification that is newer than Google's answer", () => {
  const MINUTE = 60_000;
  const [SOON, LATER] = [NOW + MINUTE, NOW + 10 * MINUTE];
  const asking = (...askAgainAt: readonly Instant[]) => from(GOOGLE, { askAgainAt });
  const saidAt = (verifiedAt: Instant, line: Partial<Line> = {}) =>
    android({ key: "1", lines: [aLine({ ...line, verifiedAt })] });
  const known = (refreshAt: Instant, ...askAgainAt: readonly Instant[]) =>
    stored(saidAt(NOW - HOUR), { refreshAt, askAgainAt });
  /** The purchase to write after an answer of a moment, by default NOW. */
  const heard = (origin: FactsOrigin, before: StoredPurchase, at = NOW, line: Partial<Line> = {}) =>
    written([saidAt(at, line)], origin, before)[0];
  const cancelled = { willRenew: false };

  test.each<[what: string, refreshAt: Instant, next: Instant]>([
    ["later", NOW + DAY, SOON],
    ["between the two", NOW + 5 * MINUTE, SOON],
    ["within the minute", NOW + 30_000, NOW + 30_000],
    ["overdue", NOW - 30_000, SOON],
  ])("is followed by two questions, also where one is scheduled: %s", (_, refreshAt, next) => {
    expect(heard(asking(SOON, LATER), known(refreshAt))).toMatchObject({
      refresh: next === refreshAt ? null : { from: refreshAt, to: { at: next, source: GOOGLE } },
      refreshAt: next,
      askAgainAt: [SOON, LATER],
    });
  });
  test("is followed by two, although the answer was stored before", () => {
    const same = stored(saidAt(NOW), { refreshAt: NOW + 30_000 });
    expect(heard(asking(SOON, LATER), same)).toMatchObject({
      refreshAt: NOW + 30_000,
      askAgainAt: [SOON, LATER],
    });
    const asked = { ...same, refreshAt: SOON, askAgainAt: [SOON, LATER] };
    expect(heard(asking(SOON, LATER), asked)).toBeUndefined();
    expect(heard(asking(LATER), asked)).toBeUndefined();
    expect(heard(asking(LATER + 1), asked)).toMatchObject({ refresh: null, askAgainAt: [SOON, LATER + 1] });
  });
  test("is followed by one that is left, beside a scheduled one before it", () => {
    expect(heard(asking(LATER), known(NOW + DAY))).toMatchObject({
      refresh: { from: NOW + DAY, to: { at: LATER, source: GOOGLE } },
      askAgainAt: [LATER],
    });
    expect(heard(asking(LATER), known(NOW + 5 * MINUTE))).toMatchObject({
      refresh: null,
      refreshAt: NOW + 5 * MINUTE,
      askAgainAt: [LATER],
    });
  });
  test("asks nothing where the package cannot be asked", () => {
    const closed = { ...asking(SOON, LATER), canAsk: false };
    expect(heard(closed, known(NOW + DAY, LATER))).toMatchObject({
      refresh: { from: NOW + DAY, to: null },
    });
  });
  test.each<[what: string, asked: readonly Instant[], left: readonly Instant[]]>([
    ["the later one named first", [LATER, SOON], [SOON, LATER]],
    ["both at one time", [SOON, SOON], [SOON]],
    ["the first at the time of the answer", [NOW, SOON], [SOON]],
    ["the second at the time of the answer", [SOON, NOW], [SOON]],
  ])("is followed by what is later than the answer, in the order of time: %s", (_, asked, left) => {
    expect(heard(asking(...asked), known(NOW + DAY))).toMatchObject({
      refresh: { from: NOW + DAY, to: { at: left[0], source: GOOGLE } },
      askAgainAt: left,
    });
  });
  test("leaves the refresh as it is where both times are over", () => {
    expect(heard(asking(NOW - MINUTE, NOW), known(NOW + DAY))).toMatchObject({
      refresh: null,
      refreshAt: NOW + DAY,
    });
  });
  test("keeps the second question when the first was answered, by whatever made the service ask Google", () => {
    for (const askedAt of [null, SOON])
      expect(heard(from(GOOGLE, { askedAt }), known(SOON, SOON, LATER), SOON)).toMatchObject({
        refresh: { from: SOON, to: { at: LATER, source: GOOGLE } },
        askAgainAt: [LATER],
      });
    const last = heard(from(GOOGLE, { askedAt: LATER }), known(LATER, LATER), LATER);
    expect(last?.refresh?.to?.at).toBeGreaterThan(NOW + DAY);
    expect(last?.askAgainAt).toEqual([]);
  });
  test("keeps both questions, whatever is asked and answered before", () => {
    const waits = known(SOON, SOON, LATER);
    for (const askedAt of [null, SOON - 1])
      // What is on hold or paused with an end yet to come has a step of its own a day after each answer.
      for (const line of [{}, cancelled, { standing: "billing_retry" }, { standing: "paused" }] as const)
        expect(heard(from(GOOGLE, { askedAt }), waits, SOON - 1, line)).toMatchObject({
          refresh: null,
          refreshAt: SOON,
          askAgainAt: [SOON, LATER],
        });
    // A scheduled step between the two.
    const between = heard(
      from(GOOGLE, { askedAt: LATER - 1 }),
      known(LATER - 1, LATER),
      LATER - 1,
      cancelled,
    );
    expect(between).toMatchObject({ refreshAt: LATER, askAgainAt: [LATER] });
  });
  test("that comes late leaves the questions of another one: the first of all, and the last", () => {
    const waits = known(SOON, SOON, LATER);
    for (const late of [asking(SOON + 1), asking(SOON + 1, SOON + 2)])
      expect(heard(late, waits, NOW, cancelled)).toMatchObject({
        refreshAt: SOON,
        askAgainAt: [SOON, LATER],
      });
    expect(heard(asking(SOON - 2, LATER + 2), waits)).toMatchObject({
      refreshAt: SOON - 2,
      askAgainAt: [SOON - 2, LATER + 2],
    });
  });
});

describe("a purchase whose erasure is lifted", () => {
  const SOON = NOW + 5000;
  const soonAfter = ({ verifiedAt }: Purchase): Instant => Math.max(NOW, verifiedAt) + 5000;
  /** The refresh of a purchase that was erased, after a request that may lift its erasure. */
  const lifted = (
    said: Purchase,
    source: AskSource | null,
    { lifts = true, isErased = true, canAsk = true } = {},
  ) => {
    const origin = source === null ? null : from(source, { canAsk });
    const erased = isErased ? [said] : [];
    const { change } = plan({ facts: { purchases: [said], origin }, erased, liftsErasures: lifts });
    return change?.purchases.map(({ refresh, refreshAt, askedForAt }) => {
      expect(askedForAt).toBe(lifts && isErased && refreshAt === soonAfter(said) ? refreshAt : null);
      return refresh?.to ?? null;
    });
  };
  test("is asked about soon at the App Store: a device may hold a transaction from before its refund", () => {
    expect(lifted(purchase, APPLE)).toEqual([{ at: SOON, source: APPLE }]);
    const inSandbox = aPurchase({ environment: "sandbox" });
    expect(lifted(inSandbox, APPLE)).toEqual([{ at: SOON, source: APPLE }]);
  });
  test("is asked about soon after its transaction was signed, if that is a little ahead of the clock", () => {
    const signedAt = NOW + 6000;
    const ahead = aPurchase({ lines: [aLine({ verifiedAt: signedAt })] });
    expect(lifted(ahead, APPLE)).toEqual([{ at: signedAt + 5000, source: APPLE }]);
  });
  test("is asked about as ever where nothing was erased, or nothing is lifted", () => {
    for (const options of [{ isErased: false }, { lifts: false }])
      expect(lifted(purchase, APPLE, options)).toEqual([{ at: AHEAD, source: APPLE }]);
  });
  test("is asked about as ever at Google, which has answered just now", () => {
    expect(lifted(android(), GOOGLE)).toEqual([{ at: JUST_AFTER, source: GOOGLE }]);
  });
  test("is not asked about where its store cannot be: of Xcode, without a key, without an origin", () => {
    const [xcode] = lifted(aPurchase({ environment: "xcode" }), APPLE) ?? [];
    expect(xcode?.at).not.toBe(SOON);
    expect(lifted(purchase, APPLE, { canAsk: false })).toEqual([null]);
    expect(lifted(purchase, null)).toEqual([null]);
  });
});
