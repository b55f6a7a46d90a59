import type { ColdStartResult } from "./sections/cold-start.ts";
import type { HostileResult } from "./sections/hostile.ts";
import type { ImportingResult } from "./sections/importing.ts";
import type { LoadResult } from "./sections/load.ts";
import type { NotificationsResult } from "./sections/notifications.ts";
import type { ReadingResult } from "./sections/reading.ts";
import type { RefreshesResult } from "./sections/refreshes.ts";
import type { StoringResult } from "./sections/storing.ts";
import type { TellingResult } from "./sections/telling.ts";
import type { VerificationResult } from "./sections/verification.ts";

/** When and where a section was measured. */
export interface SectionRun {
  /** ISO 8601, in UTC. */
  readonly at: string;
  readonly machine: { readonly processors: number; readonly model: string; readonly node: string };
}

/** Content of `bench/results.json`. */
export interface Results {
  readonly runs: Readonly<Record<Section, SectionRun>>;
  readonly verification: VerificationResult;
  readonly hostile: HostileResult;
  readonly storing: StoringResult;
  readonly reading: ReadingResult;
  readonly notifications: NotificationsResult;
  readonly refreshes: RefreshesResult;
  readonly telling: TellingResult;
  readonly coldStart: ColdStartResult;
  readonly load: LoadResult;
  readonly importing: ImportingResult;
}

export const SECTIONS = [
  "verification",
  "hostile",
  "storing",
  "reading",
  "notifications",
  "refreshes",
  "telling",
  "coldStart",
  "load",
  "importing",
] as const;

export type Section = (typeof SECTIONS)[number];

export const isSection = (name: string): name is Section => SECTIONS.some((section) => section === name);

/** Names the sections to whoever asked for others. */
export const noSection = (...names: readonly string[]): string =>
  `No section is called ${names.join(", ")}. Sections: ${SECTIONS.join(", ")}; or: report\n`;

/** Whether every section has been measured. */
export const isComplete = (results: Partial<Results>): results is Results =>
  (["runs", ...SECTIONS] as const).every((part) => results[part] !== undefined);
