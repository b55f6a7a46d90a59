import { useCallback } from "preact/hooks";
import type { ConsoleSandbox } from "../../operator/console/calls.ts";
import { Buy } from "../sandbox/buy.tsx";
import { Loading, useCall, useLoaded } from "../parts/loading.tsx";
import { readClock, soldPurchases } from "../sandbox/sandbox.ts";
import type { RouteTo } from "../route.ts";
import { useRun } from "../sandbox/run.tsx";
import { post } from "../server.ts";
import { Sold } from "../sandbox/sold.tsx";
import { Time } from "../parts/text.tsx";

const MOVES: readonly (readonly [duration: string, name: string])[] = [
  ["PT1H", "an hour"],
  ["P1D", "a day"],
  ["P7D", "a week"],
  ["P1M", "a month"],
  ["P1Y", "a year"],
];

/** The one clock of the service and of both stores. */
const Clock = ({ sandbox, changed }: { readonly sandbox: ConsoleSandbox; readonly changed: () => void }) => {
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
                await post(sandbox.clockPath, { advance });
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
              await post(sandbox.clockPath, { reset: true });
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

/** The local run's stores and clock. */
export const SandboxPage = ({
  sandbox,
  account,
}: RouteTo<"sandbox"> & { readonly sandbox: ConsoleSandbox }) => {
  const application = useCall("application", { application: sandbox.applicationIdentifier });
  const sold = useLoaded(useCallback(async () => soldPurchases(sandbox), [sandbox]));
  return (
    <>
      <h1>Sandbox</h1>
      <p>
        Both stores of this local run. What is bought here is linked to an account of the demo application
        with its API key; what changes is told to the service by the store&apos;s notifications.
      </p>
      <Clock sandbox={sandbox} changed={sold.again} />
      <Loading of={application}>
        {(read) => (
          <>
            <Buy sandbox={sandbox} application={read} account={account} changed={sold.again} />
            <h2>What was sold</h2>
            <Loading of={sold}>
              {(purchases) =>
                purchases.length === 0 ? (
                  <p>Nothing yet.</p>
                ) : (
                  <ul class="sold">
                    {purchases.map((purchase) => (
                      <Sold
                        key={purchase.path}
                        application={sandbox.applicationIdentifier}
                        purchase={purchase}
                        products={read.products
                          .filter(({ store }) => store === purchase.store)
                          .map(({ productIdentifier }) => productIdentifier)}
                        changed={sold.again}
                      />
                    ))}
                  </ul>
                )
              }
            </Loading>
          </>
        )}
      </Loading>
    </>
  );
};
