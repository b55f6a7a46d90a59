import { SECOND } from "../../lib/duration.ts";
import type { Gates } from "../../lib/administration/import/asking/stores.ts";
import type { Progress } from "../../lib/administration/import/run.ts";
import { isoTime, type Instant } from "../../lib/entitlements/time.ts";
import { counted } from "../text/answer.ts";
import { durationText } from "./text.ts";

export interface ProgressScreen {
  readonly line: (line: string) => void;
  /** A terminal, whose last line is overwritten; null: there is none. */
  readonly terminal: ((text: string) => void) | null;
}

const BAR = 24;
/** Milliseconds between two lines, and between two bars. */
const LINE_EVERY = 10 * SECOND;
const BAR_EVERY = SECOND / 5;
/** Returns to the beginning of a terminal's line and clears it. */
const CLEAR = "\r\u001b[K";

const PHASES: Readonly<Record<Progress["phase"], string>> = {
  reading: "Reading",
  asking: "Asking the stores",
  linking: "Linking",
};

const pauses = (gates: Gates): readonly string[] =>
  [...gates].flatMap(([name, { isStopped, pausedUntil }]) => {
    if (isStopped) return [`${name}: the credential is refused`];
    return pausedUntil === null ? [] : [`${name} is left alone until ${isoTime(pausedUntil)}`];
  });

const bar = (part: number): string => `[${"#".repeat(Math.round(part * BAR)).padEnd(BAR)}] `;

const textOf = (
  { phase, done, all, differences }: Progress,
  milliseconds: number,
  isBar: boolean,
): string => {
  if (phase === "reading") return `${PHASES[phase]}: ${counted(done, "row")}`;
  const seconds = Math.max(1, milliseconds / SECOND);
  const left = done === 0 ? "" : `, ${durationText(Math.ceil(((all - done) * seconds) / done / 60))} left`;
  const found = phase === "asking" ? `, ${counted(differences, "difference")} so far` : "";
  const rate = `${(done / seconds).toFixed(1)} rows a second`;
  const shown = isBar ? bar(all === 0 ? 1 : done / all) : "";
  return `${PHASES[phase]} ${shown}${done} of ${counted(all, "row")}, ${rate}${left}${found}`;
};

/** Shows how far a run is: a bar in a terminal, a line every ten seconds elsewhere. */
export const createProgress = (now: () => Instant, { line, terminal }: ProgressScreen, gates: Gates) => {
  let phase: Progress["phase"] | null = null;
  let [startedAt, shownAt] = [now(), now()];
  const every = terminal === null ? LINE_EVERY : BAR_EVERY;
  const show = (progress: Progress): void => {
    const moment = now();
    if (progress.phase !== phase) [phase, startedAt] = [progress.phase, moment];
    if (moment - shownAt < every) return;
    shownAt = moment;
    const text = [textOf(progress, moment - startedAt, terminal !== null), ...pauses(gates)].join("; ");
    if (terminal === null) line(text);
    else terminal(`${CLEAR}${text}`);
  };
  return { show, end: () => terminal?.(CLEAR) };
};
