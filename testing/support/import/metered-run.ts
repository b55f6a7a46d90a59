import { connect } from "../../../operator/connection.ts";
import { runFiles } from "../../../operator/import/run-command.ts";
import { openSession } from "../../../operator/session.ts";
import { pause } from "../../../lib/pause.ts";
import { meter, type Consumption } from "../metered/meter.ts";

/** Runs `import run` in this process, and counts its requests to the table. */
export const meteredRun = async (
  paths: readonly string[],
  application: string,
  environment: Readonly<Record<string, string>>,
): Promise<Consumption> => {
  const connection = await connect(environment["TABLE_NAME"] ?? "", { ...process.env, ...environment });
  const counted = meter(connection.store.client);
  const effects = { now: Date.now, wait: pause, waitForIndex: async () => undefined };
  const session = openSession(connection, effects, () => undefined);
  try {
    await runFiles.run(
      { confirm: async () => undefined, progress: () => undefined, terminal: null },
      { files: paths, application, rate: "1000" },
      (run) => run(session),
    );
    const { requests, readUnits, writeUnits } = counted.take();
    return { requests, readUnits, writeUnits };
  } finally {
    connection.close();
  }
};
