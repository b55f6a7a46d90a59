import { useCallback } from "preact/hooks";
import type { ConsoleSandbox } from "../../operator/console/calls.ts";
import { Buy } from "../sandbox/buy.tsx";
import { Clock } from "../sandbox/clock.tsx";
import { Loading, useCall, useLoaded } from "../parts/loading.tsx";
import { soldPurchases } from "../sandbox/sandbox.ts";
import type { RouteTo } from "../route.ts";
import { Sold } from "../sandbox/sold.tsx";

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
