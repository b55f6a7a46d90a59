import { SECOND } from "../../lib/duration.ts";
import type { Gate } from "../../lib/administration/import/asking/pace.ts";
import type { Progress } from "../../lib/administration/import/run.ts";
import { isoTime, type Instant } from "../../lib/entitlements/time.ts";
import { counted } from "../text/answer.ts";
import { durationText } from "./check-text.ts";

export interface ProgressWorld {
  readonly now: () => Instant;
  readonly line: (line: string) => void;
  /** A terminal, whose last line is overwritten; null: there is none. */
  readonly terminal: ((text: string) => void) | null;
}

const BAR = 24;
/** Times between two lines. */
const TERMINAL_EVERY = SECOND / 5;
const LINE_EVERY = 10 * SECOND;

const bar = (part: number): string => {
  const full = Math.round(part * BAR);
  return `[${"#".repeat(full)}${" ".repeat(BAR - full)}]`;
};

const PHASES: Readonly<Record<Progress["phase"], string>> = {
  reading: "Reading",
  asking: "Asking the stores",
  linking: "Linking",
};

const pauses = (gates: ReadonlyMap<string, Gate>): readonly string[] =>
  [...gates].flatMap(([name, { isStopped, pausedUntil }]) => {
    if (isStopped) return [`${name}: the credential is refused`];
    return pausedUntil === null ? [] : [`${name} is left alone until ${isoTime(pausedUntil)}`];
  });

const textOf = (progress: Progress, startedAt: Instant, now: Instant, isBar: boolean): string => {
  const { phase, done, all, differences } = progress;
  if (phase === "reading") return `${PHASES[phase]}: ${counted(done, "row")}`;
  const part = all === 0 ? 1 : done / all;
  const seconds = Math.max(1, (now - startedAt) / SECOND);
  const left = done === 0 ? "" : `, ${durationText(Math.ceil(((all - done) * seconds) / done / 60))} left`;
  const found = phase === "asking" ? `, ${counted(differences, "difference")} so far` : "";
  const rate = `${(done / seconds).toFixed(1)} rows a second`;
  return `${PHASES[phase]} ${isBar ? `${bar(part)} ` : ""}${done} of ${counted(all, "row")}, ${rate}${left}${found}`;
};

/** Shows how far a run is: a bar in a terminal, a line every ten seconds elsewhere. */
export const createProgress = (
  { now, line, terminal }: ProgressWorld,
  gates: () => ReadonlyMap<string, Gate>,
) => {
  let phase: Progress["phase"] | null = null;
  let [startedAt, shownAt] = [now(), now()];
  const show = (progress: Progress): void => {
    const moment = now();
    if (progress.phase !== phase) {
      phase = progress.phase;
      startedAt = moment;
    }
    if (moment - shownAt < (terminal === null ? LINE_EVERY : TERMINAL_EVERY)) return;
    shownAt = moment;
    const text = [textOf(progress, startedAt, moment, terminal !== null), ...pauses(gates())].join("; ");
    if (terminal === null) line(text);
    else terminal(`\r\u001b[K${text}`);
  };
  return { show, end: () => terminal?.("\r\u001b[K") };
};
