import { Acts } from "../parts/act-dialog.tsx";
import { AuditTable } from "../parts/audit-table.tsx";
import { CustomerSection } from "../parts/customer-section.tsx";
import { Entitlements, GrantsNothing, LastChange } from "../parts/entitlements.tsx";
import { Loading, useCall } from "../parts/loading.tsx";
import { accountOffers } from "../sandbox/offers.ts";
import { Picture } from "../parts/picture.tsx";
import { addressOf, type RouteTo } from "../route.ts";
import { Search } from "../parts/search.tsx";
import type { Answer } from "../server.ts";
import { Told } from "../parts/told.tsx";
import { counted, Time, Value } from "../parts/text.tsx";

type Account = Answer<"account">;

const Pages = ({ account }: { readonly account: Account }) => {
  const { applicationIdentifier, applicationAccountIdentifier, page, pages, purchases } = account;
  if (pages === 1) return null;
  const of = { application: applicationIdentifier, account: applicationAccountIdentifier };
  const to = (number: number): string => addressOf({ page: "account", ...of, number: String(number) });
  return (
    <nav aria-label="Pages of purchases">
      <p>
        Page {page} of {pages}, of {counted(purchases, "purchase")}
      </p>
      <ul>
        {page > 1 && (
          <li>
            <a href={to(page - 1)}>Page before</a>
          </li>
        )}
        {page < pages && (
          <li>
            <a href={to(page + 1)}>Next page</a>
          </li>
        )}
      </ul>
    </nav>
  );
};

/** An account: what it is entitled to, why, and everything that led to it. */
export const AccountPage = ({
  application,
  account,
  number,
  isSandbox,
}: RouteTo<"account"> & { readonly isSandbox: boolean }) => {
  const loaded = useCall("account", { application, account, page: Math.max(1, Number(number) || 1) });
  return (
    <>
      <Search application={application} />
      <h1>
        Account <Value>{account}</Value>
      </h1>
      <Loading of={loaded}>
        {(read) => (
          <>
            <p>
              of <a href={addressOf({ page: "application", application })}>{read.applicationName}</a>
              {" · "}
              <button type="button" class="outline small" onClick={loaded.again}>
                Read again
              </button>
              {isSandbox && (
                <>
                  {" · "}
                  <a href={addressOf({ page: "sandbox", account })}>Buy in the sandbox stores</a>
                </>
              )}
            </p>
            <h2>
              Entitlements at <Time at={read.moment} />
            </h2>
            <Entitlements account={read} />
            <LastChange account={read} />
            <GrantsNothing account={read} />
            {read.customers.length === 0 ? (
              <p>
                No customer is linked to this account. “What operators changed”, below, tells of unlinks,
                moves and erasures.
              </p>
            ) : (
              <Picture rows={read.picture} moment={read.moment} />
            )}
            <Pages account={read} />
            <h2>What was told</h2>
            <Told told={read.told} />
            <h2>Customers</h2>
            {read.customers.map((customer) => (
              <CustomerSection
                key={customer.customerIdentifier}
                account={read}
                customer={customer}
                changed={loaded.again}
              />
            ))}
            <h2>What operators changed</h2>
            <AuditTable entries={read.audit} />
            <Acts
              offers={accountOffers(read.applicationIdentifier, read.applicationAccountIdentifier)}
              changed={loaded.again}
            />
          </>
        )}
      </Loading>
    </>
  );
};
