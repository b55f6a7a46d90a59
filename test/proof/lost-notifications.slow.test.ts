import fc from "fast-check";
import { cases, TIMEOUT } from "../../testing/support/proof.ts";
import { DAY } from "../../testing/support/stores/purchases.ts";
import type { Asked } from "./lost-notifications/customers.ts";
import { histories } from "./lost-notifications/histories.ts";
import type { Outage } from "./lost-notifications/outages.ts";
import { expectEveryPurchaseQueued, expectSameAnswers } from "./lost-notifications/same-answers.ts";
import { sideBySide, type SideBySide } from "./lost-notifications/side-by-side.ts";
import type { Service } from "./lost-notifications/service.ts";
import { PACKAGE_NAME } from "./lost-notifications/stores.ts";

/** Longest step of the ladder of a purchase that does not end: a quarter of a year. */
const QUIET = 92 * DAY;

const never = fc.constant(null);
const outages = fc.record({
  share: fc.constantFrom(0.1, 0.4, 0.9, 1),
  lasts: fc.integer({ min: 1, max: 29 }).map((days) => days * DAY),
  seed: fc.nat(1_000_000),
});

/** Has everything asked about, as an operator does. */
const askAll = async (both: SideBySide): Promise<void> => {
  await both.settle();
  for (const service of [both.told, both.untold]) await service.queueAll();
  await both.advance(60_000);
};
const letAsk = async (both: SideBySide): Promise<void> => {
  await both.advance(QUIET);
  await both.settle();
};

type Asking = (both: SideBySide) => Promise<void>;

test.each<[string, Asked, fc.Arbitrary<Outage | null>, Asking, ReturnType<typeof cases>]>([
  ["answers like one that gets them all, once all was asked", "by hand", never, askAll, cases(8, 400)],
  ["answers like one that gets them all, after a quiet quarter", "by schedule", never, letAsk, cases(4, 300)],
  [
    "with failing stores answers alike in time, and loses nothing",
    "by schedule",
    outages,
    async (both) => {
      await letAsk(both);
      await expectEveryPurchaseQueued(both);
    },
    cases(4, 300),
  ],
])(
  "a service that no notification reaches %s",
  (_, asked, outage, ask, parameters) =>
    fc.assert(
      fc.asyncProperty(histories, outage, (history, failing) =>
        sideBySide(
          asked,
          async (both) => {
            await both.play(history);
            await ask(both);
            await expectSameAnswers(both);
          },
          failing,
        ),
      ),
      parameters,
    ),
  TIMEOUT,
);

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
    const upgrade = android.change(bought, "upgrade", { productIdentifier: "premium" });
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
    both.stores.android.change(token, "refund", { voidedAgo: "P4D" });
    await both.advance(30 * DAY);
    await expectSameAnswers(both);
    expect(await both.untold.read("a", both.stores.clock.now)).toMatchObject([{ status: "revoked" }]);
  }));
