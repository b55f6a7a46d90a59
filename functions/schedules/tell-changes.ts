import { tellChanges } from "../../lib/telling/tell-changes.ts";
import { lookOfKey } from "../../lib/table/keys.ts";
import { composeTelling } from "../wiring/telling.ts";
import { now } from "../environment/configuration.ts";
import { masterSecret } from "../environment/master-secret.ts";
import { table } from "../environment/service.ts";
import { logging } from "../observability/logger.ts";
import { count, time } from "../observability/metrics.ts";
import { calledByStream } from "../runs.ts";

const telling = composeTelling({
  table,
  now,
  masterSecret,
  onFailure: logging("error", "telling failed"),
});

/** Allowance for clock skew within which a look in a stream record counts as due. */
const CLOCKS_DIFFER = 1000;

/** Tells accounts that differ from what was last told; earlier where the stream shows a due look. */
export const handler = calledByStream(
  (key) => {
    const look = lookOfKey(key);
    return look === null || look.dueAt > now() + CLOCKS_DIFFER ? null : look.application;
  },
  async (until, only) => {
    const report = await tellChanges(telling, until, only);
    if (report.told > 0) count("changesTold", {}, report.told);
    if (report.oldest > 0) time("changeAge", report.oldest);
    return report;
  },
);
