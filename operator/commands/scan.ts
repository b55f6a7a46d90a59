import type { Scan } from "../../lib/administration/acts/operation-table.ts";
import { OperatorError } from "../operator-error.ts";
import { optional } from "./command.ts";

export const AFTER = optional(
  "--after <position>",
  "go on after the position that an interrupted run has shown",
);

/** @throws OperatorError if the text is no position */
export const readAfter = <Position>(
  text: string | undefined,
  read: (text: string) => Position | null,
): Position | null => {
  if (text === undefined) return null;
  const position = read(text);
  if (position === null)
    throw new OperatorError("--after takes the position that an interrupted run has shown.");
  return position;
};

/** For the audit. */
export const interruptedText = (after: unknown): string => (after === null ? "" : ", after an interruption");

export const scanText = <Position>(
  counts: string,
  { position, part }: Scan<Position>,
  positionText: (position: Position) => string,
): string =>
  [
    counts,
    ...(part === null ? [] : [`about ${Math.floor(part * 100)} % of the table`]),
    ...(position === null ? [] : [`if this is interrupted, go on with --after ${positionText(position)}`]),
  ].join("; ");
