import type { Store } from "./schemas.ts";

/** Kinds of the table's items, each in partitions of its own. */
export type ItemKind =
  /** An application, its store configurations, its catalog and its destinations. */
  | "application"
  /** List of all applications. */
  | "application-list"
  /** Leads from a bundle or package to its application. */
  | "store-registration"
  | "credential"
  | "account"
  | "customer"
  | "identity"
  | "purchase"
  | "transfer"
  /** Questions to a store about purchases; Android's hold purchase tokens. */
  | "ask"
  | "look"
  | "told"
  | "change"
  | "delivery"
  /** Notifications to forward, which hold signed payloads. */
  | "forward"
  | "notification";

/** Permissions of a function's role on the table. */
export interface TableAccess {
  /** Reads by GetItem; by Query; or by both and BatchGetItem. */
  readonly by: "gets" | "queries" | "changes";
  readonly reads: readonly ItemKind[];
  /** These may be read, too. */
  readonly changes: readonly ItemKind[];
}

/**
 * Access of a function that stores a store's facts.
 *
 * @param more kinds that it reads or changes beside those of facts
 */
export const changesFacts = (
  store: Store,
  { reads = [], changes = [] }: Partial<Pick<TableAccess, "reads" | "changes">> = {},
): TableAccess => ({
  by: "changes",
  reads: ["application", ...reads],
  changes: [
    ...(["account", "customer", "purchase", "ask", "look"] as const),
    ...(store === "ios-store" ? (["identity"] as const) : []),
    ...changes,
  ],
});
