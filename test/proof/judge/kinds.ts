import { hostileLife, stepsFrom } from "./stores/app-store-hostile.ts";
import { realisticLife } from "./stores/app-store-realistic.ts";
import { diceFrom, type Dice } from "./dice.ts";
import { googleLife, HOSTILE_GOOGLE, REALISTIC_GOOGLE } from "./stores/google-lives.ts";
import type { Life } from "./life.ts";
import { lifetimeLife } from "./lifetimes.ts";
import { passLife } from "./passes.ts";
import {
  googleTellings,
  hostileTellings,
  lossTellings,
  passTellings,
  realisticTellings,
  type Telling,
} from "./telling.ts";

/** A kind of life, and the ways in which it is told. */
export interface KindOfLife {
  readonly name: string;
  readonly rate: "hostile" | "realistic";
  readonly life: (dice: Dice) => Life;
  readonly tellings: (life: Life, dice: Dice) => readonly Telling[];
}

export const KINDS: readonly KindOfLife[] = [
  {
    name: "App Store subscription, hostile",
    rate: "hostile",
    life: (dice) => hostileLife(stepsFrom(dice)),
    tellings: hostileTellings,
  },
  {
    name: "App Store subscription, realistic",
    rate: "realistic",
    life: (dice) => realisticLife(dice),
    tellings: realisticTellings,
  },
  {
    name: "Google's subscription, hostile",
    rate: "hostile",
    life: (dice) => googleLife(dice, HOSTILE_GOOGLE),
    tellings: googleTellings,
  },
  {
    name: "Google's subscription, realistic",
    rate: "realistic",
    life: (dice) => googleLife(dice, REALISTIC_GOOGLE),
    tellings: googleTellings,
  },
  {
    name: "App Store passes, hostile",
    rate: "hostile",
    life: (dice) => passLife(dice, { refund: 0.3, share: 0.5 }, "ios-store"),
    tellings: passTellings,
  },
  {
    name: "App Store passes, realistic",
    rate: "realistic",
    life: (dice) => passLife(dice, { refund: 0.01, share: 0.1 }, "ios-store"),
    tellings: passTellings,
  },
  {
    name: "Google's passes, hostile",
    rate: "hostile",
    life: (dice) => passLife(dice, { refund: 0.3, share: 0.5 }, "android-store"),
    tellings: passTellings,
  },
  {
    name: "Google's passes, realistic",
    rate: "realistic",
    life: (dice) => passLife(dice, { refund: 0.01, share: 0.1 }, "android-store"),
    tellings: passTellings,
  },
  {
    name: "Non-consumable, hostile",
    rate: "hostile",
    life: lifetimeLife,
    tellings: (life, dice) => [...passTellings(life, dice), ...lossTellings(life, dice)],
  },
];

/** The dice of one life of a run. */
export const diceOfLife = (seed: number, index: number): Dice =>
  diceFrom(seed + Math.imul(index, 0x9e3779b1));
