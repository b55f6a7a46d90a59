import { hostileLife, stepsFrom } from "./app-store-hostile.ts";
import { realisticLife } from "./app-store-realistic.ts";
import { diceFrom, type Dice } from "./dice.ts";
import { googleLife, HOSTILE_GOOGLE, REALISTIC_GOOGLE } from "./google-lives.ts";
import type { Life } from "./life.ts";
import { googleTellings, hostileTellings, realisticTellings, type Telling } from "./telling.ts";

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
];

/** The dice of one life of a run. */
export const diceOfLife = (seed: number, index: number): Dice =>
  diceFrom(seed + Math.imul(index, 0x9e3779b1));
