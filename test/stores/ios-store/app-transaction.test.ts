import { makeChain, signJws } from "../../../sandbox/ios-store/signing.ts";
import {
  checkAppTransactionClaims,
  type AcceptedAppTransactions,
  type AppClaims,
} from "../../../lib/stores/ios-store/claims.ts";
import { createIosStoreVerifier } from "../../../lib/stores/ios-store/verifier.ts";
import {
  anAppTransaction,
  APPLE_ID,
  aVerifiedAppTransaction,
  BUNDLE,
  trusting,
  word,
  type Payload,
} from "../../../testing/support/stores/ios-store.ts";
import { NOW } from "../../../testing/support/stores/purchases.ts";

const chain = makeChain();
const trust = trusting({ roots: [chain.root] });
const verifier = createIosStoreVerifier();
const verify = (fields: Payload = {}) =>
  verifier.verifyAppTransaction(signJws(anAppTransaction(fields), chain), trust, NOW);

const inSandbox = { environment: "sandbox", appAppleId: null } as const;
test.each<[rule: string, fields: Payload, read: Parameters<typeof aVerifiedAppTransaction>[0]]>([
  ["in production", {}, {}],
  ["outside production without an Apple ID", { receiptType: "Sandbox", appAppleId: undefined }, inSandbox],
  ["outside production with none", { receiptType: "Sandbox", appAppleId: null }, inSandbox],
  ["outside production with 0", { receiptType: "Sandbox", appAppleId: 0 }, inSandbox],
  ["from before ids", { appTransactionId: undefined }, { appTransactionId: null }],
  ["with an id of null", { appTransactionId: null }, { appTransactionId: null }],
  ["with a signedDate, which it has not", { signedDate: NOW * 2 }, {}],
])("an app transaction is read: %s", async (_, fields, read) => {
  expect(await verify(fields)).toEqual({ outcome: "verified", payload: aVerifiedAppTransaction(read) });
});

test.each<[string, unknown, string]>([
  ["bundleId", "", "malformed_payload"],
  ["appAppleId", "1234567890", "malformed_payload"],
  ["appTransactionId", "7#4", "malformed_payload"],
  ["receiptType", "Xcode", "environment"],
  ["receiptCreationDate", NOW + 60_001, "signing_time"],
  ["receiptCreationDate", 0, "outside_validity"],
  ["autoRenewStatus", 1, "wrong_kind"],
])("an app transaction with %s %p is refused: %s", async (field, value, expected) => {
  expect(word(await verify({ [field]: value }))).toBe(expected);
});

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
  ["another bundle", { ...xcode("ab"), bundleId: "other" }, {}, INVALID, /^the bundle is other/],
  ["another Apple ID", { appAppleId: 12 }, {}, INVALID, /Apple ID is 12/],
  ["no Apple ID", { appAppleId: null }, {}, INVALID, /Apple ID is missing/],
  ["production, with no known Apple ID", {}, { appAppleIdentifier: null }, NOT_ACCEPTED, /no appAppleId/],
  ["production that is not accepted", {}, { environments: ["sandbox"] }, NOT_ACCEPTED, /accepts sandbox/],
  ["an unlisted certificate of Xcode", xcode("cd"), {}, NOT_ACCEPTED, /xcodeCertificates/],
])("an app transaction of %s is refused, and the log says why", (_, claims, accepted, code, because) => {
  const refused = checkAppTransactionClaims(aVerifiedAppTransaction(claims), { ...ACCEPTED, ...accepted });
  expect(refused).toEqual({ code, because: expect.stringMatching(because) });
});

test.each<[string, Partial<AppClaims>, Partial<AcceptedAppTransactions>]>([
  ["production with its Apple ID", {}, {}],
  ["the sandbox with any Apple ID", { environment: "sandbox", appAppleId: APPLE_ID + 1 }, {}],
  ["the sandbox of an unreleased app", { environment: "sandbox" }, { appAppleIdentifier: null }],
  ["Xcode with a listed certificate", xcode("ab"), { environments: ["xcode"] }],
])("an app transaction of %s is accepted", (_, claims, accepted) => {
  const configuration = { ...ACCEPTED, ...accepted };
  expect(checkAppTransactionClaims(aVerifiedAppTransaction(claims), configuration)).toBeNull();
});
