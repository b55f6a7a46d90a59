import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { DynamoDBDocumentClient } from "@aws-sdk/lib-dynamodb";
import { composeAccountReading } from "../../../functions/wiring/service.ts";
import {
  composeAndroidStoreLinking,
  composeAndroidStoreReception,
} from "../../../functions/wiring/android-store.ts";
import { composeIosStoreCustomers, composeIosStoreReception } from "../../../functions/wiring/ios-store.ts";
import type {
  AndroidStoreLinkRequest,
  AndroidStoreNotificationRequest,
  IosStoreLinkRequest,
  IosStoreNotificationRequest,
  IosStoreSynchronizeRequest,
} from "../../../lib/contract/schemas.ts";
import { linkAndroidStoreCustomer } from "../../../lib/customers/link-android-store-customer.ts";
import {
  linkIosStoreCustomer,
  synchronizeIosStorePurchases,
} from "../../../lib/customers/ios-store-customers.ts";
import { readAccountEntitlements } from "../../../lib/customers/read-account-entitlements.ts";
import { receiveAndroidStoreNotification } from "../../../lib/customers/receive-android-store-notification.ts";
import { receiveIosStoreNotification } from "../../../lib/customers/receive-ios-store-notification.ts";
import type { Instant } from "../../../lib/entitlements/time.ts";
import { accountId, type ApplicationId } from "../../../lib/identifiers.ts";
import { AUDIENCE } from "../../../testing/support/stores/android-store.ts";

/** One call of a use case, as data that another process can receive. */
export type Call =
  | { readonly useCase: "link-ios"; readonly request: IosStoreLinkRequest }
  | { readonly useCase: "synchronize"; readonly request: IosStoreSynchronizeRequest }
  | { readonly useCase: "link-android"; readonly request: AndroidStoreLinkRequest }
  | { readonly useCase: "notify-ios"; readonly request: IosStoreNotificationRequest }
  | { readonly useCase: "notify-android"; readonly request: AndroidStoreNotificationRequest }
  | { readonly useCase: "read"; readonly account: string };

/** The configuration of a process that serves calls. */
export interface ServiceOptions {
  readonly tableName: string;
  readonly endpoint: string;
  readonly trustedRoots: readonly string[];
  readonly androidPublisherUrl: string;
  readonly googleCertificatesUrl: string;
  /** `Authorization` header of Google's pushes. */
  readonly pushAuthorization: string;
  readonly application: ApplicationId;
  readonly moment: Instant;
}

/** The use cases as the functions compose them. */
export const openService = ({ application, ...options }: ServiceOptions) => {
  const client = DynamoDBDocumentClient.from(new DynamoDBClient({ endpoint: options.endpoint }));
  const configuration = {
    ...options,
    table: { name: options.tableName, client },
    now: () => options.moment,
    trustedRoots: new Set(options.trustedRoots),
    readSecret: () => Promise.reject(new Error("There is no secret.")),
    // A notification counts without its note.
    onNoteFailure: () => undefined,
  };
  const iosStore = composeIosStoreCustomers(configuration);
  const reading = composeAccountReading(configuration);
  const linking = composeAndroidStoreLinking(configuration);
  const iosReception = composeIosStoreReception(configuration);
  const androidReception = composeAndroidStoreReception(configuration);

  return {
    perform: async (call: Call): Promise<unknown> => {
      switch (call.useCase) {
        case "link-ios":
          return linkIosStoreCustomer(iosStore, application, call.request);
        case "synchronize":
          return synchronizeIosStorePurchases(iosStore, call.request);
        case "link-android":
          return linkAndroidStoreCustomer(linking, application, call.request);
        case "notify-ios":
          return receiveIosStoreNotification(iosReception, call.request);
        case "notify-android":
          return receiveAndroidStoreNotification(androidReception, {
            request: call.request,
            authorization: options.pushAuthorization,
            address: AUDIENCE,
          });
        case "read":
          return readAccountEntitlements(reading, application, accountId(call.account));
      }
    },
    close: () => client.destroy(),
  };
};

/** The parent's order to a process: one call, made immediately. */
export interface Order {
  readonly options: ServiceOptions;
  readonly call: Call;
}

if (import.meta.main) {
  process.on("message", ({ options, call }: Order) => void openService(options).perform(call));
  process.send?.("ready");
}
