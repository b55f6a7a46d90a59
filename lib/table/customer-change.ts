import { TransactionCanceledException, TransactionInProgressException } from "@aws-sdk/client-dynamodb";
import { TransactWriteCommand, type TransactWriteCommandInput } from "@aws-sdk/lib-dynamodb";
import type { Purchase, PurchaseReference } from "../entitlements/purchase.ts";
import type { Instant } from "../entitlements/time.ts";
import type { ApplicationId, CustomerId } from "../identifiers.ts";
import { encodeHoldings } from "./items.ts";
import { acknowledgementKey, customerPartition, keys, TABLE, type IdentityReference } from "./keys.ts";
import type { DueAcknowledgement, StoredCustomer, StoredPurchase } from "./records.ts";
import { absent, type Table } from "./table.ts";

/** All that one request changes, of one customer and of those who turn out to be the same person. */
export interface CustomerChange {
  readonly application: ApplicationId;
  /** As it was read; null: it is new. */
  readonly before: StoredCustomer | null;
  /** As it shall be; its version is given when it is written. */
  readonly after: Omit<StoredCustomer, "version" | "aliasOf">;
  /** What it holds until all purchases of a large change are written: what was held before. */
  readonly heldMeanwhile: readonly Purchase[];
  /** Customers that become aliases of this one, as they were read. */
  readonly absorbed: readonly StoredCustomer[];
  /** Identities that nobody has yet. */
  readonly identities: readonly IdentityReference[];
  /** Purchases to write, with the revision each was read at; 0: it is new. */
  readonly purchases: readonly StoredPurchase[];
  /** Acknowledgements that become due with the change, or are due no more. */
  readonly acknowledgements: {
    readonly due: readonly DueAcknowledgement[];
    readonly done: readonly { readonly purchase: PurchaseReference; readonly dueSince: Instant }[];
  };
  /** What was erased until this moment, or before, is free again. */
  readonly moment: Instant;
}

type TransactItem = NonNullable<TransactWriteCommandInput["TransactItems"]>[number];

/** DynamoDB's limit for one transaction. */
export const ITEMS_PER_TRANSACTION = 100;

/** So many customers can be absorbed in one transaction, each with its account item, beside the rest. */
export const ABSORBED_PER_TRANSACTION = 40;

const customerWrites = (
  table: string,
  { application, before, after }: CustomerChange,
  holdings: readonly Purchase[],
  versions: { readonly from: number; readonly to: number },
): TransactItem[] => {
  const encoded = encodeHoldings(holdings);
  const items: TransactItem[] = [
    {
      Put: {
        TableName: table,
        Item: {
          ...keys.customer(application, after.identifier),
          customer: after.identifier,
          createdAt: after.createdAt,
          version: versions.to,
          link: after.link,
          holdings: encoded,
          hasPurchased: after.hasPurchased,
          aliasOf: null,
        },
        ...condition(versions.from),
      },
    },
  ];
  if (after.link !== null)
    items.push({
      Put: {
        TableName: table,
        Item: {
          ...keys.accountCustomer(application, after.link.account, after.identifier),
          customer: after.identifier,
          holdings: encoded,
        },
      },
    });
  if (before !== null)
    items.push(...accountDeletion(table, application, before, after.link?.account ?? null));
  return items;
};

/** The version that was read is the version that is replaced; a new customer has none. */
const condition = (version: number) =>
  version === 0
    ? { ConditionExpression: absent }
    : { ConditionExpression: "version = :version", ExpressionAttributeValues: { ":version": version } };

const accountDeletion = (
  table: string,
  application: ApplicationId,
  { identifier, link }: StoredCustomer,
  kept: string | null,
): TransactItem[] =>
  link === null || link.account === kept
    ? []
    : [
        {
          Delete: { TableName: table, Key: keys.accountCustomer(application, link.account, identifier) },
        },
      ];

const absorption = (
  table: string,
  application: ApplicationId,
  absorbed: StoredCustomer,
  survivor: CustomerId,
): TransactItem[] => [
  {
    Put: {
      TableName: table,
      Item: {
        ...keys.customer(application, absorbed.identifier),
        customer: absorbed.identifier,
        createdAt: absorbed.createdAt,
        version: absorbed.version + 1,
        link: null,
        holdings: [],
        hasPurchased: absorbed.hasPurchased,
        aliasOf: survivor,
        owner: customerPartition(application, survivor),
      },
      ...condition(absorbed.version),
    },
  },
  ...accountDeletion(table, application, absorbed, null),
];

/** Nobody has it: it is not there, or it is only the tombstone of an erasure that is over. */
const free = (moment: Instant) => ({
  ConditionExpression: `${absent} OR erasedUntil <= :moment`,
  ExpressionAttributeValues: { ":moment": moment },
});

const identityWrite = (
  table: string,
  application: ApplicationId,
  identity: IdentityReference,
  customer: CustomerId,
  moment: Instant,
): TransactItem => ({
  Put: {
    TableName: table,
    Item: {
      ...keys.identity(application, identity),
      customer,
      owner: customerPartition(application, customer),
    },
    ...free(moment),
  },
});

const purchaseWrite = (
  table: string,
  application: ApplicationId,
  { purchase, revision, acknowledgementDueSince }: StoredPurchase,
  customer: CustomerId,
  moment: Instant,
): TransactItem => ({
  Put: {
    TableName: table,
    Item: {
      ...keys.purchase(application, purchase),
      customer,
      owner: customerPartition(application, customer),
      revision: revision + 1,
      ...purchase,
      ...(acknowledgementDueSince !== null && { acknowledgementDueSince }),
    },
    ...(revision === 0
      ? free(moment)
      : {
          ConditionExpression: "revision = :revision",
          ExpressionAttributeValues: { ":revision": revision },
        }),
  },
});

const KEPT_AFTER_DEADLINE_SECONDS = 30 * 24 * 3600;

const acknowledgementWrites = (
  table: string,
  { application, acknowledgements: { due, done } }: CustomerChange,
): TransactItem[] => [
  ...due.map(({ purchase, ...acknowledgement }) => ({
    Put: {
      TableName: table,
      Item: {
        ...acknowledgementKey(application, purchase, acknowledgement.dueSince),
        ...acknowledgement,
        store: purchase.store,
        environment: purchase.environment,
        key: purchase.key,
        // The token does not stay, even if nobody ever runs the queue.
        [TABLE.timeToLiveAttribute]: Math.ceil(acknowledgement.deadline / 1000) + KEPT_AFTER_DEADLINE_SECONDS,
      },
    },
  })),
  ...done.map(({ purchase, dueSince }) => ({
    Delete: { TableName: table, Key: acknowledgementKey(application, purchase, dueSince) },
  })),
];

/**
 * The transactions of a change, in the order in which they have to be sent. Most changes are one. A larger one begins
 * with the customer, its link, its identities and as many purchases as fit, goes on with the other purchases, and ends
 * with the holdings: when it breaks off half way, what was written is true, and the same request again completes it.
 */
export const transactionsOf = (table: string, change: CustomerChange): TransactItem[][] => {
  const { application, before, after, absorbed, identities, purchases, moment } = change;
  const version = before?.version ?? 0;
  const next = version + 1;
  const around = [
    ...absorbed.flatMap((customer) => absorption(table, application, customer, after.identifier)),
    ...identities.map((identity) => identityWrite(table, application, identity, after.identifier, moment)),
    ...acknowledgementWrites(table, change),
  ];
  const purchaseWrites = purchases.map((purchase) =>
    purchaseWrite(table, application, purchase, after.identifier, moment),
  );
  const whole = [
    ...customerWrites(table, change, after.holdings, { from: version, to: next }),
    ...around,
    ...purchaseWrites,
  ];
  if (whole.length <= ITEMS_PER_TRANSACTION) return [whole];

  const first = [
    ...customerWrites(table, change, change.heldMeanwhile, { from: version, to: next }),
    ...around,
  ];
  const transactions = [[...first, ...purchaseWrites.slice(0, ITEMS_PER_TRANSACTION - first.length)]];
  const unmoved: TransactItem = {
    ConditionCheck: {
      TableName: table,
      Key: keys.customer(application, after.identifier),
      ConditionExpression: "version = :version",
      ExpressionAttributeValues: { ":version": next },
    },
  };
  const size = ITEMS_PER_TRANSACTION - 1;
  for (let from = ITEMS_PER_TRANSACTION - first.length; from < purchaseWrites.length; from += size)
    transactions.push([unmoved, ...purchaseWrites.slice(from, from + size)]);
  const settled = { ...change, before: null };
  transactions.push(customerWrites(table, settled, after.holdings, { from: next, to: next + 1 }));
  return transactions;
};

/** Reasons of a cancelled transaction that a fresh read and another attempt can resolve. */
const CONFLICTS: ReadonlySet<string | undefined> = new Set([
  "ConditionalCheckFailed",
  "TransactionConflict",
  "ThrottlingError",
  "ProvisionedThroughputExceeded",
]);
const NO_REASON: ReadonlySet<string | undefined> = new Set(["None", undefined]);

export const isConflict = (error: unknown): boolean =>
  error instanceof TransactionInProgressException ||
  (error instanceof TransactionCanceledException &&
    (error.CancellationReasons ?? []).every(({ Code }) => NO_REASON.has(Code) || CONFLICTS.has(Code)));

/** Writes a change. `conflict`: somebody was faster; read again and decide anew. */
export const writeCustomerChange = async (
  { client, name }: Table,
  change: CustomerChange,
): Promise<"written" | "conflict"> => {
  try {
    for (const items of transactionsOf(name, change))
      await client.send(new TransactWriteCommand({ TransactItems: items }));
    return "written";
  } catch (error) {
    if (isConflict(error)) return "conflict";
    throw error;
  }
};
