import { accountDigest } from "../account-digest.ts";
import type { Store } from "../contract/schemas.ts";
import type { ItemKind } from "../contract/table-access.ts";
import type { StoreInEnvironment } from "../customers/application-stores.ts";
import type { DestinationReference, Forward, ForwardReference } from "../delivery/delivery-queue.ts";
import type { IdentityReference, PurchaseReference } from "../entitlements/purchase.ts";
import { isoTime, type Instant } from "../entitlements/time.ts";
import {
  applicationId,
  type AccountId,
  type ApplicationId,
  type CustomerId,
  type KeyId,
  type PurchaseKey,
} from "../identifiers.ts";
import type { ChangePlace, Look } from "../telling/change.ts";

export interface Key {
  readonly pk: string;
  readonly sk: string;
}

/** Names of the table's attributes, and of its index from a customer to the owned items. */
export const TABLE = {
  partitionKey: "pk",
  sortKey: "sk",
  ownerIndex: "owner",
  ownerAttribute: "owner",
  timeToLiveAttribute: "timeToLive",
} as const satisfies Record<string, string> & { partitionKey: keyof Key; sortKey: keyof Key };

export const keyText = ({ pk, sk }: Key): string => JSON.stringify([pk, sk]);

/** Inverse of {@link keyText}. */
export const keyOf = (text: string): Key => {
  const [pk, sk] = JSON.parse(text) as [string, string];
  return { pk, sk };
};

/** Beginnings of partition and sort keys, by which the table's stream and queries select items. */
export const prefixes = {
  /** Partition keys of all that applications have. */
  application: "APPLICATION",
  /** Sort keys of an account's customers. */
  customer: "CUSTOMER#",
  /** Sort keys of looks: the first digit of the year in which they are due. */
  look: "2",
  /** Sort keys of accounts to deliver: one item for each account, of its newest version. */
  delivery: "ACCOUNT#",
  /** Sort keys of stores' requests to deliver. */
  requestDelivery: "REQUEST#",
  /** Sort keys of notifications to forward. Nothing else in their partitions comes before. */
  forward: "FORWARD#",
  notification: (application: ApplicationId): string => `${application}#`,
} as const;

/** Suffix of the partition keys of looks. */
export const LOOKS_SUFFIX = "#CHANGED";

const at = (pk: string, sk: string): Key => ({ pk, sk });

const applicationPartition = (application: ApplicationId): string => `APPLICATION#${application}`;

/** Partitions that are read by Query. */
export const partitions = {
  /** An application, its store configurations, catalog, destinations and credential index. */
  application: applicationPartition,
  /** The list of applications. */
  applications: "APPLICATIONS",
  customer: (application: ApplicationId, customer: CustomerId): string =>
    `${applicationPartition(application)}#CUSTOMER#${customer}`,
  /** One partition per account, so reading an account is one Query. */
  account: (application: ApplicationId, account: AccountId): string =>
    `${applicationPartition(application)}#ACCOUNT#${account}`,
  /** Questions to a store about a bundle's or package's purchases, oldest first; and the queue's own state. */
  ask: ({ application, store, bundleOrPackage, environment }: StoreInEnvironment): string =>
    `${applicationPartition(application)}#ASK#${store}#${bundleOrPackage}#${environment}`,
  /** Due looks at an application's accounts, oldest first. */
  look: (application: ApplicationId): string => `${applicationPartition(application)}${LOOKS_SUFFIX}`,
  /** Changes of an application that were told on a UTC day, in the order of the sequence. */
  change: (application: ApplicationId, day: string): string =>
    `${applicationPartition(application)}#CHANGES#${day}`,
  /** Health of a destination, and its deliveries. */
  destination: ({ application, destination }: DestinationReference): string =>
    `${applicationPartition(application)}#DESTINATION#${destination}`,
  /** Notifications of a bundle that wait to be forwarded, and the health of the service that takes them. */
  forward: ({ application, bundleIdentifier }: ForwardReference): string =>
    `${applicationPartition(application)}#FORWARD#${bundleIdentifier}`,
  /** Last notifications of all bundles and packages, by application, store and environment. */
  notifications: "NOTIFICATIONS",
  /** Operators' acts on an application, ordered by time. */
  audit: (application: ApplicationId): string => `${applicationPartition(application)}#AUDIT`,
  /** Transfers of customers by links, ordered by time. Functions write them; they may not write the audit. */
  transfers: (application: ApplicationId): string => `${applicationPartition(application)}#TRANSFERS`,
} as const;

/** Parts of sort keys, for queries of a range. */
export const sortKeys = {
  /** After all questions, or looks, due by a moment. */
  afterDueBy: (moment: Instant): string => isoTime(moment + 1),
  afterForwardsBy: (moment: Instant): string => `${prefixes.forward}${isoTime(moment + 1)}`,
  /** Padded to the digits of the largest safe integer, so that sort keys order as numbers. */
  change: (sequence: number): string => String(sequence).padStart(16, "0"),
} as const;

/**
 * Keys of all items. No other code writes `#`. A value from a caller or a store comes last, so that it cannot forge
 * another key.
 */
export const keys = {
  application: (application: ApplicationId) => at(applicationPartition(application), "APPLICATION"),
  storeConfiguration: (application: ApplicationId, store: Store, bundleOrPackage: string) =>
    at(applicationPartition(application), `STORE#${store}#${bundleOrPackage}`),
  catalog: (application: ApplicationId) => at(applicationPartition(application), "CATALOG"),
  destination: (application: ApplicationId, name: string) =>
    at(applicationPartition(application), `DESTINATION#${name}`),
  credentialOfApplication: (application: ApplicationId, credential: KeyId) =>
    at(applicationPartition(application), `CREDENTIAL#${credential}`),
  /** Keeps a bundle or package unique in the table, and leads from it to its application. */
  storeRegistration: (store: Store, bundleOrPackage: string) =>
    at(`STORE#${store}#${bundleOrPackage}`, "STORE"),
  credential: (credential: KeyId) => at(`CREDENTIAL#${credential}`, "CREDENTIAL"),
  customer: (application: ApplicationId, customer: CustomerId) =>
    at(partitions.customer(application, customer), "CUSTOMER"),
  identity: (application: ApplicationId, { store, kind, environment, value }: IdentityReference) =>
    at(`${applicationPartition(application)}#IDENTITY#${store}#${kind}#${environment}#${value}`, "IDENTITY"),
  purchase: (application: ApplicationId, { store, environment, key }: PurchaseReference) =>
    at(`${applicationPartition(application)}#PURCHASE#${store}#${environment}#${key}`, "PURCHASE"),
  /** One item for each customer linked to the account. */
  accountCustomer: (application: ApplicationId, account: AccountId, customer: CustomerId) =>
    at(partitions.account(application, account), `${prefixes.customer}${customer}`),
  /** Customers linked to the account by clients' claims alone. */
  accountClaims: (application: ApplicationId, account: AccountId) =>
    at(partitions.account(application, account), "CLAIMS"),
  /** One item for each application of the table. */
  applicationOfTable: (application: ApplicationId) => at(partitions.applications, application),
  /** Format of the whole table. */
  format: () => at(partitions.applications, "FORMAT"),
  ask: (queue: StoreInEnvironment, key: PurchaseKey, dueAt: Instant) =>
    at(partitions.ask(queue), `${isoTime(dueAt)}#${key}`),
  /** Lease and pause of a queue. */
  askState: (queue: StoreInEnvironment) => at(partitions.ask(queue), "STATE"),
  /** Time up to which the store's list of refunds, or of failed notifications, was read. */
  sweep: (queue: StoreInEnvironment) => at(partitions.ask(queue), "SWEEP"),
  /** Each write of a customer has its own look, so that a look that was not read is never deleted. */
  look: (application: ApplicationId, { account, dueAt, cause }: Look) => {
    const write = cause === null ? [] : [cause.customer, `${cause.version}${cause.erased ? "-erased" : ""}`];
    return at(partitions.look(application), [isoTime(dueAt), accountDigest(account), ...write].join("#"));
  },
  /** An account's last told state. */
  told: (application: ApplicationId, account: AccountId) =>
    at(`${applicationPartition(application)}#TOLD#${accountDigest(account)}`, "TOLD"),
  /** Last version of an erased account, by a keyed hash of it. */
  erasedAccount: (application: ApplicationId, keyedHash: string) =>
    at(`${applicationPartition(application)}#TOLD#ERASED#${keyedHash}`, "TOLD"),
  /** Account of a customer, as last told. */
  toldCustomer: (application: ApplicationId, customer: CustomerId) =>
    at(`${applicationPartition(application)}#TOLD#CUSTOMER#${customer}`, "TOLD"),
  /** Last place in an application's sequence of changes, and the worker that tells. */
  sequence: (application: ApplicationId) => at(`${applicationPartition(application)}#CHANGES`, "SEQUENCE"),
  change: (application: ApplicationId, { day, sequence }: ChangePlace) =>
    at(partitions.change(application, day), sortKeys.change(sequence)),
  destinationHealth: (destination: DestinationReference) => at(partitions.destination(destination), "HEALTH"),
  delivery: (destination: DestinationReference, account: AccountId) =>
    at(partitions.destination(destination), `${prefixes.delivery}${accountDigest(account)}`),
  /** @param request identifies the store's request among those of its application */
  requestDelivery: (destination: DestinationReference, request: string) =>
    at(partitions.destination(destination), `${prefixes.requestDelivery}${request}`),
  forward: (bundle: ForwardReference, { identifier, nextTryAt }: Pick<Forward, "identifier" | "nextTryAt">) =>
    at(partitions.forward(bundle), `${prefixes.forward}${isoTime(nextTryAt)}#${identifier}`),
  forwardHealth: (bundle: ForwardReference) => at(partitions.forward(bundle), "HEALTH"),
  notification: ({ application, store, environment, bundleOrPackage }: StoreInEnvironment) =>
    at(
      partitions.notifications,
      `${prefixes.notification(application)}${store}#${environment}#${bundleOrPackage}`,
    ),
  audit: (application: ApplicationId, moment: Instant, entry: string) =>
    at(partitions.audit(application), `${isoTime(moment)}#${entry}`),
  transfer: (application: ApplicationId, moment: Instant, entry: string) =>
    at(partitions.transfers(application), `${isoTime(moment)}#${entry}`),
} as const;

/**
 * Partition keys of each kind of items, as IAM's `StringLike` matches them, of all applications.
 *
 * @see https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_elements_condition_operators.html
 */
export const partitionPatterns = (): Readonly<Record<ItemKind, string>> => {
  // A UUID's length: a wildcard of another one would match what follows it, too.
  const application = partitions.application(applicationId("?".repeat(36)));
  return {
    application,
    "application-list": partitions.applications,
    "store-registration": "STORE#*",
    credential: "CREDENTIAL#*",
    account: `${application}#ACCOUNT#*`,
    customer: `${application}#CUSTOMER#*`,
    identity: `${application}#IDENTITY#*`,
    purchase: `${application}#PURCHASE#*`,
    transfer: `${application}#TRANSFERS`,
    ask: `${application}#ASK#*`,
    look: `${application}${LOOKS_SUFFIX}`,
    told: `${application}#TOLD#*`,
    change: `${application}#CHANGES*`,
    delivery: `${application}#DESTINATION#*`,
    forward: `${application}#FORWARD#*`,
    notification: partitions.notifications,
  };
};

/** The look that a key names; null for any other key. */
export const lookOfKey = ({
  pk,
  sk,
}: Key): { readonly application: ApplicationId; readonly dueAt: Instant } | null => {
  const [, application] = /^APPLICATION#([^#]+)#CHANGED$/.exec(pk) ?? [];
  const dueAt = Date.parse(sk.split("#", 1)[0] ?? "");
  return application === undefined || Number.isNaN(dueAt)
    ? null
    : { application: applicationId(application), dueAt };
};

/** Whether an item of a destination's partition is to be delivered. */
export const isDelivery = ({ sk }: Pick<Key, "sk">): boolean =>
  sk.startsWith(prefixes.delivery) || sk.startsWith(prefixes.requestDelivery);

/** The application of the delivery, or the notification to forward, that a key names; null for any other key. */
export const deliveryOfKey = ({ pk, sk }: Key): ApplicationId | null => {
  const [, application] = /^APPLICATION#([^#]+)#(?:DESTINATION|FORWARD)#[^#]+$/.exec(pk) ?? [];
  return application === undefined || !(isDelivery({ sk }) || sk.startsWith(prefixes.forward))
    ? null
    : applicationId(application);
};

/** The identity that a key names; null for any other key. */
export const identityOfKey = ({
  pk,
  sk,
}: Key):
  | (Pick<IdentityReference, "kind" | "value"> & { readonly store: string; readonly environment: string })
  | null => {
  const [, store, kind, environment, value] =
    /^APPLICATION#[^#]+#IDENTITY#([^#]+)#([^#]+)#([^#]+)#(.*)$/s.exec(pk) ?? [];
  if (sk !== "IDENTITY" || store === undefined || environment === undefined || value === undefined)
    return null;
  return kind === "app-transaction" ? { store, kind, environment, value } : null;
};
