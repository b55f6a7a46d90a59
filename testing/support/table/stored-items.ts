import * as z from "zod";
import type { Purchase } from "../../../lib/entitlements/purchase.ts";
import {
  androidStoreItem,
  applicationItem,
  catalogItem,
  destinationItem,
  iosStoreItem,
} from "../../../lib/table/applications/application-items.ts";
import { credentialIndexItem } from "../../../lib/table/applications/credentials.ts";
import { accountClaimsItem, customerItem } from "../../../lib/table/customers/items.ts";

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

export interface Customer extends Omit<z.output<ReturnType<typeof customerItem>>, "holdings"> {
  readonly key: string;
  readonly holdings: readonly Purchase[];
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
  /** Customers that an operator has erased. */
  readonly erased: Set<string>;
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

export class Violations {
  readonly found: string[] = [];

  check(holds: boolean, violation: string): void {
    if (!holds) this.found.push(violation);
  }

  parse<Schema extends z.core.$ZodType>(schema: () => Schema, item: StoredItem): z.output<Schema> | null {
    const parsed = z.safeParse(schema(), item);
    if (parsed.success) return parsed.data;
    this.found.push(`${keyOf(item)} is not of its shape: ${parsed.error.message}`);
    return null;
  }
}
