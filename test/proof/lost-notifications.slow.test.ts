import fc from "fast-check";
import type { Instant } from "../../lib/entitlements/time.ts";
import { cases, randomFrom, TIMEOUT } from "../../testing/support/proof.ts";
import { DAY } from "../../testing/support/stores/purchases.ts";
import { histories } from "./lost-notifications/histories.ts";
import type { Service } from "./lost-notifications/service.ts";
import { standSideBySide, type SideBySide } from "./lost-notifications/side-by-side.ts";
import { openPushServer, type PushServer } from "./lost-notifications/stores.ts";

let server: PushServer;
beforeAll(async () => {
  server = await openPushServer();
});
afterAll(async () => {
  await server.close();
});

/** Longest step of the ladder of a purchase that does not end: a quarter of a year. */
const QUIET = 92 * DAY;

/** Moments at which an account's answers are compared: now and later, around each time that an answer names. */
const momentsOf = async (service: Service, account: string, now: Instant): Promise<readonly Instant[]> => {
  const looks = [0, 1, 8, 31, 70, 100, 400].map((days) => now + days * DAY);
  const answers = await Promise.all(looks.map((moment) => service.read(account, moment)));
  const times = answers.flat().flatMap(({ startsAt, expiresAt }) => [startsAt, expiresAt]);
  const around = [0, DAY / 96, 2 * DAY, 60 * DAY].flatMap((shift) =>
    [-1, 0, 1].map((apart) => shift + apart),
  );
  const named = times.flatMap((time) =>
    time === null ? [] : around.map((shift) => Date.parse(time) + shift),
  );
  return [...looks, ...named.filter((moment) => moment >= now)];
};

/** Both services answer alike, now and at every later moment at which something is known to change. */
const expectSameAnswers = async ({ stores, told, untold }: SideBySide): Promise<void> => {
  const { now } = stores.clock;
  for (const account of ["a", "b"]) {
    const both = await Promise.all([told, untold].map((service) => momentsOf(service, account, now)));
    for (const moment of [...new Set(both.flat())].sort((a, b) => a - b)) {
      const [expected, actual] = await Promise.all(
        [told, untold].map((service) => service.read(account, moment)),
      );
      expect({ moment, entitlements: actual }).toEqual({ moment, entitlements: expected });
    }
  }
  expect([...(await told.violations()), ...(await untold.violations())]).toEqual([]);
};

const queuedIn = async (service: Service): Promise<readonly string[]> =>
  [...(await service.queued())].flatMap(([key, at]) => (at === null ? [] : [key])).sort();

describe("a service that no notification reaches", () => {
  test(
    "answers like one that gets them all, once all was asked",
    () =>
      fc.assert(
        fc.asyncProperty(histories, async (history) => {
          const both = standSideBySide(server, "by hand");
          await both.play(history);
          await both.settle();
          for (const service of [both.told, both.untold]) await service.queueAll();
          await both.advance(60_000);
          await expectSameAnswers(both);
        }),
        cases(8, 400),
      ),
    TIMEOUT,
  );

  test(
    "answers alike after a quiet quarter, though stores failed, and loses nothing",
    () =>
      fc.assert(
        fc.asyncProperty(
          histories,
          fc.constantFrom(0, 0.4, 0.9, 1),
          fc.integer({ min: 1, max: 29 }),
          fc.nat(1_000_000),
          async (history, share, days, seed) => {
            const disturbance = { share, lasts: days * DAY, random: randomFrom(seed) };
            const both = standSideBySide(server, "by schedule", disturbance);
            await both.play(history);
            await both.advance(QUIET);
            await both.settle();
            await expectSameAnswers(both);
            // An outage takes no purchase out of the queue.
            expect(await queuedIn(both.untold)).toEqual(await queuedIn(both.told));
          },
        ),
        cases(8, 600),
      ),
    TIMEOUT,
  );
});
