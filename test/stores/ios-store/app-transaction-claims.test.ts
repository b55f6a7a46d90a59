import {
  checkAppTransactionClaims,
  whyRefused,
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

test.each<[string, Partial<AppClaims>, Partial<AcceptedAppTransactions>, string, string]>([
  [
    "another bundle",
    { bundleIdentifier: "com.example.other", environment: "xcode" },
    {},
    "INVALID_APP_TRANSACTION",
    `the bundle is com.example.other, the manifest says ${BUNDLE}`,
  ],
  [
    "an unlisted certificate of Xcode",
    { environment: "xcode", xcodeCertificate: "cd", appAppleIdentifier: null },
    { appAppleIdentifier: null },
    "ENVIRONMENT_NOT_ACCEPTED",
    "it was signed in Xcode, with a certificate that the manifest does not list in xcodeCertificates",
  ],
  [
    "production, where the manifest has no Apple ID",
    {},
    { appAppleIdentifier: null },
    "ENVIRONMENT_NOT_ACCEPTED",
    "it is of production, and the manifest has no appAppleIdentifier",
  ],
  [
    "another Apple ID",
    { appAppleIdentifier: 12 },
    {},
    "INVALID_APP_TRANSACTION",
    `the app's Apple ID is 12, the manifest says ${APPLE_ID}`,
  ],
  [
    "no Apple ID",
    { appAppleIdentifier: null },
    {},
    "INVALID_APP_TRANSACTION",
    `the app's Apple ID is missing, the manifest says ${APPLE_ID}`,
  ],
  [
    "another environment",
    { environment: "sandbox", appAppleIdentifier: null },
    { environments: ["production", "xcode"], appAppleIdentifier: null },
    "ENVIRONMENT_NOT_ACCEPTED",
    "it is of sandbox, the manifest accepts production, xcode",
  ],
  [
    "Xcode, by no certificate",
    { environment: "xcode", xcodeCertificate: null },
    { environments: ["xcode"] },
    "ENVIRONMENT_NOT_ACCEPTED",
    "it was signed in Xcode, with a certificate that the manifest does not list in xcodeCertificates",
  ],
  [
    "production that is not accepted",
    {},
    { environments: ["sandbox"] },
    "ENVIRONMENT_NOT_ACCEPTED",
    "it is of production, the manifest accepts sandbox",
  ],
])("an app transaction of %s is refused, and the log says why", (_, claims, accepted, code, because) => {
  const [appTransaction, configuration] = [aVerifiedAppTransaction(claims), { ...ACCEPTED, ...accepted }];
  expect(checkAppTransactionClaims(appTransaction, configuration)).toBe(code);
  expect(whyRefused(appTransaction, configuration)).toBe(because);
});

test.each<[string, Partial<AppClaims>, Partial<AcceptedAppTransactions>]>([
  ["production with its Apple ID", {}, {}],
  ["the sandbox without an Apple ID", { environment: "sandbox", appAppleIdentifier: null }, {}],
  ["the sandbox with any Apple ID", { environment: "sandbox", appAppleIdentifier: APPLE_ID + 1 }, {}],
  ["the sandbox of an unreleased app", { environment: "sandbox" }, { appAppleIdentifier: null }],
  [
    "Xcode with a listed certificate",
    { environment: "xcode", xcodeCertificate: "ab" },
    { environments: ["xcode"] },
  ],
])("an app transaction of %s is accepted", (_, claims, accepted) => {
  const configuration = { ...ACCEPTED, ...accepted };
  expect(checkAppTransactionClaims(aVerifiedAppTransaction(claims), configuration)).toBeNull();
});
