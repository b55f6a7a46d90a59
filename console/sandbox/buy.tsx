import { useState } from "preact/hooks";
import type { ConsoleSandbox } from "../../operator/console/calls.ts";
import { submitting } from "../parts/form.ts";
import { accountAddress } from "../route.ts";
import { useRun } from "./run.tsx";
import { buyAndLink, type Wanted } from "./sandbox.ts";
import { PERIODS } from "./sandbox-words.ts";
import type { Answer } from "../server.ts";
import { Value } from "../parts/text.tsx";

type Application = Answer<"application">;

const productsOf = ({ products }: Application) =>
  products.map((product, index) => ({ ...product, value: String(index) }));

const wantedOf = (field: (name: string) => string, application: Application): Wanted | null => {
  const product = productsOf(application).find(({ value }) => value === field("product"));
  return product === undefined
    ? null
    : {
        store: product.store,
        productIdentifier: product.productIdentifier,
        basePlanIdentifier: product.basePlanIdentifier ?? "monthly",
        period: field("period"),
        environment: field("environment") === "sandbox" ? "sandbox" : "production",
        account: field("account"),
      };
};

export const Buy = ({
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
  const [product, setProduct] = useState("0");
  // Only a subscription has a base plan.
  const hasBasePlan = productsOf(application).some(
    ({ value, basePlanIdentifier }) => value === product && basePlanIdentifier !== undefined,
  );
  const { run, isBusy, outcome } = useRun(changed);
  const submit = submitting((field) => {
    const wanted = wantedOf(field, application);
    if (wanted === null) return;
    run(async () => {
      const bundleIdentifier = application.iosStore[0]?.bundleIdentifier ?? "";
      const packageName = application.androidStore[0]?.packageName ?? "";
      await buyAndLink(sandbox, { bundleIdentifier, packageName }, wanted);
      setLinked(wanted.account);
      return `${wanted.productIdentifier} is bought, and linked to account ${wanted.account}.`;
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
            <select name="product" onChange={({ currentTarget }) => setProduct(currentTarget.value)}>
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
              {PERIODS.map(([period, name]) => (
                <option key={period} value={period} selected={period === "P1M"}>
                  subscription, {name}
                </option>
              ))}
              {!hasBasePlan && <option value="">bought once: a pass, or for ever</option>}
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
