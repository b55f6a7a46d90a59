import type { Application, ApplicationDirectory } from "../applications/application.ts";
import { ServiceError } from "../contract/errors.ts";
import type {
  AssertedBy,
  IosStoreLinkRequest,
  IosStoreSynchronizeRequest,
  LinkResponse,
  SynchronizeResponse,
} from "../contract/schemas.ts";
import type { Instant } from "../entitlements/time.ts";
import { accountId, type ApplicationId } from "../identifiers.ts";
import {
  checkAppTransactionClaims,
  disagreement,
  selfSignedBundle,
  type Agreeing,
} from "../stores/ios-store/claims.ts";
import { distinctJws } from "../stores/ios-store/signatures/jws.ts";
import type { Trust } from "../stores/ios-store/signatures/chain.ts";
import type { IosStoreVerifier, VerifyAll } from "../stores/ios-store/verifier.ts";
import {
  applicationOfCredential,
  applicationOfStore,
  iosStoreConfigurationOf,
  requirePaywall,
} from "./application-stores.ts";
import { presentCustomer, presentLink } from "./customer-answers.ts";
import type { FactStore } from "./storing/fact-store.ts";
import { storeFacts, type ResolvedCustomer } from "./storing/store-facts.ts";
import { iosStoreFacts, type VerifiedFacts } from "./storing/verified-facts.ts";

export interface IosStoreCustomers extends FactStore {
  readonly directory: ApplicationDirectory;
  readonly verifier: IosStoreVerifier;
  /** SHA-256 fingerprints of the roots that App Store chains may end in. */
  readonly trustedRoots: ReadonlySet<string>;
}

export const appStoreTrust = ({ trustedRoots }: Pick<IosStoreCustomers, "trustedRoots">): Trust => ({
  roots: trustedRoots,
  xcodeCertificates: new Set(),
});

type FindApplication = (bundleIdentifier: string) => Promise<Application>;

/** StoreKit testing in Xcode signs with a certificate that only the bundle's own configuration can name. */
const trustFor = async (
  ports: IosStoreCustomers,
  find: FindApplication,
  signedAppTransaction: string,
): Promise<Trust> => {
  const trust = appStoreTrust(ports);
  const bundle = selfSignedBundle(signedAppTransaction);
  if (bundle === null) return trust;
  try {
    const { xcodeCertificates } = iosStoreConfigurationOf(await find(bundle), bundle);
    return { ...trust, xcodeCertificates: new Set(xcodeCertificates) };
  } catch (error) {
    if (error instanceof ServiceError)
      throw new ServiceError("INVALID_APP_TRANSACTION", {
        because: "it is signed as Xcode does, and no manifest has its bundle",
      });
    throw error;
  }
};

const DISAGREEMENTS = {
  bundleId: "bundle than the app transaction",
  environment: "environment than the app transaction",
  appTransactionId: "app transaction id than the request's other payloads",
} as const;

/** Verifies JWS, each distinct one once. They must agree with the app transaction, the first, and with those before. */
const verifyAll = async <Payload extends Agreeing>(
  kind: "transaction" | "renewal info",
  verify: VerifyAll<Payload>,
  compacts: readonly string[],
  [first, ...before]: readonly [Agreeing, ...Agreeing[]],
  { trust, moment }: { readonly trust: Trust; readonly moment: Instant },
): Promise<readonly Payload[]> => {
  const distinct = distinctJws(compacts);
  const invalidAt = (index: number, why: string): ServiceError => {
    const code = kind === "transaction" ? "INVALID_TRANSACTION" : "INVALID_RENEWAL_INFO";
    const place = compacts.indexOf(distinct[index] ?? "");
    return new ServiceError(code, { message: `The signed ${kind} at index ${place} ${why}.` });
  };
  const verdict = await verify(distinct, trust, moment);
  if (verdict.outcome === "rejected") throw invalidAt(verdict.index, "could not be verified");
  const other = disagreement(first, verdict.payload, before);
  if (other !== null) throw invalidAt(other.index, `has a different ${DISAGREEMENTS[other.field]}`);
  return verdict.payload;
};

/** Verifies the whole request, in the contract's order: several faults always give the same error. */
const verifyRequest = async (
  ports: IosStoreCustomers,
  find: FindApplication,
  { signedAppTransaction, signedTransactions = [], signedRenewalInfos = [] }: IosStoreSynchronizeRequest,
): Promise<{ readonly application: Application; readonly facts: VerifiedFacts }> => {
  const { verifyAppTransaction, verifyTransactions, verifyRenewalInfos } = ports.verifier;
  const by = { moment: ports.now(), trust: await trustFor(ports, find, signedAppTransaction) };
  const verdict = await verifyAppTransaction(signedAppTransaction, by.trust, by.moment);
  if (verdict.outcome === "rejected") throw new ServiceError("INVALID_APP_TRANSACTION");
  const appTransaction = verdict.payload;
  const application = await find(appTransaction.bundleId);
  const configuration = iosStoreConfigurationOf(application, appTransaction.bundleId);
  const refused = checkAppTransactionClaims(appTransaction, configuration);
  if (refused !== null) throw new ServiceError(refused.code, { because: refused.because });
  const named = [appTransaction] as const;
  const transactions = await verifyAll("transaction", verifyTransactions, signedTransactions, named, by);
  const proven = [appTransaction, ...transactions] as const;
  const renewalInfos = await verifyAll("renewal info", verifyRenewalInfos, signedRenewalInfos, proven, by);
  requirePaywall(application, "ios-store");
  const { environment } = appTransaction;
  const signed = { environment, transactions, renewalInfos, appTransaction, askedAt: null };
  return { application, facts: iosStoreFacts(configuration, signed) };
};

const storeRequest = async (
  ports: IosStoreCustomers,
  request: IosStoreSynchronizeRequest,
  assertedBy: AssertedBy,
  find: FindApplication,
): Promise<{ readonly application: Application; readonly customer: ResolvedCustomer | null }> => {
  const { application, facts } = await verifyRequest(ports, find, request);
  const account = request.applicationAccountIdentifier ?? null;
  const claim = account === null ? null : { account: accountId(account), assertedBy };
  const chosen = { ...facts, isChosenByClient: assertedBy === "client" };
  const stored = await storeFacts(ports, application, chosen, claim);
  if (stored.outcome === "refused") throw new ServiceError(stored.code);
  return { application, customer: stored.customer };
};

/**
 * The credential names the application.
 *
 * @throws ServiceError the errors of the endpoint
 */
export const linkIosStoreCustomer = async (
  ports: IosStoreCustomers,
  identifier: ApplicationId,
  request: IosStoreLinkRequest,
): Promise<LinkResponse> => {
  const { application, customer } = await storeRequest(ports, request, "credential", () =>
    applicationOfCredential(ports.directory, identifier),
  );
  return presentLink(application, customer, ports.now());
};

/**
 * The verified bundle names the application; an account is the client's claim.
 *
 * @throws ServiceError the errors of the endpoint
 */
export const synchronizeIosStorePurchases = async (
  ports: IosStoreCustomers,
  request: IosStoreSynchronizeRequest,
): Promise<SynchronizeResponse> => {
  const { application, customer } = await storeRequest(ports, request, "client", (bundleOrPackage) =>
    applicationOfStore(ports.directory, { store: "ios-store", bundleOrPackage }),
  );
  return presentCustomer(application, customer, ports.now());
};
