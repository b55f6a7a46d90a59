import { countOf, reportCases, SEED, TIMEOUT } from "../../../testing/support/proof.ts";
import { diceFrom, type Dice } from "../dice.ts";
import { type Life, lifetimeLife, HOSTILE, REALISTIC, type Rates } from "./life.ts";
import { passLife } from "./passes.ts";
import { appStoreLife } from "./stores/app-store-lives.ts";
import { googleLife } from "./stores/google-lives.ts";
import { WAYS, type Way } from "./telling.ts";
import { faultsAt, momentsOf } from "./verdict.ts";

const DAILY = "store's answers, daily";
const ANY: readonly Way[] = ["notifications", "a quarter lost, late", "store's answers", DAILY];
const APP_STORE: readonly Way[] = [
  ...ANY,
  "half of the renewal infos lost",
  "a quarter of the transactions lost",
  "app, current entitlements",
  "app, statuses",
];
/** Google does not date a refund, so a pass is told soon. */
const SOON: readonly Way[] = ["notifications", "store's answers, soon"];

type Kind = readonly [kind: string, made: (dice: Dice, rates: Rates) => Life, ways: readonly Way[]];

const KINDS: readonly Kind[] = [
  ["an App Store subscription", appStoreLife, APP_STORE],
  ["Google's subscription", googleLife, ANY],
  ["App Store passes", (dice, rates) => passLife(dice, rates, "ios-store"), SOON],
  ["Google's passes", (dice, rates) => passLife(dice, rates, "android-store"), SOON],
  ["a non-consumable", lifetimeLife, [...SOON, ...ANY]],
];

describe.each([
  { name: "hostile", rates: HOSTILE, count: countOf(240, 8_000), isDaily: false },
  { name: "realistic", rates: REALISTIC, count: countOf(80, 4_000), isDaily: true },
])("at $name rates,", ({ rates, count, isDaily }) => {
  test.each(KINDS)(
    "%s gives access to who paid, however it is told",
    (kind, made, all) => {
      const ways = all.filter((way) => isDaily || way !== DAILY);
      let samples = 0;
      for (let index = 0; index < count; index += 1) {
        const dice = diceFrom(SEED + Math.imul(index, 0x9e3779b1));
        const life = made(dice, rates);
        for (const way of ways) {
          const telling = WAYS[way](life, dice);
          const moments = momentsOf(life, telling, dice);
          samples += moments.length;
          const faults = moments.flatMap((moment) => faultsAt(moment, life, telling));
          expect({ SEED, index, way, faults }).toEqual({ SEED, index, way, faults: [] });
        }
      }
      reportCases(samples, SEED, ` of ${kind}`);
    },
    TIMEOUT,
  );
});
