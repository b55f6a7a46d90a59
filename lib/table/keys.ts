import type { NamedIdentity } from "../administration/operation-table.ts";
import type { Store } from "../contract/schemas.ts";
import type { ItemKind } from "../contract/table-access.ts";
import type { StoreInEnvironment } from "../customers/store-in-environment.ts";
import type { Forward, ForwardReference } from "../delivery/forward-queue.ts";
import type { IdentityReference } from "../entitlements/proven-purchase.ts";
import type { PurchaseReference } from "../entitlements/purchase.ts";
import { isoTime, type Instant } from "../entitlements/time.ts";
import { accountDigest } from "../telling/account-state.ts";
import type { ChangePlace } from "../telling/change.ts";
import type { Look } from "../telling/look.ts";
import {
  accountId,
  applicationId,
  type AccountId,
  type ApplicationId,
  type CustomerId,
  type KeyId,
  type PurchaseKey,
} from "../identifiers.ts";

/**
 * All keys are built in this file: no other code writes `#`. A value from a caller or a store comes last, so that it
 * cannot forge another key. Keys of customers, identities, purchases and accounts start with their application.
 */
export interface Key {
  readonly pk: string;
  readonly sk: string;
}

/** Names of the table's attributes, as in {@link Key}, and of its index from a customer to the owned items. */
export const TABLE = {
  partitionKey: "pk",
  sortKey: "sk",
  ownerIndex: "owner",
  ownerAttribute: "owner",
  timeToLiveAttribute: "expiresAt",
} as const satisfies { readonly partitionKey: keyof Key; readonly sortKey: keyof Key } & Record<
  string,
  string
>;

const applicationPartition = (application: ApplicationId): string => `APPLICATION#${application}`;

export const keys = {
  application: (application: ApplicationId): Key => ({
    pk: applicationPartition(application),
    sk: "APPLICATION",
  }),
  storeConfiguration: (application: ApplicationId, store: Store, bundleOrPackage: string): Key => ({
    pk: applicationPartition(application),
    sk: `STORE#${store}#${bundleOrPackage}`,
  }),
  catalog: (application: ApplicationId): Key => ({ pk: applicationPartition(application), sk: "CATALOG" }),
  destination: (application: ApplicationId, name: string): Key => ({
    pk: applicationPartition(application),
    sk: `DESTINATION#${name}`,
  }),
  credentialOfApplication: (application: ApplicationId, credential: KeyId): Key => ({
    pk: applicationPartition(application),
    sk: `CREDENTIAL#${credential}`,
  }),
  /** Keeps a bundle or package unique in the table, and leads from it to its application. */
  storeRegistration: (store: Store, bundleOrPackage: string): Key => ({
    pk: `STORE#${store}#${bundleOrPackage}`,
    sk: "STORE",
  }),
  credential: (credential: KeyId): Key => ({ pk: `CREDENTIAL#${credential}`, sk: "CREDENTIAL" }),
  customer: (application: ApplicationId, customer: CustomerId): Key => ({
    pk: customerPartition(application, customer),
    sk: "CUSTOMER",
  }),
  identity: (application: ApplicationId, { store, kind, environment, value }: IdentityReference): Key => ({
    pk: `${applicationPartition(application)}#IDENTITY#${store}#${kind}#${environment}#${value}`,
    sk: "IDENTITY",
  }),
  purchase: (application: ApplicationId, { store, environment, key }: PurchaseReference): Key => ({
    pk: `${applicationPartition(application)}#PURCHASE#${store}#${environment}#${key}`,
    sk: "PURCHASE",
  }),
  /** One item for each customer linked to the account. */
  accountCustomer: (application: ApplicationId, account: AccountId, customer: CustomerId): Key => ({
    pk: accountPartition(application, account),
    sk: `${ACCOUNT_CUSTOMERS}${customer}`,
  }),
  /** Customers linked to the account by clients' claims alone. */
  accountClaims: (application: ApplicationId, account: AccountId): Key => ({
    pk: accountPartition(application, account),
    sk: "CLAIMS",
  }),
  /** One item for each application of the table. */
  applicationOfTable: (application: ApplicationId): Key => ({ pk: APPLICATIONS_PARTITION, sk: application }),
  /** Format of the whole table. */
  format: (): Key => ({ pk: APPLICATIONS_PARTITION, sk: "FORMAT" }),
} as const;

export const APPLICATIONS_PARTITION = "APPLICATIONS";

/** Prefix of the sort keys of an account's customers. */
export const ACCOUNT_CUSTOMERS = "CUSTOMER#";

export const customerPartition = (application: ApplicationId, customer: CustomerId): string =>
  `${applicationPartition(application)}#CUSTOMER#${customer}`;

/** One partition per account, so reading an account is one Query. */
export const accountPartition = (application: ApplicationId, account: AccountId): string =>
  `${applicationPartition(application)}#ACCOUNT#${account}`;

/** The account whose customer a key names; null for any other key. */
export const accountOfKey = ({ pk, sk }: Key): AccountId | null => {
  const [, account] = /^APPLICATION#[^#]+#ACCOUNT#(.*)$/s.exec(pk) ?? [];
  return account === undefined || !sk.startsWith(ACCOUNT_CUSTOMERS) ? null : accountId(account);
};

/** One partition holds an application, its store configurations, catalog, destinations and credential index. */
export const partitionOfApplication = applicationPartition;

/** Questions to a store about the purchases of a bundle or package, oldest first; and the queue's own state. */
export const askPartition = ({
  application,
  store,
  bundleOrPackage,
  environment,
}: StoreInEnvironment): string =>
  `${applicationPartition(application)}#ASK#${store}#${bundleOrPackage}#${environment}`;

/**
 * Sort key after those of all questions, or looks, due by a moment. They begin with their time, and nothing else in their
 * partitions does.
 */
export const afterDueBy = (moment: Instant): string => isoTime(moment + 1);

export const askKey = (queue: StoreInEnvironment, key: PurchaseKey, dueAt: Instant): Key => ({
  pk: askPartition(queue),
  sk: `${isoTime(dueAt)}#${key}`,
});

/** Lease and pause of a queue. */
export const askStateKey = (queue: StoreInEnvironment): Key => ({ pk: askPartition(queue), sk: "STATE" });

/** Time up to which the store's list of refunds, or of failed notifications, was read. */
export const sweepKey = (queue: StoreInEnvironment): Key => ({ pk: askPartition(queue), sk: "SWEEP" });

/** Suffix of the partition keys of looks. */
export const LOOKS_SUFFIX = "#CHANGED";

/** Due looks at an application's accounts, oldest first. */
export const lookPartition = (application: ApplicationId): string =>
  `${applicationPartition(application)}${LOOKS_SUFFIX}`;

/** Beginning of the sort keys of looks: the year of the time at which they are due. */
export const LOOKS = "2";

/** The look that a key names; null for any other key. */
export const lookOfKey = ({ pk, sk }: Key): (Pick<Look, "dueAt"> & ApplicationOfKey) | null => {
  const [, application] = /^APPLICATION#([^#]+)#CHANGED$/.exec(pk) ?? [];
  const dueAt = Date.parse(sk.split("#", 1)[0] ?? "");
  return application === undefined || Number.isNaN(dueAt)
    ? null
    : { application: applicationId(application), dueAt };
};

/** Each write of a customer has its own look, so that a look that was not read is never deleted. */
export const lookKey = (application: ApplicationId, { account, dueAt, cause }: Look): Key => ({
  pk: lookPartition(application),
  sk: [
    isoTime(dueAt),
    accountDigest(account),
    ...(cause === null ? [] : [cause.customer, `${cause.version}${cause.erased ? "-erased" : ""}`]),
  ].join("#"),
});

/** An account's last told state. */
export const toldKey = (application: ApplicationId, account: AccountId): Key => ({
  pk: `${applicationPartition(application)}#TOLD#${accountDigest(account)}`,
  sk: "TOLD",
});

/** Last version of an erased account, by a keyed hash of it. */
export const erasedAccountKey = (application: ApplicationId, keyedHash: string): Key => ({
  pk: `${applicationPartition(application)}#TOLD#ERASED#${keyedHash}`,
  sk: "TOLD",
});

/** Account of a customer, as last told. */
export const toldCustomerKey = (application: ApplicationId, customer: CustomerId): Key => ({
  pk: `${applicationPartition(application)}#TOLD#CUSTOMER#${customer}`,
  sk: "TOLD",
});

/** Last place in an application's sequence of changes, and the worker that tells. */
export const sequenceKey = (application: ApplicationId): Key => ({
  pk: `${applicationPartition(application)}#CHANGES`,
  sk: "SEQUENCE",
});

/** Changes of an application that were told on a UTC day, in the order of the sequence. */
export const changePartition = (application: ApplicationId, day: string): string =>
  `${applicationPartition(application)}#CHANGES#${day}`;

/** Digits of the largest safe integer, so that sort keys order as numbers. */
const SEQUENCE_DIGITS = 16;

export const changeSortKey = (sequence: number): string => String(sequence).padStart(SEQUENCE_DIGITS, "0");

export const changeKey = (application: ApplicationId, { day, sequence }: ChangePlace): Key => ({
  pk: changePartition(application, day),
  sk: changeSortKey(sequence),
});

/** Health of a destination, and its deliveries. */
export const destinationPartition = (application: ApplicationId, name: string): string =>
  `${applicationPartition(application)}#DESTINATION#${name}`;

export const destinationHealthKey = (application: ApplicationId, name: string): Key => ({
  pk: destinationPartition(application, name),
  sk: "HEALTH",
});

/** Prefix of the sort keys of notifications to forward, oldest first. Nothing else in their partitions comes before. */
export const FORWARDS = "FORWARD#";

/** Notifications of a bundle that wait to be forwarded, and the health of the service that takes them. */
export const forwardPartition = ({ application, bundleIdentifier }: ForwardReference): string =>
  `${applicationPartition(application)}#FORWARD#${bundleIdentifier}`;

export const forwardKey = (
  reference: ForwardReference,
  { identifier, nextTryAt }: Pick<Forward, "identifier" | "nextTryAt">,
): Key => ({ pk: forwardPartition(reference), sk: `${FORWARDS}${isoTime(nextTryAt)}#${identifier}` });

/** Sort key after those of all notifications due by a moment. */
export const afterForwardsBy = (moment: Instant): string => `${FORWARDS}${afterDueBy(moment)}`;

export const forwardHealthKey = (reference: ForwardReference): Key => ({
  pk: forwardPartition(reference),
  sk: "HEALTH",
});

interface ApplicationOfKey {
  readonly application: ApplicationId;
}

/** The application of the delivery, or the notification to forward, that a key names; null for any other key. */
export const deliveryOfKey = ({ pk, sk }: Key): ApplicationId | null => {
  const [, application] = /^APPLICATION#([^#]+)#(?:DESTINATION|FORWARD)#[^#]+$/.exec(pk) ?? [];
  return application === undefined || !(isDelivery({ sk }) || sk.startsWith(FORWARDS))
    ? null
    : applicationId(application);
};

/** Beginning of the partition keys of all that applications have. */
export const APPLICATIONS_PREFIX = "APPLICATION";

/** Prefix of the sort keys of accounts to deliver: one item for each account, of its newest version. */
export const DELIVERIES = "ACCOUNT#";

/** Prefix of the sort keys of stores' requests to deliver. */
export const REQUESTS = "REQUEST#";

/** Whether an item of a destination's partition is to be delivered. */
export const isDelivery = ({ sk }: Pick<Key, "sk">): boolean =>
  sk.startsWith(DELIVERIES) || sk.startsWith(REQUESTS);

/** @param request identifies the store's request among those of its application */
export const requestDeliveryKey = (application: ApplicationId, name: string, request: string): Key => ({
  pk: destinationPartition(application, name),
  sk: `${REQUESTS}${request}`,
});

export const deliveryKey = (application: ApplicationId, name: string, account: AccountId): Key => ({
  pk: destinationPartition(application, name),
  sk: `${DELIVERIES}${accountDigest(account)}`,
});

/** Last notifications of all applications' bundles and packages, by application, store and environment. */
export const NOTIFICATIONS_PARTITION = "NOTIFICATIONS";

/** Prefix of the sort keys of an application's last notifications. */
export const notificationPrefix = (application: ApplicationId): string => `${application}#`;

export const notificationKey = ({
  application,
  store,
  environment,
  bundleOrPackage,
}: StoreInEnvironment): Key => ({
  pk: NOTIFICATIONS_PARTITION,
  sk: `${notificationPrefix(application)}${store}#${environment}#${bundleOrPackage}`,
});

/** Audit of operators' acts on an application, ordered by time. */
export const auditPartition = (application: ApplicationId): string =>
  `${applicationPartition(application)}#AUDIT`;

export const auditKey = (application: ApplicationId, moment: Instant, entry: string): Key => ({
  pk: auditPartition(application),
  sk: `${isoTime(moment)}#${entry}`,
});

/** Transfers of customers by links, ordered by time. Functions write them; they may not write the audit. */
export const transfersPartition = (application: ApplicationId): string =>
  `${applicationPartition(application)}#TRANSFERS`;

export const transferKey = (application: ApplicationId, moment: Instant, entry: string): Key => ({
  pk: transfersPartition(application),
  sk: `${isoTime(moment)}#${entry}`,
});

/** The identity that a key names; null for any other key. */
export const identityOfKey = ({ pk, sk }: Key): NamedIdentity | null => {
  const [, store, kind, environment, value] =
    /^APPLICATION#[^#]+#IDENTITY#([^#]+)#([^#]+)#([^#]+)#(.*)$/s.exec(pk) ?? [];
  if (sk !== "IDENTITY" || store === undefined || environment === undefined || value === undefined)
    return null;
  return kind === "app-transaction" ? { store, kind, environment, value } : null;
};

/** Any application's identifier, a UUID: a wildcard of another length would match what follows it, too. */
const anyApplication = (): string => applicationPartition(applicationId("?".repeat(36)));

/**
 * Partition keys of each kind of items, as IAM's `StringLike` matches them: `?` is one character, `*` any number. They separate
 * kinds, not tenants: each function works for all applications.
 *
 * @see https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_elements_condition_operators.html
 */
export const partitionPatterns = (application = anyApplication()): Readonly<Record<ItemKind, string>> => ({
  application,
  "application-list": APPLICATIONS_PARTITION,
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
  notification: NOTIFICATIONS_PARTITION,
});

/** Keys that end with an account, a purchase or an identity, split before that last part. */
const NAMING =
  /^(APPLICATION#[^#]*#(?:ACCOUNT#|PURCHASE#[^#]*#[^#]*#|IDENTITY#[^#]*#[^#]*#[^#]*#)|\d{4}-[^#]*#)(.+)$/s;

/** A partition or sort key for logs: a last part that identifies somebody is replaced by the start of its SHA-256. */
export const loggedKey = (part: string): string =>
  part.replace(
    NAMING,
    (_, kind: string, value: string) => `${kind}${accountDigest(accountId(value)).slice(0, 12)}…`,
  );

/** Map key of a key. */
export const keyText = ({ pk, sk }: Key): string => JSON.stringify([pk, sk]);

/** Inverse of {@link keyText}. */
export const keyOf = (text: string): Key => {
  const [pk, sk] = JSON.parse(text) as [string, string];
  return { pk, sk };
};
