import type {
  Application,
  ApplicationDirectory,
  IosStoreConfiguration,
} from "../applications/application.ts";
import { ServiceError, type ErrorCode } from "../contract/errors.ts";
import type { AssertedBy, IosStoreSynchronizeRequest } from "../contract/schemas.ts";
import type { Instant } from "../entitlements/time.ts";
import { accountId } from "../identifiers.ts";
import { disagreement, type Agreeing } from "../stores/ios-store/agreement.ts";
import {
  checkAppTransactionClaims,
  selfSignedBundle,
  whyRefused,
} from "../stores/ios-store/app-transaction.ts";
import { distinctJws } from "../stores/ios-store/jws.ts";
import { appTransactionIdentityOf, purchasesOf } from "../stores/ios-store/purchases.ts";
import { renewalsOf } from "../stores/ios-store/renewal-info.ts";
import type { Trust } from "../stores/ios-store/trust.ts";
import type { IosStoreVerifier, VerifyAll } from "../stores/ios-store/verifier.ts";
import { iosStoreConfigurationOf, requirePaywall } from "./application-of.ts";
import type { FactStore } from "./fact-store.ts";
import { storeFacts, type ResolvedCustomer } from "./store-facts.ts";
import { iosStoreOrigin, type VerifiedFacts } from "./verified-facts.ts";

export interface IosStoreCustomers extends FactStore {
  readonly directory: ApplicationDirectory;
  readonly verifier: IosStoreVerifier;
  /** SHA-256 fingerprints of the roots that App Store chains may end in. */
  readonly trustedRoots: ReadonlySet<string>;
}

type SignedRequest = Pick<
  IosStoreSynchronizeRequest,
  "signedAppTransaction" | "signedTransactions" | "signedRenewalInfos"
>;

/** Finds the application of a request, by its bundle or by its credential. */
type FindApplication = (bundleIdentifier: string) => Promise<Application>;

/**
 * Trust for an app transaction. StoreKit testing in Xcode signs with a certificate that only the bundle's own
 * configuration can name; a bundle without one trusts none.
 */
const trustFor = async (
  { trustedRoots }: IosStoreCustomers,
  signedAppTransaction: string,
  find: FindApplication,
): Promise<Trust> => {
  const bundle = selfSignedBundle(signedAppTransaction);
  if (bundle === null) return { roots: trustedRoots, xcodeCertificates: new Set() };
  try {
    const { xcodeCertificates } = iosStoreConfigurationOf(await find(bundle), bundle);
    return { roots: trustedRoots, xcodeCertificates: new Set(xcodeCertificates) };
  } catch (error) {
    if (error instanceof ServiceError)
      throw new ServiceError("INVALID_APP_TRANSACTION", {
        because: "it is signed as Xcode does, and no manifest has its bundle",
      });
    throw error;
  }
};

const INVALID = {
  INVALID_TRANSACTION: "transaction",
  INVALID_RENEWAL_INFO: "renewal info",
} as const satisfies Partial<Record<ErrorCode, string>>;

const invalidAt = (code: keyof typeof INVALID, index: number, why: string): ServiceError =>
  new ServiceError(code, { message: `The signed ${INVALID[code]} at index ${index} ${why}.` });

/**
 * Verifies JWS of one kind, each distinct one once. They must agree with `first` (the app transaction) and `before`.
 */
const verifyAll = async <Payload extends Agreeing>(
  verify: VerifyAll<Payload>,
  code: keyof typeof INVALID,
  [first, ...before]: readonly [Agreeing, ...Agreeing[]],
  compacts: readonly string[],
  trust: Trust,
  moment: Instant,
): Promise<readonly Payload[]> => {
  const distinct = distinctJws(compacts);
  const indexOf = (index: number): number => compacts.indexOf(distinct[index] ?? "");
  const verdict = await verify(distinct, trust, moment);
  if (verdict.outcome === "rejected") throw invalidAt(code, indexOf(verdict.index), "could not be verified");
  const other = disagreement(first, verdict.payload, before);
  if (other !== null)
    throw invalidAt(code, indexOf(other.index), `has a different ${DISAGREEMENTS[other.field]}`);
  return verdict.payload;
};

const DISAGREEMENTS = {
  bundleIdentifier: "bundle than the app transaction",
  environment: "environment than the app transaction",
  appTransactionIdentifier: "app transaction id than the request's other payloads",
} as const;

/**
 * Verifies the whole request before anything is stored. The contract orders the checks, so a request with several faults
 * always gets the same error.
 */
const verifyRequest = async (
  customers: IosStoreCustomers,
  { signedAppTransaction, signedTransactions = [], signedRenewalInfos = [] }: SignedRequest,
  find: FindApplication,
): Promise<{ readonly application: Application; readonly facts: VerifiedFacts }> => {
  const { verifier, now } = customers;
  const moment = now();
  const trust = await trustFor(customers, signedAppTransaction, find);
  const verdict = await verifier.verifyAppTransaction(signedAppTransaction, trust, moment);
  if (verdict.outcome === "rejected") throw new ServiceError("INVALID_APP_TRANSACTION");
  const appTransaction = verdict.payload;

  const application = await find(appTransaction.bundleIdentifier);
  const configuration: IosStoreConfiguration = iosStoreConfigurationOf(
    application,
    appTransaction.bundleIdentifier,
  );
  const refused = checkAppTransactionClaims(appTransaction, configuration);
  if (refused !== null)
    throw new ServiceError(refused, { because: whyRefused(appTransaction, configuration) });

  const transactions = await verifyAll(
    verifier.verifyTransactions,
    "INVALID_TRANSACTION",
    [appTransaction],
    signedTransactions,
    trust,
    moment,
  );
  const identity = appTransactionIdentityOf([appTransaction, ...transactions]);
  const renewalInfos = await verifyAll(
    verifier.verifyRenewalInfos,
    "INVALID_RENEWAL_INFO",
    [appTransaction, ...transactions],
    signedRenewalInfos,
    trust,
    moment,
  );
  requirePaywall(application, "ios-store");
  return {
    application,
    facts: {
      environment: appTransaction.environment,
      identities: identity === null ? [] : [identity],
      purchases: purchasesOf(transactions),
      renewals: renewalsOf(renewalInfos, transactions),
      acknowledgementDue: null,
      origin: iosStoreOrigin(configuration, null),
    },
  };
};

/** Verifies a request, stores its facts, and links the customer to the account it names, if any. */
export const storeIosStoreRequest = async (
  customers: IosStoreCustomers,
  request: IosStoreSynchronizeRequest,
  assertedBy: AssertedBy,
  find: FindApplication,
): Promise<{ readonly application: Application; readonly customer: ResolvedCustomer | null }> => {
  const { application, facts } = await verifyRequest(customers, request, find);
  const account = request.applicationAccountIdentifier ?? null;
  const claim = account === null ? null : { account: accountId(account), assertedBy };
  const chosen = { ...facts, isChosenByClient: assertedBy === "client" };
  const stored = await storeFacts(customers, application, chosen, claim);
  if (stored.outcome === "refused") throw new ServiceError(stored.code);
  return { application, customer: stored.customer };
};
