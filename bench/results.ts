import type { measureColdStart } from "./sections/cold-start.ts";
import type { measureHostile } from "./sections/hostile.ts";
import type { measureImporting } from "./sections/importing.ts";
import type { measureLoad } from "./sections/load.ts";
import type { measureNotifications } from "./sections/notifications.ts";
import type { measureReading } from "./sections/reading.ts";
import type { measureRefreshes } from "./sections/refreshes.ts";
import type { measureStoring } from "./sections/storing.ts";
import type { measureTelling } from "./sections/telling.ts";
import type { measureVerification } from "./sections/verification.ts";

/** When and where a section was measured. */
export interface SectionRun {
  /** ISO 8601, in UTC. */
  readonly at: string;
  readonly machine: { readonly processors: number; readonly model: string; readonly node: string };
}

/** Content of `bench/results.json`. */
export interface Results {
  readonly runs: Readonly<Record<Section, SectionRun>>;
  readonly verification: Awaited<ReturnType<typeof measureVerification>>;
  readonly hostile: Awaited<ReturnType<typeof measureHostile>>;
  readonly storing: Awaited<ReturnType<typeof measureStoring>>;
  readonly reading: Awaited<ReturnType<typeof measureReading>>;
  readonly notifications: Awaited<ReturnType<typeof measureNotifications>>;
  readonly refreshes: Awaited<ReturnType<typeof measureRefreshes>>;
  readonly telling: Awaited<ReturnType<typeof measureTelling>>;
  readonly coldStart: Awaited<ReturnType<typeof measureColdStart>>;
  readonly load: Awaited<ReturnType<typeof measureLoad>>;
  readonly importing: Awaited<ReturnType<typeof measureImporting>>;
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
