import type { Answer } from "../server.ts";
import { Table, Time } from "./text.tsx";

type Entry = Answer<"application">["audit"][number];

/** Entries of the audit, the newest first. */
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
