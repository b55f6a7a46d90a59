import type { TableParameters, Throttling } from "./parameters.ts";

/** Defaults of a kind of stage. */
export interface StagePresets {
  readonly removal: TableParameters["removal"];
  readonly isProtected: boolean;
  readonly maxReadCapacity: number;
  readonly maxWriteCapacity: number;
  /** For every endpoint; null: each endpoint's own. */
  readonly throttling: Throttling | null;
  readonly synchronizesPerAddress: number | null;
  readonly logRetentionDays: number;
  readonly tracedPercent: number;
}

/** Defaults for the two kinds of stage: disposable and permanent. */
export const STAGE_PRESETS: Readonly<Record<"development" | "production", StagePresets>> = {
  development: {
    removal: "destroy",
    isProtected: false,
    maxReadCapacity: 200,
    maxWriteCapacity: 200,
    throttling: { rate: 10, burst: 20 },
    synchronizesPerAddress: null,
    logRetentionDays: 7,
    tracedPercent: 100,
  },
  production: {
    removal: "retain",
    isProtected: true,
    maxReadCapacity: 4000,
    maxWriteCapacity: 4000,
    throttling: null,
    // A carrier may have thousands of phones behind one address, each synchronizing a few times a day.
    synchronizesPerAddress: 1000,
    logRetentionDays: 30,
    tracedPercent: 5,
  },
};
