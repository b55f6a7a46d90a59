import { SECOND } from "../../lib/duration.ts";
import type { Gates } from "../../lib/administration/import/asking/stores.ts";
import type { Progress } from "../../lib/administration/import/run.ts";
import { isoTime, type Instant } from "../../lib/entitlements/time.ts";
import { counted } from "../text/answer.ts";
import { durationText } from "./text.ts";

const EVERY = 10 * SECOND;

const PHASES: Readonly<Record<Progress["phase"], string>> = {
  reading: "Reading",
  asking: "Asking the stores",
  linking: "Linking",
};

const pauses = (gates: Gates): readonly string[] =>
  [...gates.all()].flatMap(([name, { isStopped, pausedUntil }]) => {
    if (isStopped) return [`${name}: the credential is refused`];
    return pausedUntil === null ? [] : [`${name} is left alone until ${isoTime(pausedUntil)}`];
  });

const textOf = ({ phase, done, all, differences }: Progress, milliseconds: number): string => {
  if (phase === "reading") return `${PHASES[phase]}: ${counted(done, "row")}`;
  const seconds = Math.max(1, milliseconds / SECOND);
  const left = done === 0 ? "" : `, ${durationText(Math.ceil(((all - done) * seconds) / done / 60))} left`;
  const found = phase === "asking" ? `, ${counted(differences, "difference")} so far` : "";
  return `${PHASES[phase]} ${done} of ${counted(all, "row")}, ${(done / seconds).toFixed(1)} rows a second${left}${found}`;
};

/** Shows how far a run is, a line every ten seconds. */
export const createProgress = (now: () => Instant, line: (line: string) => void, gates: Gates) => {
  let phase: Progress["phase"] | null = null;
  let [startedAt, shownAt] = [now(), now()];
  return (progress: Progress): void => {
    const moment = now();
    if (progress.phase !== phase) [phase, startedAt] = [progress.phase, moment];
    if (moment - shownAt < EVERY) return;
    shownAt = moment;
    line([textOf(progress, moment - startedAt), ...pauses(gates)].join("; "));
  };
};
