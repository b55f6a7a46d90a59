import * as z from "zod/mini";
import type { AccountId, ApplicationId, CustomerId } from "../../identifiers.ts";
import { once } from "../../once.ts";
import { NO_STATE } from "../../telling/account-state.ts";
import { dayOf, type ChangeData } from "../../telling/change.ts";
import type { KeyedHash, Told } from "../../telling/change-table.ts";
import { versionUnchanged } from "../dynamodb/conditions.ts";
import { isInteger, isListOf, isText, type Guard } from "../dynamodb/positions.ts";
import { readItem, readItems } from "../dynamodb/reads.ts";
import * as shape from "../dynamodb/shapes.ts";
import type { Attributes, Table } from "../dynamodb/table.ts";
import { deletion, put, type Write } from "../dynamodb/writes.ts";
import { keys } from "../keys.ts";

const place = once(() => z.object({ day: shape.text(), sequence: shape.integer() }));
const customers = once(() => z.array(shape.branded<CustomerId>(shape.text())));

/** The version that an account was last told. */
export const toldItem = once(() =>
  shape.mapped(
    z.object({
      account: shape.account(),
      version: shape.integer(),
      customers: customers(),
      entitlements: z.record(shape.text(), shape.text()),
      lookAt: shape.nullableInteger(),
      last: z.nullable(place()),
      left: shape.optional(customers(), []),
    }),
    ({ customers, entitlements, ...told }): Told => ({
      ...told,
      isStored: true,
      digest: { customers, entitlements: new Map(Object.entries(entitlements)) },
    }),
  ),
);

/** An account of which nothing was published. */
export const neverPublished = (account: AccountId, version: number): Told => ({
  account,
  version,
  isStored: false,
  digest: NO_STATE,
  lookAt: null,
  last: null,
  left: [],
});

/** Null: nothing was told, or the account was erased since. */
export const toldOf = (table: Table, application: ApplicationId, account: AccountId): Promise<Told | null> =>
  readItem(table, keys.told(application, account), toldItem);

export const toldCustomerItem = once(() => z.object({ account: shape.account() }));

/** Accounts of the customers, as last told; customers without one are left out. */
export const toldAccountsOf = async (
  table: Table,
  application: ApplicationId,
  customers: readonly CustomerId[],
): Promise<ReadonlyMap<CustomerId, AccountId>> => {
  const wanted = customers.map((customer) => keys.toldCustomer(application, customer));
  const found = await readItems(table, wanted, toldCustomerItem);
  return new Map(
    customers.flatMap((customer, index) => {
      const { account } = found[index] ?? {};
      return account === undefined ? [] : [[customer, account] as const];
    }),
  );
};

/** Last version of an erased account. */
export const erasedAccountItem = once(() => z.object({ version: shape.integer() }));

/** Deletes what an account was told, and keeps its version under a keyed hash of the account. */
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
export const turnItem = once(() =>
  z.object({ sequence: z.optional(shape.integer()), toldAt: z.optional(shape.integer()) }),
);

const areTexts = isListOf(isText);

/** The envelope alone, for speed: its entitlements were written from the shape of an answer, and a page of the feed has many. */
const isChangeData: Guard<ChangeData> = (value): value is ChangeData => {
  const data: Partial<Record<keyof ChangeData, unknown>> =
    typeof value === "object" && value !== null ? value : {};
  return (
    isText(data.applicationIdentifier) &&
    isText(data.applicationAccountIdentifier) &&
    isInteger(data.version) &&
    areTexts(data.changed) &&
    areTexts(data.customerIdentifiers) &&
    Array.isArray(data.entitlements)
  );
};

/** A version of an account. Its data is text, so that it stays as it was told; absent once the account was erased. */
export const changeItem = once(() =>
  shape.mapped(
    z.object({
      sequence: shape.integer(),
      /** First place of the transaction that told it. */
      first: shape.integer(),
      toldAt: shape.integer(),
      data: shape.optional(z.nullable(shape.jsonText(isChangeData)), null),
      /** The account's change before; absent: none is known. */
      previous: shape.optional(z.nullable(place()), null),
      /** Whether the data of customers erased since was removed; absent: it is as it was told. */
      isRedacted: shape.optional(z.boolean(), false),
    }),
    ({ sequence, ...change }) => ({
      place: { day: dayOf(change.toldAt), sequence },
      ...change,
    }),
  ),
);
