import type { ComponentChildren } from "preact";
import { accountAddress, addressOf } from "../route.ts";
import type { Answer } from "../server.ts";

/** Times are UTC, as the service answers and stores them. */
const FORMAT = new Intl.DateTimeFormat("en-GB", {
  weekday: "short",
  day: "numeric",
  month: "short",
  year: "numeric",
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
  timeZone: "UTC",
});

export const timeText = (iso: string): string => `${FORMAT.format(new Date(iso))} UTC`;

export const Time = ({ at, none = "–" }: { readonly at: string | null; readonly none?: string }) =>
  at === null ? (
    <>{none}</>
  ) : (
    <time dateTime={at} title={at}>
      {timeText(at)}
    </time>
  );

/** A value that came from outside, in its own direction of writing. */
export const Value = ({ children }: { readonly children: string }) => <bdi>{children}</bdi>;

const ISO_TIME = /(\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z)/;

export const statusText = (status: string): string => status.replaceAll("_", " ");

/** A sentence of the command line, its times and statuses as the page writes them. */
export const Sentence = ({ children }: { readonly children: string }) => (
  <bdi>
    {children
      .split(ISO_TIME)
      .map((part, index) =>
        index % 2 === 1 ? (
          <Time key={index} at={part} />
        ) : (
          part.replace(/\b(?:billing_retry|grace_period)\b/g, statusText)
        ),
      )}
  </bdi>
);

export const Sentences = ({ children }: { readonly children: readonly string[] }) => (
  <ul>
    {children.map((sentence, index) => (
      <li key={index}>
        <Sentence>{sentence}</Sentence>
      </li>
    ))}
  </ul>
);

export const Problem = ({ children }: { readonly children: ComponentChildren }) => (
  <p role="alert" class="error">
    {children}
  </p>
);

export const asserterText = (assertedBy: "credential" | "client"): string =>
  assertedBy === "credential" ? "your backend (with an API key)" : "the app (without an API key)";

export const Identifier = ({ children }: { readonly children: string }) => (
  <code>
    <bdi>{children}</bdi>
  </code>
);

export const AccountLink = ({
  application,
  account,
}: Readonly<Record<"application" | "account", string>>) => (
  <a href={accountAddress(application, account)}>
    <Value>{account}</Value>
  </a>
);

export const CustomerLink = ({
  application,
  customer,
}: Readonly<Record<"application" | "customer", string>>) => (
  <a href={addressOf({ page: "customer", application, customer })}>
    <Identifier>{customer}</Identifier>
  </a>
);

/** The parts that there are, with spaces between them. */
export const spaced = (...parts: readonly (string | null | undefined)[]): string =>
  parts.filter(Boolean).join(" ");

export const counted = (count: number, noun: string, plural = `${noun}s`): string =>
  `${count} ${count === 1 ? noun : plural}`;

/** Scrolls by itself where the screen is narrow. Each text has its own direction of writing. */
export const Table = ({
  caption,
  headings,
  rows,
  empty,
  isNamed = false,
}: {
  readonly caption: string;
  /** Whether the heading above says the caption already: then only a screen reader has it. */
  readonly isNamed?: boolean;
  readonly headings: readonly string[];
  readonly rows: readonly (readonly ComponentChildren[])[];
  readonly empty: string;
}) =>
  rows.length === 0 ? (
    <p>{empty}</p>
  ) : (
    <div class="scrolls" tabIndex={0} role="region" aria-label={caption}>
      <table>
        <caption class={isNamed ? "unseen" : ""}>{caption}</caption>
        <thead>
          <tr>
            {headings.map((heading) => (
              <th key={heading} scope="col">
                {heading}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((cells, row) => (
            <tr key={row}>
              {cells.map((cell, column) => (
                <td key={column}>{typeof cell === "string" ? <Value>{cell}</Value> : cell}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );

type Entry = Answer<"application">["audit"][number];

export const AuditTable = ({ entries }: { readonly entries: readonly Entry[] }) => (
  <Table
    caption="Audit"
    isNamed
    headings={["When", "What", "By", "Why", "Details"]}
    empty="Nothing is known to have been changed."
    rows={entries.map(({ moment, action, by, caller, reason, customer, what }) => [
      <Time at={moment} />,
      action,
      caller === null ? by : `${by} (${caller})`,
      reason ?? "–",
      [...(customer === null ? [] : [`customer ${customer}`]), ...what].join("; "),
    ])}
  />
);
