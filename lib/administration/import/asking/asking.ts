import type { Application } from "../../../applications/application.ts";
import type { IosStoreCustomers } from "../../../customers/ios-store-customers.ts";
import type { AskedEnvironment, PlacedClaim } from "../claim.ts";
import type { Join } from "../join.ts";
import type { AnsweredEntry, JournalEntry, Place, UnansweredOutcome } from "../journal.ts";
import type { Storing } from "./storing.ts";
import type { ImportStores } from "./stores.ts";

export interface Asking extends ImportStores, Pick<IosStoreCustomers, "verifier" | "trustedRoots" | "now"> {
  readonly application: Application;
  readonly storing: Storing;
  readonly join: Join;
  /** Only purchases of this environment; null: of each that the manifest accepts. */
  readonly only: AskedEnvironment | null;
  readonly record: (entry: JournalEntry) => void;
  /** Receives every claim once it is done with, asked about or not. */
  readonly onClaim: () => void;
  /** Receives a claim that was asked about. */
  readonly onAsked: (placed: PlacedClaim) => void;
  readonly atOnce: number;
}

/** A store's answer about a person or a purchase, which is stored; or why there is none. */
export type Asked = Omit<AnsweredEntry, keyof Place> | { readonly outcome: UnansweredOutcome };

/** Outcomes by the stores' answers that tell nothing of a purchase. */
export const UNANSWERED = {
  "credential-rejected": "stopped",
  unavailable: "unanswered",
  unknown: "unknown",
  gone: "unknown",
} as const;
