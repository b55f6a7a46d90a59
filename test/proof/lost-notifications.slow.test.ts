import fc from "fast-check";
import { cases, randomFrom, TIMEOUT } from "../../testing/support/proof.ts";
import { DAY } from "../../testing/support/stores/purchases.ts";
import { histories, type History } from "./lost-notifications/histories.ts";
import { expectEveryPurchaseQueued, expectSameAnswers } from "./lost-notifications/same-answers.ts";
import { standSideBySide } from "./lost-notifications/side-by-side.ts";
import type { Service } from "./lost-notifications/service.ts";
import { openPushServer, PACKAGE_NAME, type PushServer } from "./lost-notifications/stores.ts";

let server: PushServer;
beforeAll(async () => {
  server = await openPushServer();
});
afterAll(async () => {
  await server.close();
});

/** Longest step of the ladder of a purchase that does not end: a quarter of a year. */
const QUIET = 92 * DAY;

describe("a service that no notification reaches", () => {
  test(
    "answers like one that gets them all, once all was asked",
    () =>
      fc.assert(
        fc.asyncProperty(histories, async (history: History) => {
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
    "answers like one that gets them all, after a quiet quarter",
    () =>
      fc.assert(
        fc.asyncProperty(histories, async (history: History) => {
          const both = standSideBySide(server, "by schedule");
          await both.play(history);
          await both.advance(QUIET);
          await both.settle();
          await expectSameAnswers(both);
        }),
        cases(4, 300),
      ),
    TIMEOUT,
  );

  test(
    "with failing stores answers alike in time, and loses nothing",
    () =>
      fc.assert(
        fc.asyncProperty(
          histories,
          fc.constantFrom(0.1, 0.4, 0.9, 1),
          fc.integer({ min: 1, max: 29 }),
          fc.nat(1_000_000),
          async (history, share, days, seed) => {
            const both = standSideBySide(server, "by schedule", {
              share,
              lasts: days * DAY,
              random: randomFrom(seed),
            });
            await both.play(history);
            await both.advance(QUIET);
            await both.settle();
            await expectSameAnswers(both);
            await expectEveryPurchaseQueued(both);
          },
        ),
        cases(4, 300),
      ),
    TIMEOUT,
  );
});

describe("an upgrade whose purchase token only the app and notifications have", () => {
  test("ends what it replaces, and counts once the app links it", async () => {
    const both = standSideBySide(server, "by schedule");
    const activeIn = async (service: Service): Promise<string[]> =>
      (await service.read("a", both.stores.clock.now))
        .filter(({ active }) => active)
        .map(({ identifier }) => identifier);
    const { android } = both.stores;
    const bought = android.buy({
      packageName: PACKAGE_NAME,
      productKind: "subscription",
      productIdentifier: "basic",
    });
    await both.linkToken({ token: bought, productKind: "subscription", person: 0 });
    await both.advance(DAY);
    const upgrade = android.change(bought, "upgrade", { productIdentifier: "premium" });
    await both.advance(35 * DAY);
    expect(await activeIn(both.told)).toEqual(["premium"]);
    // Google's answer for the older token does not name the newer one.
    expect(await activeIn(both.untold)).toEqual([]);
    await both.linkToken({ token: upgrade, productKind: "subscription", person: 0 });
    await expectSameAnswers(both);
    expect(await activeIn(both.untold)).toEqual(["premium"]);
  });
});

test("a void that Google sees days later, although the app shows it", async () => {
  const both = standSideBySide(server, "by schedule");
  const purchase = { productKind: "one_time_product", productIdentifier: "maps" } as const;
  const token = both.stores.android.buy({ packageName: PACKAGE_NAME, ...purchase });
  await both.linkToken({ token, productKind: "one_time_product", person: 0 });
  await both.advance(5 * DAY);
  await both.linkToken({ token, productKind: "one_time_product", person: 0 });
  await both.advance(DAY);
  both.stores.android.change(token, "refund", { voidedAgo: "P4D" });
  await both.advance(30 * DAY);
  await expectSameAnswers(both);
  expect(await both.untold.read("a", both.stores.clock.now)).toMatchObject([{ status: "revoked" }]);
});
