import { createHash } from "node:crypto";
import type { Application, ApplicationDirectory } from "../applications/application.ts";
import type { Store } from "../contract/schemas.ts";
import { DAY, HOUR, MINUTE } from "../duration.ts";
import type { Instant } from "../entitlements/time.ts";
import type { ApplicationId } from "../identifiers.ts";
import { compare } from "../order.ts";
import { storesInEnvironments, type StoreInEnvironment } from "./store-in-environment.ts";

/**
 * Lists that are swept: Apple's failed notifications of each bundle with a key, in each environment, and Google's voided
 * purchases of each package.
 */
export const sweptStoresOf = (application: Application): readonly StoreInEnvironment[] =>
  storesInEnvironments({
    ...application,
    iosStore: application.iosStore.filter(({ serverApi }) => serverApi !== null),
  });

/** Time up to which each list was read. */
export interface Watermarks {
  /** Null: it was never read. */
  read(swept: StoreInEnvironment): Promise<Instant | null>;
  raise(swept: StoreInEnvironment, until: Instant): Promise<void>;
}

export interface SweepRun {
  readonly directory: Pick<ApplicationDirectory, "byIdentifier">;
  readonly watermarks: Watermarks;
  /** All applications of the table. */
  readonly applications: () => Promise<readonly ApplicationId[]>;
  readonly now: () => Instant;
  /** Takes a failure of one bundle's or package's sweep, which the next run repeats. */
  readonly onFailure: (error: unknown) => void;
}

/** Outcome of a run: failed notifications read, or voided purchases answered about, repeats included; and sweeps that did not reach the present. */
export interface SweepReport {
  readonly found: number;
  readonly behind: number;
}

/**
 * Outcome of one period. `left`: it was read, and is read again for an entry about which the store did not answer. `stopped`:
 * the store did not answer, or time is up; the period is read again, and later ones wait.
 */
export type PeriodOutcome = { readonly outcome: "read" | "left" | "stopped"; readonly found: number };

/** Sweeps of one bundle or package are at least this far apart, however often the function runs. */
const APART = 50 * MINUTE;

/** Overlap with the period before: entries may appear late. */
const OVERLAP = 2 * HOUR;

/** Furthest that a list is read back; Google keeps 30 days, and so does Apple's sandbox. */
const FURTHEST = 30 * DAY - HOUR;

/** Distance from now that clocks may differ by: a store refuses times that are in its future. */
const CLOCKS_DIFFER = MINUTE;

/**
 * First period of a run. Each further one is twice as long, up to the longest: a list that is too long for one run makes
 * progress, however much fell into a day.
 */
const FIRST_PERIOD = 4 * HOUR;
const LONGEST_PERIOD = 7 * DAY;

/**
 * Reads one list from where it was read last to the present, period by period.
 *
 * @param read reads a period; from and to are both included
 * @param until no period begins from this moment on
 */
const sweepOne = async (
  { watermarks, now }: SweepRun,
  swept: StoreInEnvironment,
  read: (from: Instant, to: Instant) => Promise<PeriodOutcome>,
  until: Instant,
): Promise<SweepReport> => {
  const present = now() - CLOCKS_DIFFER;
  const before = await watermarks.read(swept);
  if (before !== null && present - before < APART) return { found: 0, behind: 0 };
  let from = Math.max((before ?? 0) - OVERLAP, present - FURTHEST);
  let [found, isLeft] = [0, false];
  for (let period = FIRST_PERIOD; from < present; period = Math.min(2 * period, LONGEST_PERIOD)) {
    if (now() >= until) return { found, behind: 1 };
    const to = Math.min(from + period, present);
    const outcome = await read(from, to);
    found += outcome.found;
    if (outcome.outcome === "stopped") return { found, behind: 1 };
    isLeft ||= outcome.outcome === "left";
    if (!isLeft) await watermarks.raise(swept, to);
    from = to;
  }
  return { found, behind: isLeft ? 1 : 0 };
};

/** Reads a period of a list; from and to are both included. */
export type ReadPeriod = (
  application: Application,
  swept: StoreInEnvironment,
  from: Instant,
  to: Instant,
) => Promise<PeriodOutcome>;

/** The applications in an order that each hour gives anew. */
const inTurn = (applications: readonly ApplicationId[], moment: Instant): readonly ApplicationId[] => {
  const placeOf = (application: ApplicationId): string =>
    createHash("sha256")
      .update(`${Math.floor(moment / HOUR)} ${application}`)
      .digest("hex");
  return applications
    .map((application) => ({ application, place: placeOf(application) }))
    .toSorted((a, b) => compare(a.place, b.place))
    .map(({ application }) => application);
};

/**
 * Sweeps the store's lists of all applications, one after the other. A failure of one does not stop the others. Where the
 * time does not suffice for all, as stores that do not answer take it, the next hour begins with others.
 */
export const sweepApplications = async (
  run: SweepRun,
  store: Store,
  read: ReadPeriod,
  until: Instant,
): Promise<SweepReport> => {
  const report = { found: 0, behind: 0 };
  for (const identifier of inTurn(await run.applications(), run.now())) {
    const application = await run.directory.byIdentifier(identifier).catch((error: unknown) => {
      run.onFailure(error);
      report.behind += 1;
      return null;
    });
    if (application === null) continue;
    for (const swept of sweptStoresOf(application).filter((one) => one.store === store)) {
      try {
        const { found, behind } = await sweepOne(
          run,
          swept,
          async (from, to) => read(application, swept, from, to),
          until,
        );
        report.found += found;
        report.behind += behind;
      } catch (error) {
        run.onFailure(error);
        report.behind += 1;
      }
    }
  }
  return report;
};
