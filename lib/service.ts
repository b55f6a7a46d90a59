import { setTimeout as sleep } from "node:timers/promises";
import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { DynamoDBDocumentClient } from "@aws-sdk/lib-dynamodb";
import { v7 as uuid } from "uuid";
import type { Application, ApplicationDirectory } from "./applications/application.ts";
import { authorize, type Decision } from "./applications/authorize.ts";
import { createApplicationDirectory } from "./applications/directory.ts";
import type {
  AccountEntitlements,
  AndroidStoreLinkRequest,
  IosStoreLinkRequest,
  IosStoreSynchronizeRequest,
  LinkResponse,
  SynchronizeResponse,
} from "./contract/schemas.ts";
import {
  acknowledgeDuePurchases,
  type AcknowledgementReport,
} from "./customers/acknowledge-due-purchases.ts";
import type { Bury } from "./customers/bury-remains.ts";
import { loadAccountReport, type AccountReport } from "./customers/account-report.ts";
import { loadCustomerReport } from "./customers/customer-report.ts";
import { findCustomersKnownAs } from "./customers/find-customers.ts";
import { linkIosStoreCustomer, synchronizeIosStorePurchases } from "./customers/ios-store-customers.ts";
import { linkAndroidStoreCustomer } from "./customers/link-android-store-customer.ts";
import {
  eraseCustomer,
  reprojectApplication,
  unlinkCustomer,
  type Authority,
  type Erasure,
  type Operations,
  type Reprojection,
  type UnlinkingOptions,
} from "./customers/operations.ts";
import { readAccount } from "./customers/read-account.ts";
import type { EvidenceStore } from "./customers/store-evidence.ts";
import type { Instant } from "./entitlements/time.ts";
import { accountId, customerId, type AccountId, type ApplicationId, type CustomerId } from "./identifiers.ts";
import {
  observedAndroidStore,
  observedCustomerTable,
  observedVerifier,
  observedWrite,
  type Observe,
} from "./observation.ts";
import { createAndroidStore, type AndroidStore } from "./stores/android-store/android-store.ts";
import { createIosStoreVerifier } from "./stores/ios-store/verifier.ts";
import { createAcknowledgementQueue } from "./table/acknowledgements.ts";
import { createApplicationTable } from "./table/applications.ts";
import { createCredentialTable } from "./table/credentials.ts";
import { bury } from "./table/burial.ts";
import { writeCustomerChange, type CustomerChange } from "./table/customer-change.ts";
import { createCustomerTable } from "./table/customers.ts";
import { createOperationTable } from "./table/operations.ts";
import type { Table } from "./table/table.ts";

/**
 * Composition: configuration in, wired use cases out. Each function composes the one it serves, so that its bundle
 * holds nothing else.
 */
export interface ServiceConfiguration {
  readonly table: Table;
  readonly now: () => Instant;
  /** Takes what is worth counting; unset: nobody does. */
  readonly observe?: Observe;
}

/** Applications, their configurations and catalogs may be this old: a changed catalog acts after at most this long. */
const DIRECTORY_AGE_MILLISECONDS = 60_000;

/** Customers that an account may have by clients' claims alone. */
const CLAIMS_PER_ACCOUNT = 20;

/**
 * Connection timeout of each of the SDK's three attempts. TCP resends a lost packet after a second, and a function that
 * starts on a busy machine may get no processor for longer: with one second, three attempts failed within 3.2 s, a 500.
 * From two seconds on the SDK's timer has two steps, so a pause of this process alone ends no attempt. Three attempts end
 * after 7.7 s, within the 10 s of the shortest function and the 29 s of API Gateway.
 */
const CONNECT_WITHIN_MILLISECONDS = 2_500;
/** Timeout of each attempt, its connection included: three end after 15 s, within the 28 s of the functions that write. */
const ANSWER_WITHIN_MILLISECONDS = 5_000;
const LONGEST_PAUSE_MILLISECONDS = 500;

/** The table, reached with what the environment of the AWS SDK says (region, credentials, endpoint). */
export const openTable = (name: string): Table => ({
  name,
  client: DynamoDBDocumentClient.from(
    new DynamoDBClient({
      requestHandler: {
        connectionTimeout: CONNECT_WITHIN_MILLISECONDS,
        requestTimeout: ANSWER_WITHIN_MILLISECONDS,
        throwOnRequestTimeout: true,
      },
    }),
  ),
});

/** Full jitter: those who met once do not meet again at the same moment. */
const pause = (attempt: number): Promise<void> =>
  sleep(Math.random() * Math.min(LONGEST_PAUSE_MILLISECONDS, 10 * 2 ** attempt));

/** The index of owners follows its table within a fraction of a second; DynamoDB promises no bound. */
const INDEX_BEHIND_MILLISECONDS = 1_000;

/** For {@link composeOperations}. */
export const waitForIndex = (): Promise<void> => sleep(INDEX_BEHIND_MILLISECONDS);

const directoryOf = ({ table, now }: ServiceConfiguration): ApplicationDirectory => {
  const { load, applicationOfBundle } = createApplicationTable(table);
  return createApplicationDirectory({
    load,
    applicationOfBundle,
    now,
    maximumAgeMilliseconds: DIRECTORY_AGE_MILLISECONDS,
  });
};

const nobody: Observe = () => undefined;

const evidenceStoreOf = ({ table, now, observe = nobody }: ServiceConfiguration): EvidenceStore => ({
  table: observedCustomerTable(createCustomerTable(table, pause), observe),
  write: observedWrite((change: CustomerChange) => writeCustomerChange(table, change), observe),
  bury: observedWrite((...remains: Parameters<Bury>) => bury(table, ...remains), observe),
  newCustomerIdentifier: () => customerId(uuid()),
  pause,
  now,
  claimsPerAccount: CLAIMS_PER_ACCOUNT,
});

/** Decides on the value of an `Authorization` header. */
export const composeAuthorize = ({ table, now }: ServiceConfiguration) => {
  const { find } = createCredentialTable(table);
  return (authorization: string | undefined): Promise<Decision> => authorize(authorization, now(), find);
};

export const composeReadAccount = (configuration: ServiceConfiguration) => {
  const reading = {
    directory: directoryOf(configuration),
    table: createCustomerTable(configuration.table, pause),
    now: configuration.now,
  };
  return (application: ApplicationId, account: string): Promise<AccountEntitlements> =>
    readAccount(reading, application, accountId(account));
};

/** How the Android store is reached. */
export interface AndroidStoreAccess {
  readonly readSecret: (name: string) => Promise<string | null>;
  /** The root of the Android Publisher API; unset: Google's. */
  readonly androidPublisherUrl: string | undefined;
}

const androidStoreOf = ({
  readSecret,
  androidPublisherUrl: rootUrl,
  now,
  observe = nobody,
}: ServiceConfiguration & AndroidStoreAccess): AndroidStore =>
  observedAndroidStore(createAndroidStore({ rootUrl, readSecret, now }), observe, now);

/** Tries the acknowledgements that are due, until the moment given. */
export const composeAcknowledgeDuePurchases = (configuration: ServiceConfiguration & AndroidStoreAccess) => {
  const { table, now } = configuration;
  const run = {
    directory: directoryOf(configuration),
    androidStore: androidStoreOf(configuration),
    queue: createAcknowledgementQueue(table),
    now,
  };
  return (until: Instant): Promise<AcknowledgementReport> => acknowledgeDuePurchases(run, until);
};

export const composeLinkAndroidStoreCustomer = (configuration: ServiceConfiguration & AndroidStoreAccess) => {
  const linking = {
    ...evidenceStoreOf(configuration),
    directory: directoryOf(configuration),
    androidStore: androidStoreOf(configuration),
    acknowledgements: createAcknowledgementQueue(configuration.table),
  };
  return (application: ApplicationId, request: AndroidStoreLinkRequest): Promise<LinkResponse> =>
    linkAndroidStoreCustomer(linking, application, request);
};

/** SHA-256 fingerprints of the roots that iOS-store chains may end in. */
export interface IosStoreTrust {
  readonly trustedRoots: ReadonlySet<string>;
}

const iosStoreOf = (configuration: ServiceConfiguration & IosStoreTrust) => ({
  ...evidenceStoreOf(configuration),
  directory: directoryOf(configuration),
  verifier: observedVerifier(createIosStoreVerifier(), configuration.observe ?? nobody),
  trustedRoots: configuration.trustedRoots,
});

export const composeLinkIosStoreCustomer = (configuration: ServiceConfiguration & IosStoreTrust) => {
  const store = iosStoreOf(configuration);
  return (application: ApplicationId, request: IosStoreLinkRequest): Promise<LinkResponse> =>
    linkIosStoreCustomer(store, application, request);
};

export const composeSynchronizeIosStorePurchases = (configuration: ServiceConfiguration & IosStoreTrust) => {
  const store = iosStoreOf(configuration);
  return (request: IosStoreSynchronizeRequest): Promise<SynchronizeResponse> =>
    synchronizeIosStorePurchases(store, request);
};

/** All that is known of an account, for the operator. */
export const composeAccountReport =
  (table: Table) =>
  (application: Application, account: AccountId, moment: Instant): Promise<AccountReport> =>
    loadAccountReport(table, application, account, moment, pause);

/**
 * What an operator does to customers, by hand.
 *
 * @param waitForIndex waits as long as the index of owners may be behind the table
 */
export const composeOperations = (table: Table, now: () => Instant, waitForIndex: () => Promise<void>) => {
  const operations: Operations = { table, now, pause, waitForIndex, newEntry: uuid };
  return {
    showCustomer: (application: Application, customer: CustomerId) =>
      loadCustomerReport(table, application, customer, pause),
    findCustomersKnownAs: (application: Application, name: string) =>
      findCustomersKnownAs(table, application, name, now(), pause),
    unlinkCustomer: (
      application: ApplicationId,
      customer: CustomerId,
      authority: Authority,
      options: UnlinkingOptions = {},
    ) => unlinkCustomer(operations, application, customer, authority, options),
    eraseCustomer: (
      application: ApplicationId,
      customer: CustomerId,
      authority: Authority,
      progress: (erased: Erasure) => void,
      options: { readonly account?: AccountId } = {},
    ) => eraseCustomer(operations, application, customer, authority, progress, options),
    reproject: (application: Application, progress: (done: Reprojection) => void) =>
      reprojectApplication(operations, application, progress),
    audit: (application: ApplicationId) => createOperationTable(table).auditOf(application),
    transfers: (application: ApplicationId) => createOperationTable(table).transfersOf(application),
  };
};
