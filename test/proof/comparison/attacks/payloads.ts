import { makeXcodeSigner, signJws } from "../../../../sandbox/ios-store/signing.ts";
import {
  anAppTransaction,
  APPLE_ID,
  aRenewalInfo,
  aTransaction,
  BUNDLE,
} from "../../../../testing/support/stores/ios-store.ts";
import { DAY, NOW } from "../../../../testing/support/stores/purchases.ts";
import { chain, genuine, inXcode, of, ofApp, refused, sandbox, stricter, xcode, type Group } from "./row.ts";

/** What the store signs, and attacks on payloads, apps and environments. */

const TRANSACTIONS: Group = {
  title: "Transactions and app transactions",
  rows: [
    ...genuine({
      "A transaction in production": of(),
      "A transaction without an app transaction id": of({ appTransactionId: undefined }),
      "A refunded transaction": of({ revocationDate: NOW - DAY, revocationReason: 1 }),
      "An upgraded transaction": of({ isUpgraded: true }),
      "A family member's transaction": of({ inAppOwnershipType: "FAMILY_SHARED" }),
      "A non-consumable": of({ type: "Non-Consumable", expiresDate: undefined }),
      "A consumable": of({ type: "Consumable", expiresDate: undefined, quantity: 3 }),
      "A non-renewing subscription": of({ type: "Non-Renewing Subscription", expiresDate: undefined }),
      "Values and a field that are new": of({
        offerType: 99,
        revocationReason: 42,
        aNewField: { deeply: [1] },
      }),
      "Whitespace in the JSON": signJws(JSON.stringify(aTransaction(), null, 2), chain),
    }),
    ...genuine({ "A transaction in the sandbox": of({ environment: "Sandbox" }) }, "transaction", sandbox),
    ...genuine(
      {
        "An app transaction in production": ofApp(),
        "An app transaction without an app transaction id": ofApp({ appTransactionId: undefined }),
        "An app transaction of a pre-ordered app": ofApp({ preorderDate: NOW - DAY }),
        "An app transaction from a new platform": ofApp({ originalPlatform: "aNewOne" }),
      },
      "app transaction",
    ),
    ...genuine(
      {
        "An app transaction in the sandbox": ofApp({ receiptType: "Sandbox", appAppleId: undefined }),
        "An app transaction in the sandbox with the app id 0": ofApp({
          receiptType: "Sandbox",
          appAppleId: 0,
        }),
      },
      "app transaction",
      sandbox,
    ),
    ...refused({
      "Another bundle": of({ bundleId: "com.example.other" }),
      "The bundle in capitals": of({ bundleId: BUNDLE.toUpperCase() }),
      "The sandbox, where production is asked for": of({ environment: "Sandbox" }),
      "An unknown environment": of({ environment: "ProductionSandbox" }),
    }),
    ...refused({ "Production, where the sandbox is asked for": of() }, "transaction", sandbox),
    ...refused(
      {
        "Another bundle, of an app transaction": ofApp({ bundleId: "com.example.other" }),
        "Another app id in production": ofApp({ appAppleId: APPLE_ID + 1 }),
        "No app id in production": ofApp({ appAppleId: undefined }),
        "Another environment, of an app transaction": ofApp({ receiptType: "Sandbox" }),
      },
      "app transaction",
    ),
  ],
};

const json = JSON.stringify(aTransaction());
const text = (payload: string | Uint8Array): string => signJws(payload, chain);
const adding = (member: string): string => text(json.replace(/\}$/, `,${member}}`));
const notUtf8 = [
  Buffer.from(json.slice(0, -1)),
  Buffer.from(',"x":"'),
  Buffer.of(0xc3, 0x28),
  Buffer.from('"}'),
];
const anotherKind = stricter(
  "A payload of another kind is not a transaction, whatever fields it shares with one.",
);

const PAYLOADS: Group = {
  title: "The payload",
  rows: [
    ...stricter("Every transaction of the App Store has it, and what is granted is decided by it.")(
      Object.fromEntries(
        ["transactionId", "originalTransactionId", "productId", "purchaseDate", "type"].map((field) => [
          `Without ${field}`,
          of({ [field]: undefined }),
        ]),
      ),
    ),
    ...stricter("It would never end.")({
      "Without an end, of an auto-renewable subscription": of({ expiresDate: undefined }),
    }),
    ...stricter(
      "The value is none that the store documents, and it would be stored, compared or part of a key.",
    )({
      "Empty text for productId": of({ productId: "" }),
      "A negative purchaseDate": of({ purchaseDate: -1 }),
      "An unknown type of product": of({ type: "Gift" }),
      "A transaction id with a separator": of({ transactionId: "1#2" }),
    }),
    ...anotherKind({
      "Renewal info with the bundle": signJws({ ...aRenewalInfo(), bundleId: BUNDLE }, chain),
      "A transaction that is renewal info too": of({ autoRenewStatus: 1 }),
      "A transaction that is a notification too": of({ notificationType: "REFUND" }),
      "An app transaction with an environment": ofApp({ environment: "Production" }),
    }),
    ...anotherKind(
      {
        "A transaction that is an app transaction too": signJws(
          { ...aTransaction(), ...anAppTransaction() },
          chain,
        ),
      },
      "app transaction",
    ),
    ...stricter(
      "Parsers disagree on which of two members counts, so the text is not of one meaning (RFC 7515, 10.12).",
    )({
      "A product twice": adding('"productId":"other"'),
      "A product twice, once escaped": adding('"product\\u0049d":"other"'),
    }),
    ...stricter("JSON is UTF-8 (RFC 8259, 8.1); other bytes are read differently by different readers.")({
      "Bytes that are not UTF-8": text(Buffer.concat(notUtf8)),
    }),
    ...refused({
      "Without bundleId": of({ bundleId: undefined }),
      "Without environment": of({ environment: undefined }),
      "A number for transactionId": of({ transactionId: 700_000_000_000_002 }),
      "Text for purchaseDate": of({ purchaseDate: String(NOW) }),
      "Text for isUpgraded": of({ isUpgraded: "true" }),
      "Renewal info": signJws(aRenewalInfo(), chain),
      "An app transaction": ofApp(),
      "A list": text(`[${json}]`),
      Null: text("null"),
      "Half an object": text(json.slice(0, -1)),
      "An object and more": text(`${json}{}`),
      "A byte order mark": text(`\uFEFF${json}`),
    }),
    ...refused({ "A transaction in place of an app transaction": of() }, "app transaction"),
  ],
};

const strangersXcode = makeXcodeSigner();
const ofXcode = aTransaction({ environment: "Xcode", transactionId: "0" });
const base64 = (part: object): string => Buffer.from(JSON.stringify(part)).toString("base64url");

const XCODE: Group = {
  title: "StoreKit testing in Xcode",
  rows: [
    ...genuine(
      { "Signed by a certificate that is registered": signJws(ofXcode, xcode) },
      "transaction",
      inXcode,
    ),
    ...stricter(
      "Whoever can write JSON could claim any purchase: in Xcode's environment too a signature counts, by a certificate that the configuration names.",
    )(
      {
        "Signed by any other certificate": signJws(ofXcode, strangersXcode),
        "With a signature by another key": signJws(ofXcode, {
          ...xcode,
          privateKey: strangersXcode.privateKey,
        }),
        "Without a signature": `${base64({ alg: "none" })}.${base64(ofXcode)}.`,
      },
      "transaction",
      inXcode,
    ),
    ...stricter("The App Store signs for production and the sandbox, and for nothing else.")(
      { "By the App Store's chain": signJws(ofXcode, chain) },
      "transaction",
      inXcode,
    ),
    ...refused({ "For production": signJws({ ...ofXcode, environment: "Production" }, xcode) }),
    ...refused(
      { "For the sandbox": signJws({ ...ofXcode, environment: "Sandbox" }, xcode) },
      "transaction",
      sandbox,
    ),
  ],
};

export const TRANSACTION_PAYLOADS: readonly Group[] = [TRANSACTIONS, PAYLOADS, XCODE];
