import type { TableParameters, Throttling } from "./parameters.ts";

/** Defaults of a kind of stage. */
export interface StagePresets {
  readonly removal: TableParameters["removal"];
  readonly isProtected: boolean;
  readonly maxReadCapacity: number;
  readonly maxWriteCapacity: number;
  /** For every endpoint; null: each endpoint's own. */
  readonly throttling: Throttling | null;
  /** Requests per address in five minutes; null: any number. */
  readonly requestsPerAddress: number | null;
  readonly iosNotificationsFromAppleOnly: boolean;
  /** Whether it has alarms and a dashboard, which are billed by the month. */
  readonly isWatched: boolean;
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
    requestsPerAddress: null,
    iosNotificationsFromAppleOnly: false,
    isWatched: false,
    logRetentionDays: 7,
    tracedPercent: 100,
  },
  production: {
    removal: "retain",
    isProtected: true,
    maxReadCapacity: 4000,
    maxWriteCapacity: 4000,
    throttling: null,
    // 33 a second: more than most backends send, and half an execution of the authorizer.
    requestsPerAddress: 10_000,
    iosNotificationsFromAppleOnly: true,
    isWatched: true,
    logRetentionDays: 30,
    tracedPercent: 5,
  },
};
