import { joinAll, joinPurchases } from "../../lib/entitlements/join.ts";
import { mentionedPurchase, type Line, type Purchase } from "../../lib/entitlements/purchase.ts";
import { isoTime } from "../../lib/entitlements/time.ts";
import { nextRefresh } from "../../lib/freshness/refresh-times.ts";
import { customerId } from "../../lib/identifiers.ts";
import {
  aCatalog,
  aLine,
  aProduct,
  aPurchase,
  aRenewal,
  DAY,
  entitlementsAt,
  NOW,
} from "../../testing/support/purchases.ts";

const HOUR = 3_600_000;
const SOMEBODY = customerId("00000000-0000-7000-8000-000000000001");
const CATALOG = aCatalog([
  aProduct({ productIdentifier: "basic", grants: ["basic", "premium"] }),
  aProduct({ productIdentifier: "plus", grants: ["plus", "premium"] }),
]);

const at = (moment: number, purchase: Purchase) =>
  Object.fromEntries(
    entitlementsAt(moment, [{ customerIdentifier: SOMEBODY, assertedBy: null, purchase }], CATALOG).map(
      (entitlement) => [entitlement.identifier, entitlement],
    ),
  );
const period = (id: string, product: string, startsAt: number, endsAt: number, more: Partial<Line> = {}) =>
  aLine({
    transactionIdentifier: id,
    event: `w${id}`,
    productIdentifier: product,
    startsAt,
    purchasedAt: startsAt,
    endsAt,
    verifiedAt: startsAt,
    ...more,
  });

/** The first period's end; the next one is charged 20 hours earlier, and the upgrade follows eight hours after that. */
const END = NOW;
const UPGRADED = END - 12 * HOUR;
const PLUS_ENDS = END + 29 * DAY;
const first = period("1", "basic", END - 30 * DAY, END);
const charged = (more: Partial<Line> = {}) =>
  period("2", "basic", END, END + 30 * DAY, { verifiedAt: END - 20 * HOUR, ...more });
const plus = period("3", "plus", UPGRADED, PLUS_ENDS);
const lineage = (...lines: readonly Line[]): Purchase => aPurchase({ lines });

describe("a period that was charged ahead of time, and overtaken by an upgrade before its start", () => {
  const refundedAt = (revokedAt: number) => ({ revokedAt, revokedSince: END + 2 * HOUR });

  test.each<[what: string, said: Partial<Line>]>([
    ["says nothing of it", {}],
    ["signs it again after the upgrade", { verifiedAt: UPGRADED + HOUR }],
    ["signs it again after its start", { verifiedAt: END + HOUR }],
    ["refunds it with the upgrade", { ...refundedAt(UPGRADED + 2000), verifiedAt: END + 2 * HOUR }],
    ["refunds it after its start", { ...refundedAt(END + HOUR), verifiedAt: END + 2 * HOUR }],
    ["marks it as upgraded", { standing: "expired", verifiedAt: UPGRADED }],
    ["marks it as upgraded later", { standing: "expired", verifiedAt: END + HOUR }],
  ])("gives nothing, and takes nothing from the upgrade: the store %s", (_, said) => {
    const renewal = aRenewal({ periodEndsAt: PLUS_ENDS, willRenew: true, signedAt: UPGRADED });
    const known = { ...lineage(first, charged(said), plus), renewal };
    expect(at(END - HOUR, known)).toMatchObject({
      basic: { status: "active", expiresAt: isoTime(END), willRenew: null },
      plus: { status: "active", expiresAt: isoTime(PLUS_ENDS), willRenew: true },
    });
    expect(at(END + DAY, known)).toMatchObject({
      basic: { status: "expired", expiresAt: isoTime(END) },
      plus: { status: "active", expiresAt: isoTime(PLUS_ENDS), willRenew: true },
      premium: { productIdentifier: "plus", expiresAt: isoTime(PLUS_ENDS) },
    });
    expect(at(PLUS_ENDS, known)).toMatchObject({ premium: { status: "expired", productIdentifier: "plus" } });
  });
  test("stays so when it is signed again", () => {
    const known = lineage(first, charged(), plus);
    const again = joinPurchases(known, lineage(charged({ verifiedAt: END + HOUR })));
    expect(at(END + DAY, again)["plus"]).toMatchObject({ status: "active", expiresAt: isoTime(PLUS_ENDS) });
  });
  test("also where the first period is marked as upgraded, whenever that was signed", () => {
    for (const verifiedAt of [UPGRADED, END - HOUR, END + DAY]) {
      const known = lineage({ ...first, standing: "expired", verifiedAt }, charged(), plus);
      expect(at(END + 2 * DAY, known)).toMatchObject({ basic: { active: false }, plus: { active: true } });
    }
  });
  test("also where another period that began later ends at its start", () => {
    const later = period("4", "maps", UPGRADED + HOUR, END);
    for (const lines of [
      [later, first],
      [first, later],
    ])
      expect(at(END + DAY, lineage(...lines, charged(), plus))["basic"]).toMatchObject({ active: false });
  });
  test("does not end the grace period of the upgrade, marked or not", () => {
    const end = UPGRADED + 7 * DAY;
    const renewal = aRenewal({ periodEndsAt: end, graceEndsAt: end + 6 * DAY, signedAt: end + HOUR });
    for (const said of [{}, { standing: "expired" as const, verifiedAt: end + 2 * HOUR }]) {
      const lines = [first, charged(said), period("3", "plus", UPGRADED, end)];
      expect(at(end + 3 * HOUR, aPurchase({ renewal, lines }))["plus"]?.status).toBe("grace_period");
    }
  });
  test("stays so when the person comes back to its product, and the next charge is known", () => {
    const before = period("0", "basic", END - 60 * DAY, END - 30 * DAY);
    const back = period("5", "basic", PLUS_ENDS, PLUS_ENDS + 30 * DAY, { verifiedAt: PLUS_ENDS - 23 * HOUR });
    for (const said of [{}, { ...refundedAt(UPGRADED), verifiedAt: UPGRADED + 1 }]) {
      const known = lineage(before, first, charged(said), plus);
      const [joined] = joinAll([known, lineage(back)]);
      expect(at(PLUS_ENDS - HOUR, joined ?? known)["plus"]).toMatchObject({
        status: "active",
        expiresAt: isoTime(PLUS_ENDS),
      });
    }
  });
  test("grants nothing after an upgrade that is over, or was refunded after the period's start", () => {
    const over = lineage(first, charged(), period("3", "plus", UPGRADED, UPGRADED + 7 * DAY));
    expect(at(UPGRADED + 8 * DAY, over)["premium"]?.status).toBe("expired");
    const refunded = { ...plus, revokedAt: END + DAY, revokedSince: END + DAY };
    expect(at(END + 2 * DAY, lineage(first, charged(), refunded))["premium"]?.active).toBe(false);
  });
  test("is not the one that is asked about: the upgrade is, at its end", () => {
    const renewal = aRenewal({ periodEndsAt: PLUS_ENDS, willRenew: true, signedAt: UPGRADED });
    const refreshes = (...lines: readonly Line[]) => {
      const purchase = aPurchase({ renewal, lines });
      const found = [];
      for (let after = UPGRADED + HOUR; found.length < 6;) {
        const next = nextRefresh(purchase, after);
        if (next === null) break;
        found.push(next);
        after = next.at;
      }
      return found;
    };
    const expected = refreshes(first, plus);
    expect(expected.map(({ at: time }) => time)).toContain(PLUS_ENDS - HOUR);
    for (const said of [{}, refundedAt(UPGRADED), { standing: "expired" as const }])
      expect(refreshes(first, charged(said), plus)).toEqual(expected);
  });
});

describe("a period that was charged ahead of time and overtaken, where the period before it is not known,", () => {
  // As in a real receipt: the year is bought hours before the start of the month that was charged, and Apple marks and
  // refunds that month hours after its start.
  const YEAR_ENDS = UPGRADED + 365 * DAY;
  const year = period("3", "plus", UPGRADED, YEAR_ENDS);
  const named = aRenewal({ periodEndsAt: YEAR_ENDS, willRenew: true, signedAt: UPGRADED + 1000 });
  const counts = { status: "active", productIdentifier: "plus", expiresAt: isoTime(YEAR_ENDS) };
  const known = (more: Partial<Line> = {}, said: Partial<typeof named> = {}): Purchase => ({
    ...lineage(charged(more), year),
    renewal: { ...named, ...said },
  });

  test.each<[what: string, more: Partial<Line>, said: Partial<typeof named>]>([
    ["with the upgrade's own renewal info", {}, {}],
    ["when asked after its start", { verifiedAt: END + HOUR }, { signedAt: END + HOUR }],
    ["when asked long after", {}, { signedAt: END + 200 * DAY }],
    ["whether it will renew or not", {}, { willRenew: false }],
    ["also where it marks the month", { standing: "expired", verifiedAt: END + 5 * HOUR }, {}],
  ])("takes nothing from the year that the store names as the most recent purchase: %s", (_, more, said) => {
    for (const moment of [END - HOUR, END + DAY, END + 40 * DAY, YEAR_ENDS - 1])
      expect(at(moment, known(more, said))["plus"]).toMatchObject(counts);
    expect(at(END + 40 * DAY, known(more, said))["premium"]).toMatchObject(counts);
  });
  test.each<[what: string, more: Partial<Line>, said: Partial<typeof named>]>([
    ["the renewal info was signed before the charge", {}, { signedAt: END - 21 * HOUR }],
    ["it names no date", {}, { periodEndsAt: null }],
    ["it names the other period", {}, { periodEndsAt: END + 30 * DAY }],
    [
      "that was refunded since, which an upgrade is too",
      { revokedAt: END + HOUR, revokedSince: END + HOUR },
      {},
    ],
    [
      "that was refunded since the renewal info was signed",
      { revokedAt: END + HOUR, revokedSince: END + HOUR },
      { signedAt: END + HOUR - 1 },
    ],
  ])("ends the year as an upgrade from it would, where %s", (_, more, said) => {
    expect(at(END + 40 * DAY, known(more, said))["plus"]).toMatchObject({
      status: "expired",
      expiresAt: isoTime(END),
    });
  });
  test.each([END + HOUR, END + 35 * DAY])(
    "leaves the year where the month is refunded, and the store names the year since",
    (revokedAt) => {
      const refunded = { revokedAt, revokedSince: revokedAt, verifiedAt: revokedAt };
      for (const signedAt of [revokedAt, revokedAt + DAY])
        for (const moment of [revokedAt, revokedAt + DAY, END + 40 * DAY, YEAR_ENDS - 1])
          expect(at(moment, known(refunded, { signedAt }))["plus"]).toMatchObject(counts);
    },
  );
  test("leaves the upgrade its renewal, and its grace period, where what it overtook is longer", () => {
    const never = period("2", "basic", END, END + 365 * DAY, { verifiedAt: END - 20 * HOUR });
    const month = period("3", "plus", UPGRADED, PLUS_ENDS);
    const said = (changes: Partial<typeof named>): Purchase => ({
      ...lineage(never, month),
      renewal: aRenewal({ periodEndsAt: PLUS_ENDS, willRenew: true, signedAt: UPGRADED, ...changes }),
    });
    expect(at(END + DAY, said({}))["plus"]).toMatchObject({ status: "active", willRenew: true });
    const graceEndsAt = PLUS_ENDS + 16 * DAY;
    const failed = said({ isInBillingRetry: true, graceEndsAt, signedAt: PLUS_ENDS });
    expect(at(PLUS_ENDS + DAY, failed)["plus"]).toMatchObject({
      status: "grace_period",
      expiresAt: isoTime(graceEndsAt),
    });
  });
  test("ends the year where it marks the year as upgraded", () => {
    const left = { ...lineage(charged(), { ...year, standing: "expired" as const }), renewal: named };
    expect(at(END + 40 * DAY, left)["plus"]).toMatchObject({ status: "expired" });
  });
  test("leaves the year to be asked about at its own end", () => {
    const purchase = known();
    const times = [];
    for (let after = END + 100 * DAY; times.length < 12;) {
      const next = nextRefresh(purchase, after, after);
      if (next === null) break;
      times.push(next.at);
      after = next.at;
    }
    expect(times).toContain(YEAR_ENDS - HOUR);
  });
});

describe("an extension that is a transaction of its own, and then an upgrade", () => {
  test("leaves the year that the store names as the most recent purchase", () => {
    const extension = period("2", "basic", END, END + 14 * DAY, { verifiedAt: END - 20 * DAY });
    const year = period("3", "plus", END - 10 * DAY, END + 355 * DAY);
    const renewal = aRenewal({ periodEndsAt: END + 355 * DAY, signedAt: END - 10 * DAY });
    const known = { ...lineage(first, extension, year), renewal };
    for (const moment of [END - 5 * DAY, END + DAY, END + 40 * DAY])
      expect(at(moment, known)["premium"]).toMatchObject({ productIdentifier: "plus", active: true });
  });
});

describe("a period of another product that was charged ahead of time, and overtaken before its start", () => {
  test.each<[what: string, said: Partial<Line>]>([
    ["says nothing of it", {}],
    ["refunds it with the upgrade", { revokedAt: UPGRADED, revokedSince: UPGRADED, verifiedAt: UPGRADED }],
    [
      "refunds it after its start",
      { revokedAt: END + HOUR, revokedSince: END + HOUR, verifiedAt: END + HOUR },
    ],
    ["marks it as upgraded", { standing: "expired", verifiedAt: UPGRADED }],
  ])("takes nothing from what overtook it: the store %s", (_, said) => {
    const counts = { active: true, productIdentifier: "plus", expiresAt: isoTime(PLUS_ENDS) };
    const downgrade = charged(said);
    const running = period("1", "plus", END - 30 * DAY, END);
    const again = lineage(running, downgrade, plus);
    expect(at(END + 5 * DAY, again)["premium"]).toMatchObject(counts);
    const crossgrade = charged({ ...said, productIdentifier: "yearly", endsAt: END + 365 * DAY });
    expect(at(END + 5 * DAY, lineage(first, crossgrade, plus))["premium"]).toMatchObject(counts);
  });
});

describe("a period that was charged ahead, of which the period before is not known, beside what was bought before it began", () => {
  const HOURS_BEFORE = PLUS_ENDS - 9 * HOUR;
  const renewed = (startsAt = PLUS_ENDS, more: Partial<Line> = {}) =>
    period("4", "plus", startsAt, startsAt + 30 * DAY, { verifiedAt: PLUS_ENDS - 10 * HOUR, ...more });
  const told = (...lines: readonly Line[]) => {
    const renewal = aRenewal({
      periodEndsAt: PLUS_ENDS + 30 * DAY,
      willRenew: true,
      signedAt: PLUS_ENDS - 10 * HOUR,
    });
    return at(HOURS_BEFORE, { ...lineage(...lines), renewal });
  };
  const runs = { active: true, startsAt: isoTime(UPGRADED), expiresAt: isoTime(PLUS_ENDS), willRenew: true };

  test.each([
    ["says no more of it", END - 20 * HOUR],
    ["signs it again after its start", END + DAY],
  ])("never ran, where the other was renewed at its end, and the store %s", (_, verifiedAt) => {
    const entitlements = told(charged({ verifiedAt }), plus, renewed());
    expect(entitlements["plus"]).toMatchObject(runs);
    expect(entitlements["basic"]).toBeUndefined();
  });
  test("never ran, also where the other was upgraded since", () => {
    const upgraded = { ...plus, standing: "expired" as const, verifiedAt: HOURS_BEFORE - HOUR };
    expect(told(charged(), upgraded, renewed())["basic"]).toBeUndefined();
  });
  test("counts where the other ends no more than 48 hours after it began: the renewal may be overtaken itself", () => {
    const end = END + 48 * HOUR;
    const short = (endsAt: number) =>
      at(end - HOUR, lineage(charged(), period("3", "plus", UPGRADED, endsAt), renewed(endsAt)));
    expect(short(end)["basic"]).toMatchObject({ active: true });
    expect(short(end + 1)["basic"]).toBeUndefined();
  });
  test.each<[what: string, lines: readonly Line[]]>([
    ["what follows the other begins at another time", [charged(), plus, renewed(PLUS_ENDS + 1)]],
    [
      "what follows is of another product",
      [charged(), plus, renewed(PLUS_ENDS, { productIdentifier: "basic" })],
    ],
    [
      "the other was refunded by its start",
      [charged(), { ...plus, refundedBy: END, revokedSince: END }, renewed()],
    ],
    [
      "the other was refunded, given back beside it, and refunded again",
      [
        charged(),
        { ...plus, revokedAt: END + 20 * DAY, refundedBy: END + 20 * DAY, revokedSince: END - HOUR },
        renewed(),
      ],
    ],
    [
      "it was refunded itself, and given back",
      [charged({ refundedBy: END + 2 * HOUR, revokedSince: END + 2 * HOUR }), plus, renewed()],
    ],
    [
      "the other was given back beside it after a refund",
      [charged(), { ...plus, refundedBy: END - HOUR, revokedSince: END - HOUR }, renewed()],
    ],
  ])("counts where %s", (_, lines) => {
    expect(told(...lines)["basic"]).toMatchObject({ startsAt: isoTime(END) });
  });
});

test("a period that was refunded and given back runs beside the one that was bought just before it and renewed at its end", () => {
  const givenBack = { refundedBy: END + 2 * HOUR, revokedSince: END + 2 * HOUR };
  const beside = (longer: Partial<Line>, moment: number, began = UPGRADED) => {
    const other = period("3", "plus", began, PLUS_ENDS);
    const renewal = period("4", "plus", PLUS_ENDS, PLUS_ENDS + 30 * DAY, {
      verifiedAt: PLUS_ENDS - 10 * HOUR,
    });
    return at(moment, lineage(charged({ ...givenBack, ...longer }), other, renewal));
  };
  for (const longer of [{}, { endsAt: END + 365 * DAY }])
    for (const before of [HOUR, 9 * HOUR]) {
      const { basic, plus: other } = beside(longer, PLUS_ENDS - before);
      expect(basic).toMatchObject({ active: true });
      expect(other).toMatchObject({
        active: true,
        startsAt: isoTime(UPGRADED),
        expiresAt: isoTime(PLUS_ENDS),
      });
    }
  const ended = { status: "expired", expiresAt: isoTime(END) };
  expect(beside({}, PLUS_ENDS - HOUR, END - 48 * HOUR)["plus"]).toMatchObject({ active: true });
  expect(beside({}, PLUS_ENDS - HOUR, END - 48 * HOUR - 1)["plus"]).toMatchObject(ended);
  const again = { revokedAt: END + 20 * DAY, verifiedAt: END + 20 * DAY };
  expect(beside(again, END + 21 * DAY)["plus"]).toMatchObject({ active: true });
});

describe("a period counts that starts at the end of the one before", () => {
  const basicAt = (...lines: readonly Line[]) => at(END + DAY, lineage(...lines))["basic"];
  const counts = { status: "active", expiresAt: isoTime(END + 30 * DAY) };

  test("where the other product was refunded by then", () => {
    const refundedBy = (revokedAt: number) => ({ ...plus, revokedAt, revokedSince: END + 2 * HOUR });
    expect(basicAt(first, charged(), refundedBy(END))).toMatchObject(counts);
    expect(basicAt(first, charged(), refundedBy(END + 1))).toMatchObject({ status: "expired" });
  });
  test("where the other product began more than 48 hours before", () => {
    const began = (hours: number) => period("3", "plus", END - hours * HOUR, END + HOUR);
    expect(basicAt(first, charged(), began(48 + 1))).toMatchObject(counts);
    expect(basicAt(first, charged(), began(48))).toMatchObject({ status: "expired" });
  });
  test("where the other product began with it, or ended by then", () => {
    expect(basicAt(first, charged(), period("3", "plus", END, END + 7 * DAY))).toMatchObject(counts);
    expect(basicAt(period("3", "plus", END, END + 7 * DAY), charged(), first)).toMatchObject(counts);
    expect(basicAt(first, charged(), period("3", "plus", UPGRADED, END))).toMatchObject(counts);
    expect(basicAt(first, charged(), period("3", "plus", UPGRADED, END + 1))).toMatchObject({
      status: "expired",
    });
  });
  test("where what began in between is of its own product", () => {
    expect(basicAt(first, charged(), period("3", "basic", UPGRADED, END + DAY))).toMatchObject(counts);
  });
  test("where the other product was before: what follows is a downgrade and its renewals", () => {
    const before = period("0", "plus", END - 31 * DAY, END + DAY);
    expect(basicAt(before, first, charged())).toMatchObject(counts);
    const together = period("0", "plus", END - DAY, END + DAY);
    expect(basicAt(together, { ...first, startsAt: END - DAY }, charged())).toMatchObject(counts);
  });
  test("where no period ends at its start", () => {
    expect(basicAt({ ...first, endsAt: END - 1 }, charged(), plus)).toMatchObject({
      expiresAt: isoTime(END + 30 * DAY),
    });
  });
  test("where what began in the 48 hours before was overtaken itself", () => {
    // Periods of a day, as TestFlight has them.
    const [one, two] = [{ ...first, startsAt: END - DAY }, charged({ endsAt: END + DAY })];
    const upgrade = period("3", "plus", UPGRADED, UPGRADED + DAY);
    const renewal = period("4", "plus", UPGRADED + DAY, UPGRADED + 2 * DAY);
    expect(at(UPGRADED + DAY + HOUR, lineage(one, two, upgrade, renewal))).toMatchObject({
      basic: { active: false },
      plus: { active: true, expiresAt: isoTime(UPGRADED + 2 * DAY) },
    });
  });
  test("where the other is a pass", () => {
    const pass = { ...plus, nature: "non_renewing" as const };
    expect(basicAt(first, charged(), pass)).toMatchObject(counts);
  });
  test("or is a pass itself", () => {
    const pass = charged({ nature: "non_renewing" });
    expect(basicAt(first, pass, plus)).toMatchObject({ expiresAt: isoTime(END + 30 * DAY) });
  });
  test("where it was upgraded, and the upgrade ends with its lineage, whose replacement lies ahead", () => {
    // The upgrade without its mark; its renewal is charged under a new lineage a day before.
    const renewsAt = END + 7 * DAY;
    const older = aPurchase({
      key: "8",
      lines: [period("1", "basic", END - 6 * DAY, END + 300 * DAY), period("2", "plus", END, renewsAt)],
      renewal: aRenewal({ periodEndsAt: renewsAt, renewsInto: "plus", signedAt: END }),
    });
    const renewed = period("3", "plus", renewsAt, renewsAt + 7 * DAY, { verifiedAt: renewsAt - DAY });
    const newer = aPurchase({ key: "9", lines: [renewed] });
    const replaced = mentionedPurchase(older, newer.key, renewsAt);
    const both = entitlementsAt(
      renewsAt - DAY / 2,
      joinAll([older, newer, replaced]).map((purchase) => ({
        customerIdentifier: SOMEBODY,
        assertedBy: null,
        purchase,
      })),
      CATALOG,
    );
    expect(both.find(({ identifier }) => identifier === "basic")).toMatchObject({ active: false });
    expect(both.find(({ identifier }) => identifier === "plus")).toMatchObject({ active: true });
  });
  test("where the other product was signed last in another lineage, so that it counts there", () => {
    const moved = aPurchase({ key: "9", lines: [{ ...plus, verifiedAt: END }] });
    const here = aPurchase({ key: "8", lines: [first, charged(), plus] });
    const both = entitlementsAt(
      END + DAY,
      [here, moved].map((purchase) => ({ customerIdentifier: SOMEBODY, assertedBy: null, purchase })),
      CATALOG,
    );
    expect(both.filter(({ active }) => active).map(({ identifier }) => identifier)).toEqual([
      "basic",
      "plus",
      "premium",
    ]);
  });
});

test("a period restored after its end does not bring its grace period back once another product followed", () => {
  const restored = period("9", "basic", END + 5 * DAY, END, { verifiedAt: END + 5 * DAY });
  const renewal = aRenewal({ periodEndsAt: END, graceEndsAt: END + 16 * DAY, signedAt: END + HOUR });
  const next = period("3", "plus", END + 2 * DAY, END + 32 * DAY);
  const known = aPurchase({ renewal, lines: [restored, next] });
  expect(at(END + 6 * DAY, known)["basic"]?.active).toBe(false);
});

describe("a period that was refunded before it began", () => {
  test("does not end the upgrade, although the period before it is not known", () => {
    const refunded = charged({ revokedAt: UPGRADED, revokedSince: UPGRADED, verifiedAt: UPGRADED });
    for (const moment of [UPGRADED + HOUR, END + HOUR, PLUS_ENDS - 1])
      expect(at(moment, lineage(refunded, plus))).toMatchObject({
        plus: { status: "active", expiresAt: isoTime(PLUS_ENDS) },
        premium: { status: "active", productIdentifier: "plus" },
      });
    expect(at(PLUS_ENDS, lineage(refunded, plus))).toMatchObject({ plus: { status: "expired" } });
  });
  test("does not put an end to the upgrade's grace period", () => {
    const refunded = charged({ endsAt: PLUS_ENDS + DAY, revokedAt: END, revokedSince: END, verifiedAt: END });
    const renewal = aRenewal({
      periodEndsAt: PLUS_ENDS,
      willRenew: true,
      isInBillingRetry: true,
      graceEndsAt: PLUS_ENDS + 6 * DAY,
      signedAt: PLUS_ENDS,
    });
    expect(at(PLUS_ENDS + DAY, { ...lineage(refunded, plus), renewal })).toMatchObject({
      plus: { status: "grace_period", expiresAt: isoTime(PLUS_ENDS + 6 * DAY) },
    });
  });
  test("ends what ran before, where it began a moment before its refund", () => {
    const refunded = charged({ revokedAt: END + 1, revokedSince: END + 1, verifiedAt: END + 1 });
    expect(at(END + HOUR, lineage(refunded, plus))).toMatchObject({ plus: { status: "expired" } });
  });
});

describe("a period whose refund was reversed", () => {
  const REFUNDED = END - 20 * DAY;
  const yearly = { endsAt: END + 300 * DAY };
  const refunded = { ...first, ...yearly, revokedAt: REFUNDED, revokedSince: REFUNDED, refundedBy: REFUNDED };
  const reversed = { ...first, ...yearly, verifiedAt: END - DAY };
  const beside = (startsAt: number, more: Partial<Line> = {}) =>
    period("3", "plus", startsAt, END - 5 * DAY, { verifiedAt: startsAt, ...more });
  const known = (...lines: readonly Line[]) => joinAll(lines.map((line) => lineage(line)))[0] ?? lineage();

  test("is not ended by another product that was bought after the refund", () => {
    for (const startsAt of [REFUNDED, REFUNDED + DAY])
      for (const more of [{}, { revokedAt: startsAt + DAY, revokedSince: startsAt + DAY }]) {
        const lines = [{ ...refunded, verifiedAt: REFUNDED }, beside(startsAt, more), reversed];
        for (const order of [lines, lines.toReversed()])
          expect(at(END, known(...order))).toMatchObject({
            basic: { status: "active", expiresAt: isoTime(yearly.endsAt) },
          });
      }
  });
  test("was ended by another product that was bought before the refund", () => {
    const lines = [{ ...refunded, verifiedAt: REFUNDED }, beside(REFUNDED - 1), reversed];
    expect(at(END, known(...lines))).toMatchObject({
      basic: { status: "expired", expiresAt: isoTime(REFUNDED - 1) },
    });
  });
  test("is not ended by another product that was bought once it was given back, until the store marks it", () => {
    for (const verifiedAt of [END - 25 * DAY, END - 15 * DAY]) {
      const givenBack = { ...reversed, verifiedAt };
      const refundedBefore = { ...refunded, revokedAt: END - 26 * DAY, refundedBy: END - 26 * DAY };
      const lines = [{ ...refundedBefore, verifiedAt: END - 26 * DAY }, givenBack, beside(END - 15 * DAY)];
      expect(at(END, known(...lines))).toMatchObject({ basic: { expiresAt: isoTime(yearly.endsAt) } });
      const marked = { ...givenBack, standing: "expired" as const, verifiedAt: END - DAY };
      expect(at(END, known(...lines, marked))).toMatchObject({
        basic: { expiresAt: isoTime(END - 15 * DAY) },
      });
    }
  });
  test("was ended by an upgrade that marks it, however late that is signed", () => {
    const lines = [
      { ...refunded, verifiedAt: REFUNDED },
      beside(REFUNDED + DAY),
      { ...reversed, standing: "expired" as const },
    ];
    expect(at(END, known(...lines))).toMatchObject({
      basic: { status: "expired", expiresAt: isoTime(REFUNDED + DAY) },
    });
  });
  test("is asked about at its own end, although what was bought in between is over", () => {
    const renewal = aRenewal({ periodEndsAt: yearly.endsAt, willRenew: true, signedAt: END - DAY });
    const purchase = {
      ...known({ ...refunded, verifiedAt: REFUNDED }, beside(REFUNDED + DAY), reversed),
      renewal,
    };
    expect(nextRefresh(purchase, yearly.endsAt - 2 * HOUR)).toEqual({
      at: yearly.endsAt - HOUR,
      because: "renewal-ahead",
    });
    expect(nextRefresh(purchase, yearly.endsAt)?.at).toBeLessThan(yearly.endsAt + HOUR);
  });
  test("is ended by what took its place while it is refunded", () => {
    const lines = [{ ...refunded, verifiedAt: REFUNDED }, beside(REFUNDED + DAY)];
    expect(at(END, known(...lines))).toMatchObject({
      basic: { status: "revoked", expiresAt: isoTime(REFUNDED) },
    });
  });
  test("is given back where another id of the period was never refunded, and was signed last", () => {
    const copy = { ...reversed, transactionIdentifier: "9", verifiedAt: END - 1 };
    const lines = [{ ...refunded, verifiedAt: REFUNDED }, beside(REFUNDED + DAY), reversed, copy];
    expect(at(END, known(...lines))).toMatchObject({ basic: { status: "active" } });
  });
});

describe("a period that was left for another product, and come back from,", () => {
  // Changes of product at once, in the middle of each period; only the first transaction of the first period is known.
  const BACK = END - 10 * DAY;
  const left = period("2", "plus", END - 20 * DAY, END + 10 * DAY);
  const back = period("3", "basic", BACK, END + 20 * DAY);
  const refundedAt = (revokedAt: number) => ({ revokedAt, revokedSince: revokedAt, verifiedAt: revokedAt });
  const marked = { standing: "expired" as const, verifiedAt: END - 5 * DAY };

  test.each<[what: string, said: Partial<Line>]>([
    ["is marked as upgraded", marked],
    ["is refunded and marked", { ...refundedAt(END - 5 * DAY), ...marked }],
  ])(
    "does not give access again once the last one is refunded, although what it was left for %s",
    (_, said) => {
      const known = lineage(first, { ...left, ...said }, { ...back, ...refundedAt(END - 6 * DAY) });
      for (const moment of [END - 4 * DAY, END - 1])
        expect(at(moment, known)["basic"]).toMatchObject({ status: "revoked", active: false });
    },
  );
  test("ends there too where the last one ends before it", () => {
    const year = { ...first, endsAt: END + 335 * DAY };
    const known = lineage(year, { ...left, ...marked }, back);
    expect(at(END + 19 * DAY, known)["basic"]).toMatchObject({ expiresAt: isoTime(END + 20 * DAY) });
    expect(at(END + 20 * DAY, known)["basic"]?.active).toBe(false);
  });
  test("goes on where nothing began in the upgraded one, or only its own product did", () => {
    const charged = { ...left, ...marked };
    const refunded = refundedAt(END - 6 * DAY);
    const active = { status: "active", expiresAt: isoTime(END) };
    expect(at(END - 1, lineage(first, charged))["basic"]).toMatchObject(active);
    const same = period("3", "plus", BACK, END + 20 * DAY, marked);
    expect(at(END - 1, lineage(first, charged, same))["basic"]).toMatchObject(active);
    const neverBegan = { ...back, ...refundedAt(BACK) };
    expect(at(END - 1, lineage(first, charged, neverBegan))["basic"]).toMatchObject(active);
    const pass = { ...back, ...refunded, productIdentifier: "maps", nature: "non_renewing" as const };
    expect(at(END - 1, lineage(first, charged, pass))["basic"]).toMatchObject(active);
  });
});

describe("a period whose refund was reversed, beside what was bought in between and renews,", () => {
  const REFUNDED = END - 200 * DAY;
  const YEAR_ENDS = END + 160 * DAY;
  const year = (signedAt: number, more: Partial<Line> = {}) =>
    period("1", "basic", END - 205 * DAY, YEAR_ENDS, {
      refundedBy: REFUNDED,
      revokedSince: REFUNDED,
      verifiedAt: signedAt,
      ...more,
    });
  const REVERSED = year(END - 180 * DAY);
  const months = (...starts: readonly number[]) =>
    starts.map((days, index) => period(`${index + 2}`, "plus", END - days * DAY, END - (days - 30) * DAY));
  const known = (...lines: readonly Line[]) => joinAll(lines.map((line) => lineage(line)))[0] ?? lineage();
  const counts = { active: true, status: "active", expiresAt: isoTime(YEAR_ENDS) };

  test.each<[what: string, starts: readonly number[]]>([
    ["once", [195, 165]],
    ["twice", [195, 165, 135]],
    ["five times, of which not all are kept", [195, 165, 135, 105, 75, 45]],
    ["after its payment had failed for three days", [195, 162, 132]],
    ["dated at its charge", [195, 166, 136]],
    ["after a pause", [195, 100]],
  ])("goes on, in any order: %s", (_, starts) => {
    const facts = [REVERSED, ...months(...starts)];
    for (const lines of [facts, facts.toReversed()]) {
      expect(at(END, known(...lines))["basic"]).toMatchObject(counts);
      expect(at(END, lines.map((line) => lineage(line)).reduce(joinPurchases))["basic"]).toMatchObject(
        counts,
      );
    }
  });
  test.each<[what: string, more: Partial<Line>]>([
    ["under its own id", {}],
    ["under another id", { transactionIdentifier: "9", revokedSince: END - 90 * DAY }],
  ])("goes on once a second refund was reversed too, %s", (_, more) => {
    const again = { refundedBy: END - 90 * DAY, ...more };
    const second = year(END - 90 * DAY, { revokedAt: END - 90 * DAY, ...again });
    const lines = [REVERSED, ...months(195, 165), second];
    expect(at(END, known(...lines))["basic"]).toMatchObject({ status: "revoked" });
    expect(at(END, known(...lines, year(END - 80 * DAY, again)))["basic"]).toMatchObject(counts);
  });
  test("has its grace period, although what was bought in between would have ended later", () => {
    const month = { ...REVERSED, endsAt: END - 175 * DAY };
    const [besides] = months(195);
    const renewal = aRenewal({
      periodEndsAt: month.endsAt,
      isInBillingRetry: true,
      graceEndsAt: month.endsAt + 16 * DAY,
      signedAt: month.endsAt + HOUR,
    });
    const facts = { ...known(month, ...(besides === undefined ? [] : [besides])), renewal };
    expect(at(month.endsAt + DAY, facts)["basic"]).toMatchObject({ status: "grace_period" });
    // Its own renewal, or what began once it was over, succeeded it.
    for (const later of [
      period("9", "basic", month.endsAt, month.endsAt + 30 * DAY),
      period("9", "plus", month.endsAt + 1, month.endsAt + 30 * DAY),
    ])
      expect(at(END, { ...known(month, later), renewal })["basic"]).toMatchObject({ status: "expired" });
  });
  test("is asked about soon for the mark of an upgrade, then sparsely where the answer left it out", () => {
    const upgraded = END - 100 * DAY;
    const facts = known(REVERSED, period("2", "plus", upgraded, upgraded + 365 * DAY));
    expect(nextRefresh(facts, upgraded)).toEqual({ at: upgraded + 5000, because: "upgrade" });
    expect(nextRefresh(facts, upgraded + 5000, upgraded + 5000)).toEqual({
      at: upgraded + DAY,
      because: "upgrade",
    });
    // Nor is it asked about daily where the store does not answer.
    expect(nextRefresh(facts, upgraded + HOUR)).toEqual({ at: upgraded + 6 * HOUR, because: "upgrade" });
    expect(nextRefresh(facts, upgraded + 6 * HOUR)).toEqual({ at: upgraded + DAY, because: "upgrade" });
    expect(nextRefresh(facts, upgraded + DAY)).toEqual({ at: upgraded + 7 * DAY, because: "upgrade" });
    for (const other of [
      known(year(upgraded), period("2", "plus", upgraded, upgraded + 365 * DAY)),
      known(year(REFUNDED, { revokedAt: REFUNDED }), period("2", "plus", upgraded, upgraded + 365 * DAY)),
      known(
        year(END - 180 * DAY, { refundedBy: null, revokedSince: null }),
        period("2", "plus", upgraded, upgraded + 365 * DAY),
      ),
      known(REVERSED, period("2", "basic", upgraded, upgraded + 365 * DAY)),
      known({ ...REVERSED, endsAt: upgraded }, period("2", "plus", upgraded, upgraded + 365 * DAY)),
    ])
      expect(nextRefresh(other, upgraded)?.because).not.toBe("upgrade");
  });
  test("is asked about while it is refunded, whatever was bought since", () => {
    const facts = known(year(REFUNDED, { revokedAt: REFUNDED }), ...months(195));
    expect(nextRefresh(facts, REFUNDED + DAY)).toEqual({ at: REFUNDED + 7 * DAY, because: "refund" });
    const over = known(year(REFUNDED, { revokedAt: REFUNDED, endsAt: REFUNDED + DAY }), ...months(195));
    expect(nextRefresh(over, REFUNDED + DAY)).not.toMatchObject({ because: "refund" });
  });
  test("goes on beside its own product, bought anew in between", () => {
    const anew = period("2", "basic", END - 195 * DAY, END + 170 * DAY);
    const other = period("3", "plus", END - 160 * DAY, END - 130 * DAY);
    expect(at(END, lineage(year(END - 150 * DAY), anew, other))["basic"]).toMatchObject({
      active: true,
      expiresAt: isoTime(YEAR_ENDS),
    });
  });
});

describe("a period after which its product was bought again in its middle, for it was left in between,", () => {
  const AGAIN = END - 20 * DAY;
  const year = { ...first, endsAt: END + 335 * DAY };
  const refunded = {
    revokedAt: END - DAY,
    revokedSince: END - DAY,
    refundedBy: END - DAY,
    verifiedAt: END - DAY,
  };
  const again = period("3", "basic", AGAIN, AGAIN + 365 * DAY);

  test("ends there, although nothing was told of what it was left for", () => {
    expect(at(END, lineage(year, again))["basic"]).toMatchObject({
      active: true,
      expiresAt: isoTime(AGAIN + 365 * DAY),
    });
  });
  test("does not give access again once the last one is refunded", () => {
    expect(at(END, lineage(year, { ...again, ...refunded }))["basic"]).toMatchObject({
      active: false,
      status: "revoked",
    });
  });
  test("goes on where the store has signed it since, neither marked nor refunded: its own refund had been reversed", () => {
    const signed = (verifiedAt: number) => ({ ...year, verifiedAt });
    const answer = (verifiedAt: number) =>
      at(END, lineage(signed(verifiedAt), { ...again, ...refunded }))["basic"];
    expect(answer(AGAIN - 1)).toMatchObject({ active: false });
    for (const verifiedAt of [AGAIN, END - 10 * DAY, END])
      expect(answer(verifiedAt)).toMatchObject({ active: true, expiresAt: isoTime(year.endsAt) });
  });
  test("goes on where the last one was refunded before it began, or is its renewal that was charged ahead", () => {
    const neverBegan = { ...again, ...refunded, revokedAt: AGAIN, refundedBy: AGAIN };
    const renewal = (before: number) => ({
      ...period("3", "basic", year.endsAt - before, year.endsAt + 365 * DAY),
      ...refunded,
      revokedAt: year.endsAt - before + 1,
    });
    for (const last of [neverBegan, renewal(0), renewal(48 * HOUR)])
      expect(at(year.endsAt - HOUR, lineage(year, last))["basic"]).toMatchObject({
        active: true,
        expiresAt: isoTime(year.endsAt),
      });
    expect(at(year.endsAt - HOUR, lineage(year, renewal(48 * HOUR + 1)))["basic"]).toMatchObject({
      active: false,
    });
  });
});
