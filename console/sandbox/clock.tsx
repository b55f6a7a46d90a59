import { useCallback } from "preact/hooks";
import type { ConsoleSandbox } from "../../operator/console/calls.ts";
import { Loading, useLoaded } from "../parts/loading.tsx";
import { useRun } from "./run.tsx";
import { moveClock, readClock } from "./sandbox.ts";
import { Time } from "../parts/text.tsx";

const MOVES: readonly (readonly [duration: string, name: string])[] = [
  ["PT1H", "an hour"],
  ["P1D", "a day"],
  ["P7D", "a week"],
  ["P1M", "a month"],
  ["P1Y", "a year"],
];

/** The one clock of the service and of both stores. */
export const Clock = ({
  sandbox,
  changed,
}: {
  readonly sandbox: ConsoleSandbox;
  readonly changed: () => void;
}) => {
  const loaded = useLoaded(useCallback(async () => readClock(sandbox), [sandbox]));
  const { run, isBusy, outcome } = useRun(() => {
    loaded.again();
    changed();
  });
  return (
    <section aria-labelledby="clock">
      <h2 id="clock">The clock</h2>
      <Loading of={loaded}>
        {(now) => (
          <p>
            It is <Time at={now} /> for the service and for both stores. What falls due on the way happens.
          </p>
        )}
      </Loading>
      <div class="buttons">
        {MOVES.map(([advance, name]) => (
          <button
            key={advance}
            type="button"
            class="outline"
            disabled={isBusy}
            onClick={() =>
              run(async () => {
                await moveClock(sandbox, { advance });
                return `The clock is ${name} ahead.`;
              })
            }
          >
            Ahead {name}
          </button>
        ))}
        <button
          type="button"
          class="outline contrast"
          disabled={isBusy}
          onClick={() =>
            confirm("Back to now, with every purchase and account forgotten?") &&
            run(async () => {
              await moveClock(sandbox, { reset: true });
              return "Everything is as at the start.";
            })
          }
        >
          Reset everything
        </button>
      </div>
      {outcome}
    </section>
  );
};
