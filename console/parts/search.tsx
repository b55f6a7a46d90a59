import { useState } from "preact/hooks";
import { accountAddress, addressOf, go } from "../route.ts";
import { call, sentenceOf, type Answer } from "../server.ts";
import { submitting } from "./hooks.tsx";
import { AccountLink, CustomerLink, Identifier, Problem } from "./text.tsx";

const NOBODY =
  "Nothing has this identifier: no account with customers, no customer, no original transaction id, app transaction id, purchase token or key of a purchase.";

const CUSTOMER = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i;

const Found = ({
  application,
  found: { account, customers, gone, erased },
}: {
  readonly application: string;
  readonly found: Answer<"search">;
}) => {
  if (account === null && customers.length + gone.length === 0)
    return <p role="status">{erased ? "Its customer was erased, and it is still refused." : NOBODY}</p>;
  return (
    <ul role="status">
      {account !== null && (
        <li>
          Account <AccountLink application={application} account={account} />
        </li>
      )}
      {customers.map(({ customerIdentifier, account: linked }) => (
        <li key={customerIdentifier}>
          Customer <CustomerLink application={application} customer={customerIdentifier} />
          {linked === null ? (
            ", linked to no account"
          ) : (
            <>
              {" of account "}
              <AccountLink application={application} account={linked} />
            </>
          )}
        </li>
      ))}
      {gone.map((identifier) => (
        <li key={identifier}>
          Customer <Identifier>{identifier}</Identifier>, whose erasure was interrupted: erase it again with
          the command line
        </li>
      ))}
    </ul>
  );
};

export const Search = ({ application }: { readonly application: string }) => {
  const [found, setFound] = useState<Answer<"search"> | null>(null);
  const [error, setError] = useState<string | null>(null);
  const find = async (text: string): Promise<void> => {
    setFound(null);
    setError(null);
    if (CUSTOMER.test(text)) {
      const isCustomer = await call("customer", { application, customer: text }).then(
        () => true,
        () => false,
      );
      if (isCustomer) return go(addressOf({ page: "customer", application, customer: text }));
    }
    try {
      const answer = await call("search", { application, text });
      const [only, ...others] = [
        ...new Set([answer.account, ...answer.customers.map(({ account }) => account)]),
      ].filter((account) => account !== null);
      const isOne = others.length === 0 && answer.customers.every(({ account }) => account !== null);
      if (only !== undefined && isOne) return go(accountAddress(application, only));
      setFound(answer);
    } catch (thrown) {
      setError(sentenceOf(thrown));
    }
  };
  const submit = submitting((field) => void find(field("text").trim()));
  return (
    <search>
      <form onSubmit={submit}>
        <label for="find">Account, customer, or any name of a purchase</label>
        <div role="group">
          <input id="find" name="text" type="search" required autoComplete="off" dir="auto" />
          <button type="submit">Find</button>
        </div>
      </form>
      {error !== null && <Problem>{error}</Problem>}
      {found !== null && <Found application={application} found={found} />}
    </search>
  );
};
