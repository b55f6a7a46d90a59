import { useId, useState } from "preact/hooks";
import { submitting } from "../parts/form.ts";
import { accountAddress, go } from "../route.ts";
import { useRun } from "./run.tsx";
import { change, type SoldPurchase } from "./sandbox.ts";
import { changesOf, needsProduct } from "./sandbox-words.ts";
import { call } from "../server.ts";
import { Identifier, Value } from "../parts/text.tsx";

export const Sold = ({
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
  const changes = changesOf(purchase.store);
  const listed = useId();
  const [what, setWhat] = useState(changes[0]?.[0] ?? "");
  const { run, isBusy, outcome } = useRun(changed);
  const submit = submitting((field) =>
    run(async () => {
      await change(purchase, what, field("product"));
      return `Done: ${new Map(changes).get(what)} (${what}).`;
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
              {changes.map(([one, words]) => (
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
