import { useCallback, useId, useState } from "preact/hooks";
import type { ConsoleSandbox } from "../../operator/console/calls.ts";
import { Loading, submitting, useCall, useLoaded, useRun } from "../parts/hooks.tsx";
import { Identifier, spaced, Time, Value } from "../parts/text.tsx";
import { accountAddress, go, type RouteTo } from "../route.ts";
import { type Answer, call, post } from "../server.ts";
import { buyAndLink, change, needsProduct, readClock, type SoldPurchase, soldPurchases } from "./sandbox.ts";

const PERIODS: readonly (readonly [duration: string, name: string])[] = [
  ["P1W", "a week"],
  ["P1M", "a month"],
  ["P3M", "three months"],
  ["P1Y", "a year"],
];

interface SandboxPart {
  readonly sandbox: ConsoleSandbox;
  readonly changed: () => void;
}

const Buy = ({
  sandbox,
  application,
  account,
  changed,
}: SandboxPart & { readonly application: Answer<"application">; readonly account: string }) => {
  const [linked, setLinked] = useState<string | null>(null);
  const [chosen, choose] = useState(0);
  const product = application.products[chosen];
  const { run, isBusy, outcome } = useRun(changed);
  const submit = submitting((field) => {
    if (product === undefined) return;
    const buyer = field("account");
    run(async () => {
      const terms = { account: buyer, period: field("period"), environment: field("environment") };
      await buyAndLink(sandbox, application, product, terms);
      setLinked(buyer);
      return `${product.productIdentifier} is bought, and linked to account ${buyer}.`;
    });
  });
  return (
    <section aria-labelledby="buy">
      <h2 id="buy">Buy, and link</h2>
      <form onSubmit={submit}>
        <div class="fields">
          <label>
            Account
            <input name="account" required defaultValue={account || "user-1"} autoComplete="off" dir="auto" />
          </label>
          <label>
            Product
            <select name="product" onChange={({ currentTarget }) => choose(currentTarget.selectedIndex)}>
              {application.products.map(({ store, productIdentifier, basePlanIdentifier }, index) => (
                <option key={index}>
                  {spaced(productIdentifier, basePlanIdentifier)} ({store})
                </option>
              ))}
            </select>
          </label>
          <label>
            Period
            <select name="period">
              {PERIODS.map(([period, name]) => (
                <option key={period} value={period} selected={period === "P1M"}>
                  subscription, {name}
                </option>
              ))}
              {/* Only a subscription has a base plan. */}
              {!product?.basePlanIdentifier && <option value="">bought once: a pass, or for ever</option>}
            </select>
          </label>
          <label>
            Environment (ios-store)
            <select name="environment">
              <option value="production">production</option>
              <option value="sandbox">sandbox</option>
            </select>
          </label>
        </div>
        <div class="buttons">
          <button type="submit" disabled={isBusy} aria-busy={isBusy}>
            Buy and link
          </button>
        </div>
      </form>
      {outcome}
      {linked !== null && (
        <p>
          <a href={accountAddress(sandbox.applicationIdentifier, linked)}>
            Look at account <Value>{linked}</Value>
          </a>
        </p>
      )}
    </section>
  );
};

const Sold = ({
  application,
  purchase,
  changes,
  products,
  changed,
}: {
  readonly application: string;
  readonly purchase: SoldPurchase;
  /** Changes that its store offers, each with its meaning. */
  readonly changes: Readonly<Record<string, string>>;
  /** Other products of its store. */
  readonly products: readonly string[];
  readonly changed: () => void;
}) => {
  const listed = useId();
  const [what, setWhat] = useState(Object.keys(changes)[0] ?? "");
  const { run, isBusy, outcome } = useRun(changed);
  const submit = submitting((field) =>
    run(async () => {
      await change(purchase, what, field("product"));
      return `Done: ${changes[what]} (${what}).`;
    }),
  );
  const toAccount = async (): Promise<string> => {
    const { account, customers } = await call("search", { application, text: purchase.name });
    const owner = account ?? customers.find((customer) => customer.account !== null)?.account ?? null;
    if (owner !== null) go(accountAddress(application, owner));
    return owner === null ? "It is linked to no account." : `It is linked to account ${owner}.`;
  };
  return (
    <li>
      <form onSubmit={submit}>
        <p>
          <strong>
            <Value>{purchase.products.join(", ")}</Value>
          </strong>{" "}
          in the {purchase.store}: <Identifier>{purchase.name}</Identifier>
        </p>
        <div class="fields">
          <label>
            What happens to it
            <select value={what} onChange={({ currentTarget }) => setWhat(currentTarget.value)}>
              {Object.entries(changes).map(([one, words]) => (
                <option key={one} value={one}>
                  {words}
                </option>
              ))}
            </select>
          </label>
          {needsProduct(what) && (
            <label>
              To product
              <input name="product" required list={listed} autoComplete="off" />
            </label>
          )}
          <div class="buttons">
            <button type="submit" class="outline" disabled={isBusy} aria-busy={isBusy}>
              Make it happen
            </button>
            <button type="button" class="outline" disabled={isBusy} onClick={() => run(toAccount)}>
              To its account
            </button>
          </div>
        </div>
        {outcome}
      </form>
      <datalist id={listed}>
        {products.map((product) => (
          <option key={product} value={product} />
        ))}
      </datalist>
    </li>
  );
};

const MOVES: readonly (readonly [duration: string, name: string])[] = [
  ["PT1H", "an hour"],
  ["P1D", "a day"],
  ["P7D", "a week"],
  ["P1M", "a month"],
  ["P1Y", "a year"],
];

const Clock = ({ sandbox, changed }: SandboxPart) => {
  const loaded = useLoaded(useCallback(async () => readClock(sandbox), [sandbox]));
  const { run, isBusy, outcome } = useRun(() => {
    loaded.again();
    changed();
  });
  const set = (clock: object, done: string): void =>
    run(async () => {
      await post(sandbox.clockPath, clock);
      return done;
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
            onClick={() => set({ advance }, `The clock is ${name} ahead.`)}
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
            set({ reset: true }, "Everything is as at the start.")
          }
        >
          Reset everything
        </button>
      </div>
      {outcome}
    </section>
  );
};

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
                        changes={sandbox.changes[purchase.store]}
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
