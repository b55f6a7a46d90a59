import * as z from "zod/mini";
import type { Instant } from "../../entitlements/time.ts";
import type { AccountId, ApplicationId, CustomerId } from "../../identifiers.ts";
import {
  CHANGES_KEPT_MILLISECONDS,
  dayOf,
  type ChangeData,
  type KeyedHash,
  type Look,
  type Told,
} from "../../telling/change.ts";
import { versionUnchanged } from "../dynamodb/conditions.ts";
import { firstKnownItems, readItem, readItems } from "../dynamodb/reads.ts";
import * as shape from "../dynamodb/shapes.ts";
import { expiry, type Attributes, type Table } from "../dynamodb/table.ts";
import { deletion, put, writeAll, type Write } from "../dynamodb/writes.ts";
import { keys, partitions, sortKeys } from "../keys.ts";

export const place = () => z.object({ day: shape.text(), sequence: shape.integer() });
const customer = () => shape.branded<CustomerId>(shape.text());
const customers = () => z.array(customer());

/** The version that an account was last told. */
export const toldItem = () =>
  shape.mapped(
    z.object({
      account: shape.account(),
      version: shape.integer(),
      customers: customers(),
      entitlements: z.record(shape.text(), shape.text()),
      lookAt: shape.nullableInteger(),
      last: z.nullable(place()),
      left: customers(),
    }),
    ({ customers, entitlements, ...told }): Told => ({
      ...told,
      isStored: true,
      digest: { customers, entitlements: new Map(Object.entries(entitlements)) },
    }),
  );

export const toldOf = (table: Table, application: ApplicationId, account: AccountId): Promise<Told | null> =>
  readItem(table, keys.told(application, account), toldItem);

export const toldCustomerItem = () => z.object({ account: shape.account() });

export const toldAccountsOf = async (
  table: Table,
  application: ApplicationId,
  customers: readonly CustomerId[],
): Promise<ReadonlyMap<CustomerId, AccountId>> => {
  const wanted = customers.map((customer) => keys.toldCustomer(application, customer));
  const found = await readItems(table, wanted, toldCustomerItem);
  return new Map(
    customers.flatMap((customer, index) => {
      const item = found[index];
      return item == null ? [] : [[customer, item.account] as const];
    }),
  );
};

/** Last version of an erased account. */
export const erasedAccountItem = () => z.object({ version: shape.integer() });

/** Deletes an account's last told state, and keeps its version under a keyed hash. */
export const toldErasure = async (
  application: ApplicationId,
  { account, version }: Told,
  keyedHash: KeyedHash,
): Promise<Write[]> => [
  deletion(keys.told(application, account), versionUnchanged(version)),
  put(keys.erasedAccount(application, await keyedHash(application, account)), {
    version,
  } satisfies Attributes<typeof erasedAccountItem>),
];

/** Last place in an application's sequence of changes; its item is leased. Absent: nothing was told. */
export const turnItem = () =>
  z.object({ sequence: z.optional(shape.integer()), toldAt: z.optional(shape.integer()) });

/** As it was told. Entitlements, of which a page of the feed has many, were written from the shape of an answer. */
const changeData = () => {
  const envelope = z.object({
    applicationIdentifier: shape.text(),
    applicationAccountIdentifier: shape.text(),
    version: shape.integer(),
    changed: shape.texts(),
    customerIdentifiers: shape.texts(),
    entitlements: z.custom(Array.isArray),
  });
  return z.custom<ChangeData>((data) => envelope.safeParse(data).success);
};

/** A version of an account. Its data is null once the account was erased. */
export const changeItem = () =>
  shape.mapped(
    z.object({
      sequence: shape.integer(),
      /** First place of the transaction that told it. */
      first: shape.integer(),
      toldAt: shape.integer(),
      data: z.nullable(shape.jsonText(changeData())),
      /** The account's change before; null: none is known. */
      previous: z.nullable(place()),
      /** Whether the data of customers erased since was removed. */
      isRedacted: z.boolean(),
    }),
    ({ sequence, ...change }) => ({ place: { day: dayOf(change.toldAt), sequence }, ...change }),
  );

/** A due look at an account. */
export const lookItem = () =>
  z.object({
    account: shape.account(),
    dueAt: shape.integer(),
    cause: z.nullable(
      z.object({
        customer: customer(),
        version: shape.integer(),
        customers: customers(),
        erased: z.boolean(),
      }),
    ),
  });

/** Makes a look due, in the transaction of the change that it must see. */
export const lookWrite = (application: ApplicationId, look: Look) => {
  const { account, dueAt, cause } = look;
  return put(keys.look(application, look), {
    account,
    dueAt,
    cause: cause === null ? null : { ...cause, customers: [...cause.customers] },
    // Expires if the application has stopped telling.
    ...expiry(dueAt + CHANGES_KEPT_MILLISECONDS),
  } satisfies Attributes<typeof lookItem>);
};

export const dueLooks = (
  table: Table,
  application: ApplicationId,
  moment: Instant,
  limit: number,
): Promise<Look[]> => {
  const range = { pk: partitions.look(application), sortKeyBefore: sortKeys.afterDueBy(moment) };
  return firstKnownItems(table, range, lookItem, limit);
};

export const makeLooksDue = (
  table: Table,
  application: ApplicationId,
  looks: readonly Look[],
): Promise<void> =>
  writeAll(
    table,
    looks.map((look) => lookWrite(application, look)),
  );
