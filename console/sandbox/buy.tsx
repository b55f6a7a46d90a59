import { useState } from "preact/hooks";
import type { ConsoleSandbox } from "../../operator/console/calls.ts";
import { submitting } from "../parts/form.ts";
import { accountAddress } from "../route.ts";
import { useRun } from "./run.tsx";
import { buyAndLink } from "./sandbox.ts";
import type { Answer } from "../server.ts";
import { spaced, Value } from "../parts/text.tsx";

const PERIODS: readonly (readonly [duration: string, name: string])[] = [
  ["P1W", "a week"],
  ["P1M", "a month"],
  ["P3M", "three months"],
  ["P1Y", "a year"],
];

export const Buy = ({
  sandbox,
  application: { products, iosStore, androidStore },
  account,
  changed,
}: {
  readonly sandbox: ConsoleSandbox;
  readonly application: Answer<"application">;
  readonly account: string;
  readonly changed: () => void;
}) => {
  const [linked, setLinked] = useState<string | null>(null);
  const [chosen, choose] = useState(0);
  const product = products[chosen];
  const { run, isBusy, outcome } = useRun(changed);
  const submit = submitting((field) => {
    if (product === undefined) return;
    const { store, productIdentifier, basePlanIdentifier } = product;
    const buyer = field("account");
    run(async () => {
      await buyAndLink(sandbox, {
        store,
        bundleIdentifier: iosStore[0]?.bundleIdentifier ?? "",
        packageName: androidStore[0]?.packageName ?? "",
        productIdentifier,
        basePlanIdentifier: basePlanIdentifier ?? "monthly",
        period: field("period"),
        environment: field("environment") === "sandbox" ? "sandbox" : "production",
        account: buyer,
      });
      setLinked(buyer);
      return `${productIdentifier} is bought, and linked to account ${buyer}.`;
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
              {products.map(({ store, productIdentifier, basePlanIdentifier }, index) => (
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
