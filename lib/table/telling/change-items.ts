import * as z from "zod/mini";
import type { Destination } from "../../applications/destination.ts";
import { epochSeconds } from "../../duration.ts";
import type { AccountId, ApplicationId, CustomerId } from "../../identifiers.ts";
import { once } from "../../once.ts";
import { NO_STATE } from "../../telling/account-state.ts";
import {
  CHANGES_KEPT_MILLISECONDS,
  type ChangeData,
  type ChangePlace,
  type FeedChange,
} from "../../telling/change.ts";
import type { AccountTelling, Told } from "../../telling/change-table.ts";
import type { Look } from "../../telling/look.ts";
import { eachKeyOnce } from "../dynamodb/batch-reader.ts";
import { absent, versionUnchanged } from "../dynamodb/conditions.ts";
import { deliveryWrite } from "./deliveries.ts";
import { keyText, TABLE } from "../dynamodb/key.ts";
import { keys } from "../keys.ts";
import { jsonIn } from "../dynamodb/json-text.ts";
import { lookWrite } from "./looks.ts";
import { isInteger, isListOf, isText, type Guard } from "../dynamodb/positions.ts";
import * as shape from "../dynamodb/shapes.ts";
import {
  MalformedItemError,
  parseItem,
  type Attributes,
  type Item,
  type TimeToLive,
} from "../dynamodb/table.ts";
import { deletion, put, setAttributes, type TransactItem } from "../dynamodb/writes.ts";

const place = once(() => z.object({ day: shape.text(), sequence: shape.integer() }));
const areTexts = isListOf(isText);
const account = () => shape.branded<AccountId>(shape.text());

const toldItem = once(() =>
  z.object({
    account: account(),
    version: shape.integer(),
    customers: z.array(shape.branded<CustomerId>(shape.text())),
    entitlements: z.record(shape.text(), shape.text()),
    lookAt: shape.nullableInteger(),
    last: z.nullable(place()),
    left: z.optional(z.array(shape.branded<CustomerId>(shape.text()))),
  }),
);

export const toldCustomerItem = once(() => z.object({ account: account() }));

/** Last version of an erased account. */
export const erasedAccountItem = once(() => z.object({ version: shape.integer() }));

/** Last place in an application's sequence of changes; its item is leased. Absent: nothing was told. */
export const turnItem = once(() =>
  z.object({ sequence: z.optional(shape.integer()), toldAt: z.optional(shape.integer()) }),
);

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
  z.object({
    sequence: shape.integer(),
    /** First place of the transaction that told it. */
    first: shape.integer(),
    toldAt: shape.integer(),
    data: z.optional(shape.text()),
    /** Whether its account was erased since, and its data with it. */
    isEmptied: z.optional(z.boolean()),
    /** The account's change before; absent: none is known. */
    previous: z.optional(place()),
    /** Whether the data of customers erased since was removed; absent: it is as it was told. */
    isRedacted: z.optional(z.boolean()),
  }),
);

export const fromToldItem = (item: Item): Told => {
  const { customers, entitlements, left = [], ...told } = parseItem(toldItem, item);
  return {
    ...told,
    left,
    isStored: true,
    digest: { customers, entitlements: new Map(Object.entries(entitlements)) },
  };
};

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

/** Place and time of a change, and the first place of its transaction. */
interface PlacedChange {
  readonly place: ChangePlace;
  readonly first: number;
  readonly toldAt: number;
}

const changeWrite = (
  table: string,
  application: ApplicationId,
  at: PlacedChange,
  data: ChangeData,
  previous: ChangePlace | null,
): TransactItem =>
  put(table, keys.change(application, at.place), {
    sequence: at.place.sequence,
    first: at.first,
    toldAt: at.toldAt,
    data: JSON.stringify(data),
    ...(previous !== null && { previous }),
    // A day longer than it is answered, so that answers have no gaps.
    [TABLE.timeToLiveAttribute]: epochSeconds(at.toldAt + CHANGES_KEPT_MILLISECONDS) + 24 * 3600,
  } satisfies Attributes<typeof changeItem> & TimeToLive);

/** @throws MalformedItemError */
export const changeDataIn = (item: Item, written: string): ChangeData => {
  const data = jsonIn(written);
  if (!isChangeData(data)) throw new MalformedItemError(item, new Error("at data"));
  return data;
};

export const fromChangeItem = (day: string, item: Item): FeedChange => {
  const { sequence, first, toldAt, data } = parseItem(changeItem, item);
  return {
    place: { day, sequence },
    first,
    toldAt,
    data: data === undefined ? null : changeDataIn(item, data),
  };
};

const looksAfter = ({
  before,
  lookAt,
}: AccountTelling): { readonly from: Look | null; readonly to: Look | null } => {
  const lookOf = (dueAt: number | null): Look | null =>
    dueAt === null ? null : { account: before.account, dueAt, cause: null };
  return before.lookAt === lookAt
    ? { from: null, to: null }
    : { from: lookOf(before.lookAt), to: lookOf(lookAt) };
};

/** Transaction items of one account's telling. */
export const accountWrites = (
  table: string,
  application: ApplicationId,
  telling: AccountTelling,
  change: PlacedChange | null,
  destinations: readonly Destination[],
): TransactItem[] => {
  const { before, looks, digest, lookAt, gained, lost, left, data } = telling;
  const { from, to } = looksAfter(telling);
  const read = eachKeyOnce(
    [...looks, ...(from === null ? [] : [from])].map((look) => keys.look(application, look)),
  );
  const set = to === null ? null : keys.look(application, to);
  const told = {
    account: before.account,
    version: data?.version ?? before.version,
    customers: [...digest.customers],
    entitlements: Object.fromEntries(digest.entitlements),
    lookAt,
    last: change?.place ?? before.last,
    ...(left.length > 0 && { left: [...left] }),
  } satisfies Attributes<typeof toldItem>;
  const isUnchanged = data === null && lookAt === before.lookAt && lost.length === 0;
  const toldWrite = setAttributes(
    table,
    keys.told(application, before.account),
    { left: undefined, ...told },
    before.isStored ? versionUnchanged(before.version) : absent,
  );
  return [
    ...(isUnchanged ? [] : [toldWrite]),
    ...read.filter((key) => set === null || keyText(key) !== keyText(set)).map((key) => deletion(table, key)),
    ...(to === null ? [] : [lookWrite(table, application, to)]),
    ...lost.map((customer) => deletion(table, keys.toldCustomer(application, customer))),
    ...gained.map((customer) =>
      put(table, keys.toldCustomer(application, customer), {
        account: before.account,
      } satisfies Attributes<typeof toldCustomerItem>),
    ),
    ...(data === null || change === null
      ? []
      : [
          changeWrite(table, application, change, data, before.last),
          ...destinations.map(({ name }) =>
            deliveryWrite(table, application, name, {
              account: before.account,
              version: data.version,
              place: change.place,
              since: change.toldAt,
            }),
          ),
        ]),
  ];
};

/** Placeholder for counting items. */
export const UNPLACED: PlacedChange = { place: { day: "", sequence: 0 }, first: 0, toldAt: 0 };
