import { useCallback, useState } from "preact/hooks";
import type { ConsoleSandbox } from "../operator/console/calls.ts";
import { Loading, useLoaded } from "./loading.tsx";
import { addressOf, go } from "./route.ts";
import {
  buyAndLink,
  change,
  moveClock,
  readClock,
  SANDBOX_CHANGES,
  soldPurchases,
  type SoldPurchase,
  type Wanted,
} from "./sandbox.ts";
import { call, type Answer } from "./server.ts";
import { Identifier, Time, Value } from "./text.tsx";

type Application = Answer<"application">;

/** Runs what a button starts, and shows how it went. */
const useRun = (changed: () => void) => {
  const [said, setSaid] = useState<{ readonly text: string; readonly isError: boolean } | null>(null);
  const [isBusy, setBusy] = useState(false);
  const run = (act: () => Promise<string>): void => {
    setBusy(true);
    setSaid(null);
    act()
      .then(
        (text) => setSaid({ text, isError: false }),
        (error: unknown) =>
          setSaid({ text: error instanceof Error ? error.message : String(error), isError: true }),
      )
      .finally(() => {
        setBusy(false);
        changed();
      });
  };
  const outcome = said !== null && (
    <p role={said.isError ? "alert" : "status"} class={said.isError ? "error" : ""}>
      {said.text}
    </p>
  );
  return { run, isBusy, outcome };
};

const MOVES: readonly (readonly [duration: string, name: string])[] = [
  ["PT1H", "an hour"],
  ["P1D", "a day"],
  ["P7D", "a week"],
  ["P1M", "a month"],
  ["P1Y", "a year"],
];

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

const PERIODS = ["P1W", "P1M", "P3M", "P1Y"];

/** The products of the catalog, as one may choose among them. */
const productsOf = ({ products }: Application) =>
  products.map((product, index) => ({ ...product, value: String(index) }));

const wantedOf = (form: FormData, application: Application): Wanted | null => {
  const field = (name: string): string => String(form.get(name) ?? "");
  const product = productsOf(application).find(({ value }) => value === field("product"));
  if (product === undefined) return null;
  return {
    store: product.store,
    productIdentifier: product.productIdentifier,
    basePlanIdentifier: product.basePlanIdentifier ?? "monthly",
    period: field("period"),
    environment: field("environment") === "sandbox" ? "sandbox" : "production",
    account: field("account"),
  };
};

const Buy = ({
  sandbox,
  application,
  account,
  changed,
}: {
  readonly sandbox: ConsoleSandbox;
  readonly application: Application;
  readonly account: string;
  readonly changed: () => void;
}) => {
  const [linked, setLinked] = useState<string | null>(null);
  const { run, isBusy, outcome } = useRun(changed);
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    if (!(event.currentTarget instanceof HTMLFormElement)) return;
    const wanted = wantedOf(new FormData(event.currentTarget), application);
    if (wanted === null) return;
    run(async () => {
      const bundleIdentifier = application.iosStore[0]?.bundleIdentifier ?? "";
      const packageName = application.androidStore[0]?.packageName ?? "";
      await buyAndLink(sandbox, { bundleIdentifier, packageName }, wanted);
      setLinked(wanted.account);
      return `${wanted.productIdentifier} is bought, and linked to account ${wanted.account}.`;
    });
  };
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
            <select name="product">
              {productsOf(application).map(({ value, store, productIdentifier, basePlanIdentifier }) => (
                <option key={value} value={value}>
                  {[productIdentifier, basePlanIdentifier].filter(Boolean).join(" ")} ({store})
                </option>
              ))}
            </select>
          </label>
          <label>
            Period
            <select name="period">
              {PERIODS.map((period) => (
                <option key={period} value={period} selected={period === "P1M"}>
                  subscription, {period}
                </option>
              ))}
              <option value="">bought once</option>
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
          <a
            href={addressOf({
              page: "account",
              application: sandbox.applicationIdentifier,
              account: linked,
              number: 1,
            })}
          >
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
  products,
  changed,
}: {
  readonly application: string;
  readonly purchase: SoldPurchase;
  /** Other products of its store. */
  readonly products: readonly string[];
  readonly changed: () => void;
}) => {
  const changes = SANDBOX_CHANGES[purchase.store];
  const [what, setWhat] = useState<string>(changes.plain[0]);
  const { run, isBusy, outcome } = useRun(changed);
  const needsProduct = changes.withProduct.some((one) => one === what);
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    if (!(event.currentTarget instanceof HTMLFormElement)) return;
    const product = String(new FormData(event.currentTarget).get("product") ?? "");
    run(async () => {
      await change(purchase, what, product);
      return `Done: ${what}.`;
    });
  };
  const toAccount = async (): Promise<string> => {
    const { account, customers } = await call("search", { application, text: purchase.name });
    const owner = account ?? customers.find((customer) => customer.account !== null)?.account ?? null;
    if (owner !== null) go({ page: "account", application, account: owner, number: 1 });
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
            Change
            <select value={what} onChange={({ currentTarget }) => setWhat(currentTarget.value)}>
              {[...changes.plain, ...changes.withProduct].map((one) => (
                <option key={one} value={one}>
                  {one}
                </option>
              ))}
            </select>
          </label>
          {needsProduct && (
            <label>
              To product
              <input name="product" required list="products" autoComplete="off" />
            </label>
          )}
          <div class="buttons">
            <button type="submit" class="outline" disabled={isBusy} aria-busy={isBusy}>
              Change it
            </button>
            <button type="button" class="outline" disabled={isBusy} onClick={() => run(toAccount)}>
              To its account
            </button>
          </div>
        </div>
        {outcome}
      </form>
      <datalist id="products">
        {products.map((product) => (
          <option key={product} value={product} />
        ))}
      </datalist>
    </li>
  );
};

/** The local run's stores and clock. */
export const SandboxPage = ({
  sandbox,
  account,
}: {
  readonly sandbox: ConsoleSandbox;
  readonly account: string;
}) => {
  const application = useLoaded(
    useCallback(
      async () => call("application", { application: sandbox.applicationIdentifier }),
      [sandbox.applicationIdentifier],
    ),
  );
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
