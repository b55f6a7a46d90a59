import { countOf, reportCases, SEED, TIMEOUT } from "../../../testing/support/proof.ts";
import { diceFrom, type Dice } from "../dice.ts";
import type { Life } from "./life.ts";
import { lifetimeLife } from "./lifetimes.ts";
import { passLife, type PassRates } from "./passes.ts";
import { appStoreLife, type AppStoreRates } from "./stores/app-store-lives.ts";
import { googleLife, type GoogleRates } from "./stores/google-lives.ts";
import { WAYS, type Way } from "./telling.ts";
import { faultsAt, momentsOf } from "./verdict.ts";

/** Of a million transactions 10,000 are refunded, 100 of those given back; 5,000 are upgrades, and 30,000 payments fail. */
const REALISTIC = {
  refund: 0.01,
  takenBack: 0.01,
  upgrade: 0.005,
  failure: 0.03,
  ahead: 0.8,
  cancellation: 0.08,
  change: 0.01,
  copy: 0.05,
  replacement: 0.01,
  pause: 0.01,
  pending: 0.01,
  share: 0.1,
} as const satisfies AppStoreRates & GoogleRates & PassRates;

/** What is rare happens all the time. */
const HOSTILE = {
  refund: 0.2,
  takenBack: 0.5,
  upgrade: 0.4,
  failure: 0.3,
  ahead: 0.5,
  cancellation: 0.2,
  change: 0.3,
  copy: 0.3,
  replacement: 0.3,
  pause: 0.2,
  pending: 0.2,
  share: 0.5,
} as const satisfies AppStoreRates & GoogleRates & PassRates;

type Rates = typeof REALISTIC | typeof HOSTILE;

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
