import { reportOf, purchaseKeyOfToken } from "../../../lib/stores/android-store/reading.ts";
import type { AndroidStoreConfiguration } from "../../../lib/applications/application.ts";
import { sweepAndroidStoreRefunds } from "../../../lib/customers/sweep-android-store-refunds.ts";
import { DAY, HOUR, MINUTE } from "../../../lib/duration.ts";
import { verifiedAs, type Line, type Purchase } from "../../../lib/entitlements/purchase.ts";
import type { Instant } from "../../../lib/entitlements/time.ts";
import type {
  AndroidStore,
  AndroidStoreAnswer,
  VoidedPurchase,
  VoidedPurchasesAnswer,
} from "../../../lib/stores/android-store/android-store.ts";
import { createWatermarks } from "../../../lib/table/queues/notifications.ts";
import { anApplication } from "../../../testing/support/application.ts";
import { aCatalog, aLine, aProduct, aPurchase, NOW } from "../../../testing/support/stores/purchases.ts";
import { aUseCaseTable } from "../../../testing/support/table/use-case-table.ts";
import { byCredential, createWorld } from "../../../testing/support/world.ts";

const table = await aUseCaseTable();
const PACKAGE_NAME = "com.example.trails";
/** Lists are read up to a minute ago. */
const PRESENT = NOW - MINUTE;
/** End of the last sweep. */
const LAST = PRESENT - HOUR;
const TOKEN = "the-purchase-token";

type Page = Extract<VoidedPurchasesAnswer, { outcome: "answered" }>;
const page = (next: string | null, ...voided: readonly (string | VoidedPurchase)[]): Page => ({
  outcome: "answered",
  voided: voided.map((one) =>
    typeof one === "string" ? { purchaseToken: one, fullyVoidedAt: NOW - HOUR } : one,
  ),
  next,
});

const unavailable = (status: number | null, reason: string | null = null): AndroidStoreAnswer => ({
  outcome: "unavailable",
  retryAt: null,
  status,
  reason,
});
const DROPPED: AndroidStoreAnswer = { outcome: "gone", status: 410, reason: null };
const UNKNOWN: AndroidStoreAnswer = { outcome: "rejected", status: 404, reason: "purchaseTokenNotFound" };
const INVALID: AndroidStoreAnswer = { outcome: "rejected", status: 400, reason: "invalid" };

/** A package whose list of voided purchases has these pages, swept an hour ago. */
const aPackage = async (...pages: readonly VoidedPurchasesAnswer[]) => {
  const configuration: AndroidStoreConfiguration = {
    packageName: PACKAGE_NAME,
    credential: { secret: "s" },
    environments: ["production", "sandbox"],
    notifications: null,
  };
  const catalog = aCatalog([aProduct({ store: "android-store" })]);
  const application = anApplication({ androidStore: [configuration], catalog });
  const world = createWorld(table, { application });
  const { identifier } = application;
  const place = { store: "android-store", environment: "production", bundleOrPackage: PACKAGE_NAME } as const;
  const swept = { application: identifier, ...place };
  const watermarks = createWatermarks(table);
  await watermarks.raise(swept, LAST);
  const asked: string[] = [];
  const left = [...pages];
  const owned = new Map<string, Purchase>();
  const verified = (purchase: Purchase): AndroidStoreAnswer => ({
    outcome: "verified",
    ...reportOf(verifiedAs(purchase, NOW)),
  });
  return {
    world,
    asked,
    raise: (at: Instant) => watermarks.raise(swept, at),
    markOf: () => watermarks.read(swept),
    own: async (
      token: string,
      line: Partial<Line> = {},
      environment: "production" | "sandbox" = "production",
    ) => {
      const bought = { transactionIdentifier: null, event: null, verifiedAt: NOW - DAY, ...line };
      const key = purchaseKeyOfToken(token);
      const purchase = aPurchase({ store: "android-store", environment, key, lines: [aLine(bought)] });
      owned.set(token, purchase);
      await world.store({ environment, purchases: [purchase] }, byCredential("user-1"));
    },
    /** Sweeps; the store answers about a purchase as given, or that it is active. */
    sweep: (
      answers: Readonly<Record<string, AndroidStoreAnswer>> = {},
      { now = (): Instant => NOW, until = Infinity, onAsked = (): void => undefined } = {},
    ) => {
      const androidStore: AndroidStore = {
        lookUp: (_, { purchaseToken }) => {
          asked.push(purchaseToken);
          onAsked();
          const purchase = owned.get(purchaseToken);
          const otherwise = purchase === undefined ? DROPPED : verified(purchase);
          return Promise.resolve(answers[purchaseToken] ?? otherwise);
        },
        acknowledge: () => Promise.reject(new Error("Nothing is acknowledged.")),
        voidedPurchases: () => Promise.resolve(left.shift() ?? page(null)),
      };
      return sweepAndroidStoreRefunds(
        {
          ...world.factStore,
          now,
          directory: world.directory,
          androidStore,
          watermarks,
          asks: { acknowledged: () => Promise.resolve() },
          applications: () => Promise.resolve([identifier]),
          onFailure: (error) => {
            throw error;
          },
        },
        until,
      );
    },
  };
};

describe("the list of voided purchases", () => {
  test.each<[what: string, line: Partial<Line>, environment: "production" | "sandbox", found: number]>([
    ["is known in production", {}, "production", 1],
    ["is known in the sandbox", {}, "sandbox", 1],
    ["is revoked already", { revokedAt: NOW - 2 * DAY }, "production", 0],
    ["had ended when it was heard of", { willRenew: false, endsAt: NOW - 2 * DAY }, "production", 0],
    ["is on hold, from which it may return", { standing: "billing_retry" }, "production", 1],
  ])("has a purchase asked about that %s: %4$i", async (_, line, environment, found) => {
    const swept = await aPackage(page(null, "unknown", TOKEN));
    await swept.own(TOKEN, line, environment);
    expect(await swept.sweep()).toEqual({ found, behind: 0 });
    expect(swept.asked).toEqual(found === 0 ? [] : [TOKEN]);
  });

  const SILENT = { outcome: "unavailable", retryAt: null, status: 503, reason: null } as const;
  test.each<[what: string, pages: readonly VoidedPurchasesAnswer[], found: number, after: Instant]>([
    ["is read to its last page", [page("2", "unknown"), page(null, TOKEN)], 1, PRESENT],
    ["is asked about as far as it was read", [page("2", TOKEN), SILENT], 1, LAST],
    ["is read again where the store does not give it", [SILENT], 0, LAST],
  ])("%s", async (_, pages, found, after) => {
    const swept = await aPackage(...pages);
    await swept.own(TOKEN);
    expect(await swept.sweep()).toEqual({ found, behind: after === PRESENT ? 0 : 1 });
    expect(await swept.markOf()).toBe(after);
  });

  test("starts no look-up once time is up", async () => {
    const swept = await aPackage(page(null, "first", TOKEN));
    await swept.own("first");
    await swept.own(TOKEN);
    let now = NOW;
    const onAsked = () => void (now += MINUTE);
    const clock = { now: () => now, until: NOW + MINUTE, onAsked };
    expect(await swept.sweep({}, clock)).toEqual({ found: 1, behind: 1 });
    expect(swept.asked).toHaveLength(1);
    expect(await swept.markOf()).toBe(LAST);
  });
});

test("each voided purchase is in time asked about first", async () => {
  const tokens = ["first", "second", "third"];
  const asked = new Set<string | undefined>();
  for (let hour = 0; hour < 9; hour += 1) {
    const swept = await aPackage(page(null, ...tokens));
    for (const token of tokens) await swept.own(token);
    await swept.sweep({}, { now: () => NOW + hour * HOUR });
    asked.add(swept.asked[0]);
  }
  expect(asked).toEqual(new Set(tokens));
});

describe("a voided purchase", () => {
  const ONE_TIME: Partial<Line> = { nature: "consumable", endsAt: null, willRenew: null };
  const FULL: VoidedPurchase = { purchaseToken: TOKEN, fullyVoidedAt: NOW - HOUR };
  const PARTLY: VoidedPurchase = { purchaseToken: TOKEN, fullyVoidedAt: null };

  test.each([
    ["a 404", UNKNOWN],
    ["a 410", DROPPED],
  ])("is revoked by a full void of a one-time purchase and %s", async (_, answer) => {
    const swept = await aPackage(page(null, FULL));
    await swept.own(TOKEN, ONE_TIME);
    expect(await swept.sweep({ [TOKEN]: answer })).toEqual({ found: 1, behind: 0 });
    expect((await swept.world.read("user-1")).entitlements).toMatchObject([
      { status: "revoked", active: false, revokedAt: new Date(NOW - HOUR).toISOString() },
    ]);
  });

  test.each<[what: string, voided: VoidedPurchase, line: Partial<Line>, answer: AndroidStoreAnswer | null]>([
    ["a partial void and a 404", PARTLY, ONE_TIME, UNKNOWN],
    ["a full void and a 410 of a subscription", FULL, {}, DROPPED],
    ["a full void and a refusal of the request", FULL, ONE_TIME, INVALID],
    ["a full void and an answer", FULL, ONE_TIME, null],
  ])("is not revoked by %s", async (_, voided, line, answer) => {
    const swept = await aPackage(page(null, voided));
    await swept.own(TOKEN, line);
    const report = await swept.sweep(answer === null ? {} : { [TOKEN]: answer });
    expect(report).toEqual({ found: 1, behind: answer === null ? 0 : 1 });
    expect(await swept.markOf()).toBe(answer === null ? PRESENT : LAST);
    expect((await swept.world.read("user-1")).entitlements).toMatchObject([{ active: true }]);
  });
});

describe("where the store does not answer about a purchase, the list", () => {
  test("is read again where it rejects the credential", async () => {
    const swept = await aPackage(page(null, TOKEN));
    await swept.own(TOKEN);
    const denied = { outcome: "credential-rejected", status: 401, reason: null } as const;
    expect(await swept.sweep({ [TOKEN]: denied })).toEqual({ found: 0, behind: 1 });
    expect(await swept.markOf()).toBe(LAST);
  });

  const TWO_DAYS_OLD = NOW - 2 * DAY - 2 * HOUR;
  const OLD = NOW - 20 * DAY;
  const REFUSED = unavailable(400, "aReasonOfNextYear");
  test.each<[what: string, answer: AndroidStoreAnswer, before: Instant, after: Instant]>([
    ["goes on past it, and is read again", REFUSED, TWO_DAYS_OLD + 1, TWO_DAYS_OLD + 1],
    ["is not read again for a period that is two days old", REFUSED, TWO_DAYS_OLD, PRESENT],
    ["is read again however old, where the store is busy", unavailable(503, "backendError"), OLD, OLD],
    ["is read again however old, beyond its quota", unavailable(429, "quotaExceeded"), OLD, OLD],
    ["is read again however old, where it is silent", unavailable(null, "timeout"), OLD, OLD],
  ])("%s", async (_, answer, before, after) => {
    const swept = await aPackage(page(null, "stuck"), page(null), page(null), page(null, TOKEN));
    await swept.raise(before);
    for (const token of ["stuck", TOKEN]) await swept.own(token, { verifiedAt: OLD });
    const report = await swept.sweep({ stuck: answer });
    expect(swept.asked).toEqual(["stuck", TOKEN]);
    expect(report).toEqual({ found: 1, behind: after === PRESENT ? 0 : 1 });
    expect(await swept.markOf()).toBe(after);
  });

  test("is left after three purchases, where the store is silent", async () => {
    const tokens = ["1", "2", "3", "4"];
    const swept = await aPackage(page(null, ...tokens));
    for (const token of tokens) await swept.own(token);
    await swept.sweep(Object.fromEntries(tokens.map((token) => [token, unavailable(503)])));
    expect(swept.asked).toHaveLength(3);
  });
});
