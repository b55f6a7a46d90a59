import { render } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { AccountPage } from "./pages/account-page.tsx";
import { ApplicationPage } from "./pages/application-page.tsx";
import { CustomerPage } from "./pages/customer-page.tsx";
import { ImportPage } from "./pages/import-page.tsx";
import { SandboxPage } from "./pages/sandbox-page.tsx";
import { Commands } from "./parts/acts.tsx";
import { Loading, useCall } from "./parts/hooks.tsx";
import { Value } from "./parts/text.tsx";
import { addressOf, type Route, useRoute } from "./route.ts";
import type { Answer } from "./server.ts";

const MOST_SHOWN = 200;

const RequestsPage = () => {
  const [lines, setLines] = useState<readonly { readonly number: number; readonly text: string }[]>([]);
  const [isConnected, setConnected] = useState(true);
  useEffect(() => {
    const source = new EventSource("api/requests");
    let number = 0;
    source.addEventListener("open", () => {
      setConnected(true);
      setLines([]);
    });
    source.addEventListener("error", () => setConnected(false));
    source.addEventListener("message", ({ data }) => {
      number += 1;
      const line = { number, text: String(JSON.parse(String(data))) };
      setLines((before) => [line, ...before].slice(0, MOST_SHOWN));
    });
    return () => source.close();
  }, []);
  return (
    <>
      <h1>Requests</h1>
      <p>
        Requests to the API as they come, the newest first: method, path, status, duration, and why it was
        refused.
        {!isConnected && <strong> The service does not answer; waiting for it.</strong>}
      </p>
      {lines.length === 0 ? (
        <p>None yet.</p>
      ) : (
        <ol class="requests" reversed aria-live="polite" aria-label="Requests">
          {lines.map(({ number, text }) => (
            <li key={number}>
              <code>
                <bdi>{text}</bdi>
              </code>
            </li>
          ))}
        </ol>
      )}
    </>
  );
};

type Start = Answer<"start">;

const Applications = ({ start }: { readonly start: Start }) => (
  <>
    <h1>Applications</h1>
    {start.applications.length === 0 ? (
      <p>
        The table {start.table} has no application. <code>application apply</code> of the command line makes
        one.
      </p>
    ) : (
      <ul>
        {start.applications.map(({ identifier, name }) => (
          <li key={identifier}>
            <a href={addressOf({ page: "application", application: identifier })}>
              <Value>{name}</Value>
            </a>
          </li>
        ))}
      </ul>
    )}
  </>
);

const Page = ({ route, start }: { readonly route: Route; readonly start: Start }) => {
  switch (route.page) {
    case "applications":
      return <Applications start={start} />;
    case "application":
      return <ApplicationPage key={route.application} {...route} />;
    case "account":
      return (
        <AccountPage
          key={`${route.application} ${route.account}`}
          {...route}
          isSandbox={start.sandbox?.applicationIdentifier === route.application}
        />
      );
    case "customer":
      return <CustomerPage key={route.customer} {...route} />;
    case "import":
      return <ImportPage key={route.application} {...route} />;
    case "sandbox":
      return start.sandbox === null ? (
        <p>Only a local run has sandbox stores.</p>
      ) : (
        <SandboxPage {...route} sandbox={start.sandbox} />
      );
    case "requests":
      return start.sandbox === null ? <p>Only a local run shows its requests.</p> : <RequestsPage />;
  }
};

const TITLES: Readonly<Record<Route["page"], string>> = {
  applications: "Applications",
  application: "Application",
  account: "Account",
  customer: "Customer",
  import: "Import",
  sandbox: "Sandbox",
  requests: "Requests",
};

const Navigation = ({ route, start }: { readonly route: Route; readonly start: Start }) => {
  const ofLocalRun: readonly Route[] = [{ page: "sandbox", account: "" }, { page: "requests" }];
  const pages: readonly Route[] = [{ page: "applications" }, ...(start.sandbox === null ? [] : ofLocalRun)];
  return (
    <nav aria-label="Console">
      <ul>
        <li>
          <strong>Console</strong> <small>{start.table}</small>
        </li>
      </ul>
      <ul>
        {pages.map((to) => (
          <li key={to.page}>
            <a href={addressOf(to)} aria-current={to.page === route.page ? "page" : undefined}>
              {TITLES[to.page]}
            </a>
          </li>
        ))}
      </ul>
    </nav>
  );
};

const App = () => {
  const route = useRoute();
  const loaded = useCall("start", {});
  const main = useRef<HTMLElement>(null);
  const isFirst = useRef(true);
  const address = addressOf(route);
  useEffect(() => {
    document.title = `${TITLES[route.page]} · Console`;
    // Another page begins at its top, for the eyes and for a screen reader.
    if (!isFirst.current) {
      main.current?.focus({ preventScroll: true });
      scrollTo(0, 0);
    }
    isFirst.current = false;
  }, [address]);
  return (
    <>
      <a
        class="skip"
        href={address}
        onClick={(event) => {
          event.preventDefault();
          main.current?.focus();
        }}
      >
        Skip to the content
      </a>
      <Loading of={loaded}>
        {(start) => (
          <>
            <header class="container">
              <Navigation route={route} start={start} />
            </header>
            <main class="container" ref={main} tabIndex={-1}>
              <Commands value={start.acts}>
                <Page route={route} start={start} />
              </Commands>
            </main>
          </>
        )}
      </Loading>
    </>
  );
};

const root = document.querySelector("#console");
if (root !== null) render(<App />, root);
