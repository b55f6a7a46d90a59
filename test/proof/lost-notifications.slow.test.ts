import fc from "fast-check";
import { cases, TIMEOUT } from "../../testing/support/proof.ts";
import { DAY } from "../../testing/support/stores/purchases.ts";
import { histories } from "./lost-notifications/histories.ts";
import {
  expectEveryPurchaseQueued,
  expectSameAnswers,
  sideBySide,
} from "./lost-notifications/side-by-side.ts";
import type { Service } from "./lost-notifications/service.ts";
import { PACKAGE_NAME } from "./lost-notifications/stores.ts";

/** Longest step of the ladder of a purchase that does not end: a quarter of a year. */
const QUIET = 92 * DAY;

describe("a service that no notification reaches", () => {
  test(
    "answers like one that gets them all, once all was asked",
    () =>
      fc.assert(
        fc.asyncProperty(histories, (history) =>
          sideBySide("by hand", async (both) => {
            await both.play(history);
            await both.settle();
            for (const service of [both.told, both.untold]) await service.queueAll();
            await both.advance(60_000);
            await expectSameAnswers(both);
          }),
        ),
        cases(8, 400),
      ),
    TIMEOUT,
  );

  test(
    "answers like one that gets them all, after a quiet quarter",
    () =>
      fc.assert(
        fc.asyncProperty(histories, (history) =>
          sideBySide("by schedule", async (both) => {
            await both.play(history);
            await both.advance(QUIET);
            await both.settle();
            await expectSameAnswers(both);
          }),
        ),
        cases(4, 300),
      ),
    TIMEOUT,
  );

  const outages = fc.record({
    share: fc.constantFrom(0.1, 0.4, 0.9, 1),
    lasts: fc.integer({ min: 1, max: 29 }).map((days) => days * DAY),
    seed: fc.nat(1_000_000),
  });
  test(
    "with failing stores answers alike in time, and loses nothing",
    () =>
      fc.assert(
        fc.asyncProperty(histories, outages, (history, outage) =>
          sideBySide(
            "by schedule",
            async (both) => {
              await both.play(history);
              await both.advance(QUIET);
              await both.settle();
              await expectSameAnswers(both);
              await expectEveryPurchaseQueued(both);
            },
            outage,
          ),
        ),
        cases(4, 300),
      ),
    TIMEOUT,
  );
});

test("an upgrade's token that only the app has ends what it replaces, and counts once the app links it", () =>
  sideBySide("by schedule", async (both) => {
    const activeIn = async (service: Service): Promise<string[]> =>
      (await service.read("a", both.stores.clock.now))
        .filter(({ active }) => active)
        .map(({ identifier }) => identifier);
    const { android } = both.stores;
    const purchase = { productKind: "subscription", productIdentifier: "basic" } as const;
    const bought = android.buy({ packageName: PACKAGE_NAME, ...purchase });
    await both.linkToken({ token: bought, productKind: "subscription", person: 0 });
    await both.advance(DAY);
    const upgrade = android.change(bought, { change: "upgrade", productIdentifier: "premium" });
    await both.advance(35 * DAY);
    expect(await activeIn(both.told)).toEqual(["premium"]);
    // Google's answer for the older token does not name the newer one.
    expect(await activeIn(both.untold)).toEqual([]);
    await both.linkToken({ token: upgrade, productKind: "subscription", person: 0 });
    await expectSameAnswers(both);
    expect(await activeIn(both.untold)).toEqual(["premium"]);
  }));

test("a void that Google sees days later, although the app shows it", () =>
  sideBySide("by schedule", async (both) => {
    const purchase = { productKind: "one_time_product", productIdentifier: "maps" } as const;
    const token = both.stores.android.buy({ packageName: PACKAGE_NAME, ...purchase });
    await both.linkToken({ token, productKind: "one_time_product", person: 0 });
    await both.advance(5 * DAY);
    await both.linkToken({ token, productKind: "one_time_product", person: 0 });
    await both.advance(DAY);
    both.stores.android.change(token, { change: "refund", voidedAgo: "P4D" });
    await both.advance(30 * DAY);
    await expectSameAnswers(both);
    expect(await both.untold.read("a", both.stores.clock.now)).toMatchObject([{ status: "revoked" }]);
  }));
