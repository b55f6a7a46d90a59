import type { ApplicationDirectory } from "../applications/application.ts";
import { ServiceError } from "../contract/errors.ts";
import type { AndroidStoreLinkRequest, LinkResponse } from "../contract/schemas.ts";
import { productKindOf, type Purchase } from "../entitlements/purchase.ts";
import { endedLongAgo, isLongOver } from "../entitlements/next-ask.ts";
import { accountId, type ApplicationId } from "../identifiers.ts";
import {
  purchasesOfToken,
  reportOf,
  selecting,
  type VerifiedPurchase,
} from "../stores/android-store/reading.ts";
import {
  androidStoreConfigurationOf,
  applicationOfCredential,
  requirePaywall,
} from "./application-stores.ts";
import { buryRemains } from "./storing/fact-store.ts";
import { presentLink } from "./customer-answers.ts";
import {
  sourceOf,
  storeAndroidStorePurchase,
  UnansweredLookUpError,
  type AndroidStorePurchases,
  type PackageContext,
} from "./storing/store-android-store-purchase.ts";

export interface AndroidStoreLinking extends AndroidStorePurchases {
  readonly directory: ApplicationDirectory;
}

const isOfKind = (
  { lines }: Purchase,
  { productKind, productIdentifier = null }: AndroidStoreLinkRequest,
): boolean =>
  lines.every(({ nature }) => productKindOf(nature) === productKind) &&
  (productKind === "subscription" ||
    productIdentifier === null ||
    lines.length === 0 ||
    lines.some((line) => line.productIdentifier === productIdentifier));

/** The stored purchase of a token; undefined: there is none. An erased customer's cannot be read. */
const findStored = async (
  { ports, application: { identifier } }: PackageContext,
  purchaseToken: string,
): Promise<Purchase | undefined> => {
  const { table } = ports;
  const moment = ports.now();
  const known = await table.findFacts(identifier, [], purchasesOfToken(purchaseToken), moment);
  const stored = [...known.purchases.values()];
  const { gone } = await table.findCustomers(
    identifier,
    stored.map(({ customer }) => customer),
  );
  await buryRemains(ports, identifier, known, gone, moment);
  if (known.erasedPurchases.size + gone.size > 0) throw new ServiceError("CUSTOMER_NOT_FOUND");
  return stored.map(({ purchase }) => purchase).find(({ verifiedAt }) => verifiedAt > 0);
};

/**
 * In place of a dropped one. Until it is long over the store may be mistaken: its question stays, with the only copy
 * of the token, and so does its acknowledgement.
 */
const storedPurchase = async (
  context: PackageContext,
  request: AndroidStoreLinkRequest,
): Promise<VerifiedPurchase> => {
  const purchase = await findStored(context, request.purchaseToken);
  if (purchase === undefined) throw new ServiceError("PURCHASE_NO_LONGER_AVAILABLE");
  if (!isOfKind(purchase, request)) throw new ServiceError("INVALID_PURCHASE");
  const moment = context.ports.now();
  const isOver = isLongOver(purchase, moment);
  const { productKind, productIdentifier = null } = request;
  const report = {
    ...reportOf(isOver ? purchase : { ...purchase, verifiedAt: 0 }),
    // Until its end is long ago it may be paid or renewed by now, so it moves no customer that may be inactive.
    isPending: purchase.lines.length === 0 || !(isOver || endedLongAgo(purchase, moment)),
    isClosed: isOver,
  };
  // A purchase stored by a notification selects none of its products.
  return selecting(report, productKind, productIdentifier === null ? null : [productIdentifier]);
};

const verifyPurchase = async (
  context: PackageContext,
  request: AndroidStoreLinkRequest,
): Promise<VerifiedPurchase> => {
  const { purchaseToken, productKind, productIdentifier = null } = request;
  const question = { purchaseToken, productKind, productIdentifier };
  const answer = await context.ports.androidStore.lookUp(context.configuration, question);
  switch (answer.outcome) {
    case "verified":
      return answer;
    case "gone":
      return storedPurchase(context, request);
    case "rejected":
      throw new ServiceError("INVALID_PURCHASE");
    case "unavailable":
    case "credential-rejected":
      throw new UnansweredLookUpError(answer, context.ports.now());
  }
};

/** @throws ServiceError the errors of the endpoint */
export const linkAndroidStoreCustomer = async (
  ports: AndroidStoreLinking,
  identifier: ApplicationId,
  request: AndroidStoreLinkRequest,
): Promise<LinkResponse> => {
  const application = await applicationOfCredential(ports.directory, identifier);
  const configuration = androidStoreConfigurationOf(application, request.packageName);
  requirePaywall(application, "android-store");

  const context: PackageContext = { ports, application, configuration };
  const verified = await verifyPurchase(context, request);
  const { environment } = verified.purchase;
  if (!configuration.environments.includes(environment))
    throw new ServiceError("ENVIRONMENT_NOT_ACCEPTED", {
      because: `it is of ${environment}, the manifest accepts ${configuration.environments.join(", ")}`,
    });

  // A closed purchase's refresh is taken from the queue even if nothing else is new.
  const askedAt = verified.isClosed ? ports.now() : null;
  const question = { source: sourceOf(configuration, request), askedAt };
  const account = accountId(request.applicationAccountIdentifier);
  const stored = await storeAndroidStorePurchase(context, verified, question, {
    account,
    assertedBy: "credential",
  });
  if (stored.outcome === "refused") throw new ServiceError(stored.code);
  return presentLink(application, stored.customer, ports.now());
};
