import { parseArgs } from "node:util";
import { diceOfLife, KINDS, type KindOfLife } from "./kinds.ts";
import { count, emptyTally, tallyText } from "./tally.ts";
import type { Life } from "./life.ts";
import { judged, momentsOf, type Finding } from "./verdict.ts";

/**
 * Judges the core: `node test/proof/judge/run.ts --lives 40000 --samples 1000000 --seed 424242`. `--kind <text>` runs kinds whose names
 * hold a text; `--life <number>` shows one life of them; `--examples <number>` shows so many of each kind of fault.
 */
const { values } = parseArgs({
  options: {
    lives: { type: "string", default: "40000" },
    samples: { type: "string", default: "1000000" },
    seed: { type: "string", default: "424242" },
    examples: { type: "string", default: "1" },
    kind: { type: "string", default: "" },
    life: { type: "string" },
  },
});
const seed = Number(values.seed);
/** Moments near boundaries, and as many at any time, for each way of telling. */
const MOMENTS = 4;

const timeText = (at: number): string => (Number.isFinite(at) ? new Date(at).toISOString() : String(at));

const lifeText = ({ happenings, truth, last, horizon }: Life): string =>
  [
    ...happenings.map(
      ({ what, at, signedAt, id, statement }) =>
        `  ${timeText(at)} ${what} ${id}, signed ${timeText(signedAt)}${statement === null ? "" : `, names ${timeText(statement.endsAt)}`}`,
    ),
    ...truth.map(
      ({ kind, entitlement, from, to, shownEnd, excuse }) =>
        `  ${timeText(from)} – ${timeText(to)} ${kind} ${entitlement}, shows ${shownEnd == null ? "no end" : timeText(shownEnd)}${excuse === undefined ? "" : ` (${excuse.name})`}`,
    ),
    `  last ${timeText(last)}, horizon ${timeText(horizon)}`,
  ].join("\n");

const tally = emptyTally();
const shown = new Map<string, number>();

const show = (
  kind: KindOfLife,
  way: string,
  index: number,
  { name, entitlement, cause, detail, from, to }: Finding,
): void => {
  const key = `${kind.name} | ${way} | ${name} | ${cause}`;
  const before = shown.get(key) ?? 0;
  shown.set(key, before + 1);
  if (cause === "untold" || before >= Number(values.examples)) return;
  process.stdout.write(
    `${key}: life ${index}, ${entitlement} ${timeText(from)} – ${timeText(to)} ${detail}\n`,
  );
};

const judgeLife = (kind: KindOfLife, index: number): number => {
  const dice = diceOfLife(seed, index);
  const life = kind.life(dice);
  if (values.life !== undefined) process.stdout.write(`${lifeText(life)}\n`);
  let samples = 0;
  for (const telling of kind.tellings(life, dice)) {
    const moments = momentsOf(life, telling, dice, MOMENTS);
    const findings = judged(life, telling, moments);
    samples += moments.length;
    count(tally, kind.name, telling.way, moments.length, findings);
    for (const finding of findings) show(kind, telling.way, index, finding);
  }
  return samples;
};

process.stdout.write(`Seed ${seed}\n`);
for (const kind of KINDS.filter(({ name }) => name.includes(values.kind))) {
  if (values.life !== undefined) {
    judgeLife(kind, Number(values.life));
    continue;
  }
  const [lives, least] = kind.rate === "hostile" ? [Number(values.lives), 0] : [0, Number(values.samples)];
  let samples = 0;
  for (let index = 0; index < lives || samples < least; index += 1) samples += judgeLife(kind, index);
}
process.stdout.write(`\n${tallyText(tally)}\n`);
