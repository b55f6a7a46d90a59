import type { Application } from "../applications/application.ts";
import type { Store } from "../contract/schemas.ts";
import { DAY, HOUR, MINUTE } from "../duration.ts";
import type { Instant } from "../entitlements/time.ts";
import { fromAnotherPlace, type RunOfApplications } from "../queues/work-off-all.ts";
import { sweptStores, type StoreInEnvironment } from "./application-stores.ts";

export interface Watermarks {
  /** Null: it was never read. */
  read(swept: StoreInEnvironment): Promise<Instant | null>;
  raise(swept: StoreInEnvironment, until: Instant): Promise<void>;
}

/** A failure is of one bundle's or package's sweep, which the next run repeats. */
export interface SweepRun extends Pick<
  RunOfApplications<Application>,
  "directory" | "applications" | "now" | "onFailure"
> {
  readonly watermarks: Watermarks;
}

/** Notifications read, or voided purchases answered about, with repeats; sweeps that did not reach the present. */
export interface SweepReport {
  readonly found: number;
  readonly behind: number;
}

const NOTHING: SweepReport = { found: 0, behind: 0 };

/** Minimum time between two sweeps of a bundle or package, however often the function runs. */
const APART = 50 * MINUTE;

/** Overlap with the period before: entries may appear late. */
const OVERLAP = 2 * HOUR;

/**
 * Time for which a store keeps its list.
 *
 * @see https://developer.apple.com/documentation/appstoreserverapi/get-notification-history 180 days; 30 in the sandbox
 * @see https://developers.google.com/android-publisher/api-ref/rest/v3/purchases.voidedpurchases/list 30 days
 */
const keptBy = ({ store, environment }: StoreInEnvironment): number =>
  (store === "ios-store" && environment === "production" ? 180 : 30) * DAY;

/** Margin within that time: an entry at its very beginning may be gone before it is asked for. */
const BEFORE_DROPPED = HOUR;

/** Allowance for clock skew: a store refuses times in its future. */
const CLOCKS_DIFFER = MINUTE;

/** Each next period is twice as long: every run makes progress, however long the list is. */
const FIRST_PERIOD = 4 * HOUR;
const LONGEST_PERIOD = DAY;

/** Both included. */
export interface Period {
  readonly from: Instant;
  readonly to: Instant;
}

/** `left`: read, but an entry is to be asked about again. `stopped`: no answer, or no time; later periods wait. */
export type PeriodOutcome = { readonly outcome: "read" | "left" | "stopped"; readonly found: number };

export type ReadPeriod = (
  application: Application,
  swept: StoreInEnvironment,
  period: Period,
) => Promise<PeriodOutcome>;

const sweepOne = async (
  { watermarks, now }: SweepRun,
  swept: StoreInEnvironment,
  read: (period: Period) => Promise<PeriodOutcome>,
  until: Instant,
): Promise<SweepReport> => {
  const present = now() - CLOCKS_DIFFER;
  const before = await watermarks.read(swept);
  if (before !== null && present - before < APART) return NOTHING;
  let from = Math.max((before ?? 0) - OVERLAP, present - keptBy(swept) + BEFORE_DROPPED);
  let [found, isLeft] = [0, false];
  for (let period = FIRST_PERIOD; from < present; period = Math.min(2 * period, LONGEST_PERIOD)) {
    if (now() >= until) return { found, behind: 1 };
    const to = Math.min(from + period, present);
    const outcome = await read({ from, to });
    found += outcome.found;
    if (outcome.outcome === "stopped") return { found, behind: 1 };
    isLeft ||= outcome.outcome === "left";
    if (!isLeft) await watermarks.raise(swept, to);
    from = to;
  }
  return { found, behind: isLeft ? 1 : 0 };
};

/**
 * Sweeps the lists of all applications, one after the other; the next hour's run begins with another.
 *
 * @param until no period begins from this moment on
 */
export const sweepApplications = async (
  run: SweepRun,
  store: Store,
  read: ReadPeriod,
  until: Instant,
): Promise<SweepReport> => {
  const report = { found: 0, behind: 0 };
  const sweeping = async (act: () => Promise<SweepReport>): Promise<void> => {
    const { found, behind } = await act().catch((error: unknown) => {
      run.onFailure(error);
      return { found: 0, behind: 1 };
    });
    report.found += found;
    report.behind += behind;
  };
  for (const identifier of fromAnotherPlace(await run.applications(), HOUR, run.now()))
    await sweeping(async () => {
      const application = await run.directory.byIdentifier(identifier);
      if (application === null) return NOTHING;
      for (const swept of sweptStores(application).filter((one) => one.store === store))
        await sweeping(() => sweepOne(run, swept, (period) => read(application, swept, period), until));
      return NOTHING;
    });
  return report;
};
