import {
  checkAppTransactionClaims,
  type AcceptedAppTransactions,
  type AppClaims,
} from "../../../lib/stores/ios-store/app-transaction.ts";
import { APPLE_ID, aVerifiedAppTransaction, BUNDLE } from "../../../testing/support/stores/ios-store.ts";

const ACCEPTED: AcceptedAppTransactions = {
  bundleIdentifier: BUNDLE,
  appAppleIdentifier: APPLE_ID,
  environments: ["production", "sandbox"],
  xcodeCertificates: ["ab"],
};
const INVALID = "INVALID_APP_TRANSACTION";
const NOT_ACCEPTED = "ENVIRONMENT_NOT_ACCEPTED";
const xcode = (xcodeCertificate: string) => ({ environment: "xcode", xcodeCertificate }) as const;

test.each<[string, Partial<AppClaims>, Partial<AcceptedAppTransactions>, code: string, because: RegExp]>([
  ["another bundle", { ...xcode("ab"), bundleIdentifier: "other" }, {}, INVALID, /^the bundle is other/],
  ["another Apple ID", { appAppleIdentifier: 12 }, {}, INVALID, /Apple ID is 12/],
  ["no Apple ID", { appAppleIdentifier: null }, {}, INVALID, /Apple ID is missing/],
  ["production, with no known Apple ID", {}, { appAppleIdentifier: null }, NOT_ACCEPTED, /no appAppleId/],
  ["production that is not accepted", {}, { environments: ["sandbox"] }, NOT_ACCEPTED, /accepts sandbox/],
  ["an unlisted certificate of Xcode", xcode("cd"), {}, NOT_ACCEPTED, /xcodeCertificates/],
])("an app transaction of %s is refused, and the log says why", (_, claims, accepted, code, because) => {
  const refused = checkAppTransactionClaims(aVerifiedAppTransaction(claims), { ...ACCEPTED, ...accepted });
  expect(refused).toEqual({ code, because: expect.stringMatching(because) });
});

test.each<[string, Partial<AppClaims>, Partial<AcceptedAppTransactions>]>([
  ["production with its Apple ID", {}, {}],
  ["the sandbox with any Apple ID", { environment: "sandbox", appAppleIdentifier: APPLE_ID + 1 }, {}],
  ["the sandbox of an unreleased app", { environment: "sandbox" }, { appAppleIdentifier: null }],
  ["Xcode with a listed certificate", xcode("ab"), { environments: ["xcode"] }],
])("an app transaction of %s is accepted", (_, claims, accepted) => {
  const configuration = { ...ACCEPTED, ...accepted };
  expect(checkAppTransactionClaims(aVerifiedAppTransaction(claims), configuration)).toBeNull();
});
