import * as z from "zod";
import type { StoredCustomer } from "../../../lib/customers/storing/records.ts";
import type { Purchase } from "../../../lib/entitlements/purchase.ts";
import {
  androidStoreItem,
  applicationItem,
  catalogItem,
  destinationItem,
  iosStoreItem,
} from "../../../lib/table/applications/application-items.ts";
import { credentialIndexItem } from "../../../lib/table/applications/credentials.ts";
import type { accountClaimsItem } from "../../../lib/table/customers/items.ts";

export type StoredItem = Readonly<Record<string, unknown>>;

export const applicationPartitionItem = z.discriminatedUnion("kind", [
  applicationItem(),
  iosStoreItem(),
  androidStoreItem(),
  catalogItem(),
  credentialIndexItem(),
  destinationItem(),
]);

const UUID = "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}";
export const PARTITION = new RegExp(
  `^APPLICATION#(?<application>${UUID})(?:#(?<kind>CUSTOMER|IDENTITY|PURCHASE|ACCOUNT|AUDIT|TRANSFERS|ASK|CHANGED|TOLD|CHANGES|DESTINATION|FORWARD)(?:#(?<rest>.+))?)?$`,
  "s",
);

export const auditItem = () => z.object({ action: z.string(), customer: z.nullable(z.string()) });

export interface Customer extends StoredCustomer {
  readonly key: string;
}

/** The items of one application. */
export interface Tenant {
  readonly application: string;
  readonly customers: Map<string, Customer>;
  /** Counted claims of clients, by account. */
  readonly claims: Map<string, z.output<ReturnType<typeof accountClaimsItem>>>;
  readonly accounts: { readonly account: string; readonly sk: string; readonly item: StoredItem }[];
  readonly identities: { readonly key: string; readonly customer: string }[];
  readonly purchases: {
    readonly key: string;
    readonly customer: string;
    readonly purchase: Purchase;
    /** The question, as text; null: none. */
    readonly ask: string | null;
  }[];
  /** Questions in the queues. */
  readonly asks: Set<string>;
  /** References of purchases that were erased. */
  readonly erasedPurchases: Set<string>;
  /** Looks, changes and deliveries. */
  readonly telling: StoredItem[];
}

export const text = (value: unknown): string => JSON.stringify(value);
export const keyOf = (item: StoredItem): string => text([item["pk"], item["sk"]]);
export const referenceOf = ({
  store,
  environment,
  key,
}: Pick<Purchase, "store" | "environment" | "key">): string => `${store}#${environment}#${key}`;

/** What does not hold, each in a sentence. */
export class Violations {
  readonly found: string[] = [];

  readonly check = (holds: boolean, violation: string): void => {
    if (!holds) this.found.push(violation);
  };

  /** Checks of one item: the sentences begin with its key. A malformed item has no further ones. */
  of(item: StoredItem, checks: (checked: CheckedItem) => void): void {
    try {
      checks({
        check: (holds, violation) => this.check(holds, `${keyOf(item)} ${violation}`),
        parse: (schema) => z.parse(schema(), item),
      });
    } catch (error) {
      if (!(error instanceof z.core.$ZodError)) throw error;
      this.found.push(`${keyOf(item)} is not of its shape: ${error.message}`);
    }
  }
}

export interface CheckedItem {
  check(holds: boolean, violation: string): void;
  /** @throws ZodError */
  parse<Schema extends z.core.$ZodType>(schema: () => Schema): z.output<Schema>;
}
