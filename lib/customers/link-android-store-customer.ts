import type {
  AndroidStoreConfiguration,
  Application,
  ApplicationDirectory,
} from "../applications/application.ts";
import { ServiceError } from "../contract/errors.ts";
import type { AndroidStoreLinkRequest, LinkResponse } from "../contract/schemas.ts";
import { productKindOf, type Purchase } from "../entitlements/purchase.ts";
import { endedLongAgo, isLongOver } from "../entitlements/next-ask.ts";
import { accountId, type ApplicationId } from "../identifiers.ts";
import { purchaseKeyOfToken } from "../stores/android-store/purchase-token.ts";
import { selecting, type VerifiedPurchase } from "../stores/android-store/reading.ts";
import { androidStoreConfigurationOf, applicationOfCredential, requirePaywall } from "./application-of.ts";
import { buryRemains } from "./bury-remains.ts";
import { presentLink } from "./customer-answers.ts";
import {
  sourceOf,
  storeAndroidStorePurchase,
  type AndroidStorePurchases,
} from "./store-android-store-purchase.ts";
import { UnansweredLookUpError } from "./unanswered-look-up.ts";

export interface AndroidStoreLinking extends AndroidStorePurchases {
  readonly directory: ApplicationDirectory;
}

/**
 * The stored purchase, in place of one that the store says it has dropped. What is stored is no answer, and until the
 * purchase is long over the store may be mistaken: its refresh stays, with the only copy of the token, and so does its due
 * acknowledgement.
 */
const storedPurchase = async (
  { table, bury, now }: AndroidStoreLinking,
  application: Application,
  { purchaseToken, productKind, productIdentifier }: AndroidStoreLinkRequest,
): Promise<VerifiedPurchase> => {
  const key = purchaseKeyOfToken(purchaseToken);
  const references = (["production", "sandbox"] as const).map((environment) => ({
    store: "android-store" as const,
    environment,
    key,
  }));
  const moment = now();
  const known = await table.findFacts(application.identifier, [], references, moment);
  const owners = [...known.purchases.values()].map(({ customer }) => customer);
  const { gone } = await table.findCustomers(application.identifier, owners);
  await buryRemains(bury, application.identifier, known, gone, moment);
  if (known.erasedPurchases.size + gone.size > 0) throw new ServiceError("CUSTOMER_NOT_FOUND");
  const purchase = [...known.purchases.values()]
    .map((stored) => stored.purchase)
    .find(({ verifiedAt }) => verifiedAt > 0);
  if (purchase === undefined) throw new ServiceError("PURCHASE_NO_LONGER_AVAILABLE");
  if (!isOfKind(purchase, productKind, productIdentifier ?? null)) throw new ServiceError("INVALID_PURCHASE");
  const isOver = isLongOver(purchase, moment);
  // A purchase stored by a notification selects none of its products.
  return selecting(
    {
      purchase: isOver ? purchase : { ...purchase, verifiedAt: 0 },
      replaces: null,
      samePerson: [],
      predecessors: [],
      // Until its end is long ago it may be paid or renewed by now, so it moves no customer that may be inactive.
      isPending: purchase.lines.length === 0 || !(isOver || endedLongAgo(purchase, moment)),
      isClosed: isOver,
      goesOn: null,
      acknowledgement: null,
    },
    productKind,
    productIdentifier == null ? null : [productIdentifier],
  );
};

const isOfKind = (
  { lines }: Purchase,
  productKind: AndroidStoreLinkRequest["productKind"],
  productIdentifier: string | null,
): boolean =>
  lines.every(({ nature }) => productKindOf(nature) === productKind) &&
  (productKind === "subscription" ||
    productIdentifier === null ||
    lines.length === 0 ||
    lines.some((line) => line.productIdentifier === productIdentifier));

const verifyPurchase = async (
  linking: AndroidStoreLinking,
  application: Application,
  configuration: AndroidStoreConfiguration,
  request: AndroidStoreLinkRequest,
): Promise<VerifiedPurchase> => {
  const { purchaseToken, productKind, productIdentifier = null } = request;
  const answer = await linking.androidStore.lookUp(configuration, {
    purchaseToken,
    productKind,
    productIdentifier,
  });
  switch (answer.outcome) {
    case "verified":
      return answer;
    case "gone":
      return storedPurchase(linking, application, request);
    case "rejected":
      throw new ServiceError("INVALID_PURCHASE");
    case "unavailable":
    case "credential-rejected":
      throw new UnansweredLookUpError(answer);
  }
};

/**
 * Verifies an Android-store purchase, stores it, links its customer to the account, and acknowledges it if the store
 * waits for that.
 *
 * @throws ServiceError the errors of the endpoint
 */
export const linkAndroidStoreCustomer = async (
  linking: AndroidStoreLinking,
  identifier: ApplicationId,
  request: AndroidStoreLinkRequest,
): Promise<LinkResponse> => {
  const application = await applicationOfCredential(linking.directory, identifier);
  const configuration = androidStoreConfigurationOf(application, request.packageName);
  requirePaywall(application, "android-store");

  const verified = await verifyPurchase(linking, application, configuration, request);
  if (!configuration.environments.includes(verified.purchase.environment))
    throw new ServiceError("ENVIRONMENT_NOT_ACCEPTED", {
      because: `it is of ${verified.purchase.environment}, the manifest accepts ${configuration.environments.join(", ")}`,
    });

  // A closed purchase's refresh is taken from the queue even if nothing else is new.
  const question = {
    source: sourceOf(configuration, request),
    askedAt: verified.isClosed ? linking.now() : null,
  };
  const stored = await storeAndroidStorePurchase(linking, application, configuration, verified, question, {
    account: accountId(request.applicationAccountIdentifier),
    assertedBy: "credential",
  });
  if (stored.outcome === "refused") throw new ServiceError(stored.code);
  return presentLink(application, stored.customer, linking.now());
};
