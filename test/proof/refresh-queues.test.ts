import fc from "fast-check";
import type { AskReport } from "../../lib/customers/asking/ask-due-purchases.ts";
import type { AskOutcome } from "../../lib/customers/asking/ask.ts";
import { createRefreshing, fromApple, queuedOf } from "../customers/refreshing.ts";
import { owned } from "../../testing/support/world.ts";
import { cases, TIMEOUT } from "../../testing/support/proof.ts";
import { aRenewal, DAY, NOW } from "../../testing/support/stores/purchases.ts";
import { createMemoryTable } from "../../testing/support/table/memory-table.ts";

/**
 * The queue of an application with one to three bundles, whose stores fail at different times and in different ways. Of no
 * bundle does a refresh wait because another one's store fails.
 */

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const LASTS = 300;

/** Silent: no answer, at once or after ten seconds. Named: the store says when to ask again. */
type Failing = "silent" | "silent-for-long" | "rejected" | "named";

interface Outage {
  readonly bundle: number;
  readonly from: number;
  readonly to: number;
  readonly how: Failing;
}

const minute = fc.integer({ min: 0, max: LASTS });
const bundle = fc.nat(2);
const outage: fc.Arbitrary<Outage> = fc
  .record({
    bundle,
    from: minute,
    lasts: fc.integer({ min: 1, max: 200 }),
    how: fc.constantFrom<Failing>("silent", "silent-for-long", "rejected", "named"),
  })
  .map(({ from, lasts, ...rest }) => ({
    ...rest,
    from: NOW + from * MINUTE,
    to: NOW + (from + lasts) * MINUTE,
  }));
/** Refreshes due at once: just after the end, or at the third daily step after it. */
const due = fc.record({
  bundle,
  at: minute,
  count: fc.constantFrom(1, 1, 1, 2, 40),
  daysAfterEnd: fc.constantFrom(0, 0, 3),
});

/** Longest wait once the store is back: the longest pause, and the minute until the next run. */
const WAITS: Readonly<Record<Failing, number>> = {
  silent: 7 * MINUTE,
  "silent-for-long": 7 * MINUTE,
  rejected: 62 * MINUTE,
  named: 62 * MINUTE,
};
/** A refresh that was asked about after an hour moves on by an hour. */
const MOVED_ON = 62 * MINUTE;
const HOUR = 60 * MINUTE;

/** Time until which a refresh may wait. */
const latest = (at: number, outages: readonly Outage[]): number => {
  const known = outages.filter(({ from }) => from <= at + 2 * MINUTE);
  if (known.length === 0) return at + 2 * MINUTE;
  const over = Math.max(at, ...outages.map(({ to }) => to));
  const longest = Math.max(...outages.map(({ how }) => WAITS[how]));
  return over + (over - at > HOUR - 10 * MINUTE ? Math.max(longest, MOVED_ON) : longest);
};

test(
  "a bundle's refreshes wait for its own store alone",
  () =>
    fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 3 }),
        fc.array(outage, { maxLength: 4 }),
        fc.array(due, { minLength: 1, maxLength: 8 }),
        fc.constantFrom(0, 0, 8),
        async (bundles, allOutages, allDue, answersTake) => {
          const refreshing = createRefreshing(createMemoryTable());
          const nameOf = (place: number): string => `com.example.${place % bundles}`;
          const outagesOf = (name: string) => allOutages.filter((one) => nameOf(one.bundle) === name);
          const iosStore = Array.from({ length: bundles }, (_, place) => ({
            bundleIdentifier: nameOf(place),
            appAppleIdentifier: 1,
            environments: ["production" as const],
            xcodeCertificates: [],
            serverApi: { issuerIdentifier: "i", keyIdentifier: "k", secret: "s" },
            notifications: null,
          }));
          const directory = {
            byIdentifier: () => Promise.resolve({ ...refreshing.world.application, iosStore }),
          };
          const purchases = allDue.flatMap(({ bundle: of, at, count, daysAfterEnd }, index) =>
            Array.from({ length: count }, (_, copy) => {
              // Daily steps follow the one six hours after the end.
              const isJustEnded = daysAfterEnd === 0;
              const since = isJustEnded ? 0 : 6 * HOUR + daysAfterEnd * DAY;
              const endsAt = NOW + at * MINUTE - since;
              return {
                key: `${index}-${copy}`,
                name: nameOf(of),
                endsAt,
                // The first refresh after what the store said last.
                verifiedAt: endsAt + since - MINUTE,
                dueAt: endsAt + (isJustEnded ? 5 * SECOND : since),
              };
            }),
          );
          for (const { key, name, endsAt, verifiedAt } of purchases)
            await refreshing.world.at(verifiedAt).store({
              environment: "production",
              purchases: [
                {
                  ...owned(key, { endsAt, verifiedAt }),
                  // Without a word on its renewal, it would be asked about at once.
                  renewal: aRenewal({
                    periodEndsAt: endsAt,
                    isInBillingRetry: endsAt < verifiedAt,
                    signedAt: verifiedAt,
                  }),
                },
              ],
              origin: fromApple({ source: { store: "ios-store", bundleIdentifier: name } }),
            });
          expect(await queuedOf(refreshing.world)).toEqual(
            Object.fromEntries(purchases.map(({ key, dueAt }) => [key, dueAt])),
          );
          const answers = new Map<string, number>();
          const failed: { readonly name: string; readonly at: number }[] = [];
          const ask = async (
            _application: unknown,
            { purchase, source }: { readonly purchase: { readonly key: string }; readonly source: object },
          ): Promise<AskOutcome> => {
            const moment = refreshing.clock.now;
            const name = "bundleIdentifier" in source ? String(source.bundleIdentifier) : "";
            const now = outagesOf(name).find(({ from, to }) => from <= moment && moment < to);
            if (now === undefined) {
              // The others of the second have been asked by then.
              await Promise.resolve();
              refreshing.clock.now = Math.max(refreshing.clock.now, moment + answersTake * SECOND);
              answers.set(purchase.key, Math.min(answers.get(purchase.key) ?? Infinity, moment));
              const answer = owned(purchase.key, { endsAt: moment + 300 * DAY, verifiedAt: moment });
              await refreshing.world.at(moment).store({
                environment: "production",
                purchases: [answer],
                origin: fromApple({
                  source: { store: "ios-store", bundleIdentifier: name },
                  askedAt: moment,
                }),
              });
              return { outcome: "stored" };
            }
            failed.push({ name, at: moment });
            if (now.how === "rejected") return { outcome: "credential-rejected" };
            if (now.how === "named") return { outcome: "unavailable", retryAt: moment + 20 * MINUTE };
            // The others of the second have been asked by then.
            await Promise.resolve();
            if (now.how === "silent-for-long")
              refreshing.clock.now = Math.max(refreshing.clock.now, moment + 10 * SECOND);
            return { outcome: "unavailable", retryAt: null };
          };
          const reports: { readonly at: number; readonly report: AskReport }[] = [];
          const end = NOW + (LASTS + 400) * MINUTE;
          while (refreshing.clock.now < end && answers.size < purchases.length) {
            const next = refreshing.clock.now + MINUTE;
            reports.push({
              at: refreshing.clock.now,
              report: await refreshing.run({ directory, ask }, 0.5),
            });
            refreshing.clock.now = Math.max(next, refreshing.clock.now);
          }
          expect(refreshing.failures).toEqual([]);
          for (const { key, name, dueAt } of purchases) {
            const outages = outagesOf(name);
            const answeredAt = answers.get(key) ?? Infinity;
            expect({ key, late: answeredAt > latest(dueAt, outages) }).toEqual({ key, late: false });
            // What waits for ten minutes or more because its store does not answer is told by then, and again every seven minutes.
            if (outages.some(({ how }) => how === "rejected")) continue;
            const until = Math.min(answeredAt, dueAt + 50 * MINUTE);
            for (let moment = dueAt + 10 * MINUTE; moment + 7 * MINUTE < until; moment += MINUTE) {
              const told = reports.filter(({ at }) => moment <= at && at < moment + 7 * MINUTE);
              expect(Math.max(...told.map(({ report }) => report.oldest))).toBeGreaterThanOrEqual(
                moment - dueAt,
              );
            }
          }
          // One that does not answer is asked about by a full batch once, and then by two at a time.
          for (const [name, questions] of Map.groupBy(failed, (one) => one.name)) {
            const batches = [...Map.groupBy(questions, ({ at }) => at).values()];
            const full = batches.filter(({ length }) => length > 2);
            expect(full.length).toBeLessThanOrEqual(outagesOf(name).length);
          }
        },
      ),
      cases(20, 3000),
    ),
  TIMEOUT,
);
