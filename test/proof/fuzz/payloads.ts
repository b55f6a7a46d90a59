import {
  makeChain,
  makeXcodeSigner,
  signJws,
  type SigningChain,
} from "../../../sandbox/ios-store/signing.ts";
import {
  APPLE_ID,
  anAppTransaction,
  aTransaction,
  type Payload,
} from "../../../testing/support/stores/ios-store.ts";
import { DAY } from "../../../testing/support/stores/purchases.ts";
import { post, type Attack, type Make, type Posting, type Target } from "./attack.ts";
import type { Dice } from "../dice.ts";
import { json, type Members } from "./json.ts";

/** What a person's own app sends, from which the attacks differ. */

/** Before any test run. */
export const SIGNED = Date.UTC(2026, 0, 1);

export const stranger = makeChain();
export const strangersXcode = makeXcodeSigner();

const appTransactionOf = (target: Target, identifier: string): Payload =>
  anAppTransaction({
    bundleId: target.bundleIdentifier,
    appAppleId: APPLE_ID,
    appTransactionId: identifier,
    receiptCreationDate: SIGNED,
  });

export const transactionOf = (target: Target, identifier: string): Payload =>
  aTransaction({
    bundleId: target.bundleIdentifier,
    appTransactionId: identifier,
    productId: "monthly",
    transactionId: `${identifier}1`,
    originalTransactionId: `${identifier}1`,
    purchaseDate: SIGNED - DAY,
    originalPurchaseDate: SIGNED - DAY,
    expiresDate: Date.UTC(2040, 0, 1),
    signedDate: SIGNED,
    webOrderLineItemId: "2000000000001",
  });

export const x5cOf = (...identities: readonly Pick<SigningChain["leaf"], "certificate">[]): string[] =>
  identities.map(({ certificate }) => Buffer.from(certificate).toString("base64"));

export const membersOf = (payload: object): Members =>
  Object.entries(payload).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, json(value)] as const],
  );

export const POSTING: readonly Posting[] = [
  "linkAndroidStoreCustomer",
  "linkIosStoreCustomer",
  "synchronizeIosStorePurchases",
];

/** The members of a request that the endpoint answers with 200. */
export const goodMembers = (target: Target, endpoint: Posting, identifier: string): Members =>
  endpoint === "linkAndroidStoreCustomer"
    ? membersOf({
        packageName: target.packageName,
        purchaseToken: target.purchaseToken,
        productKind: "subscription",
        productIdentifier: null,
        applicationAccountIdentifier: "known",
      })
    : membersOf({
        signedAppTransaction: signJws(appTransactionOf(target, identifier), target.chain),
        signedTransactions: [signJws(transactionOf(target, identifier), target.chain)],
        applicationAccountIdentifier: `account ${identifier}`,
      });

/** A JWS in place of a genuine one. */
interface Hostile extends Pick<Attack, "note" | "forged"> {
  readonly jws: string;
}

/** A request of either iOS endpoint for an account of its own, one of whose JWS is the attacker's. */
export const withJws =
  (make: (payload: Payload, target: Target, dice: Dice) => Hostile): Make =>
  (target, dice, identifier) => {
    const ofApp = dice.chance(0.4);
    const [app, transaction] = [appTransactionOf(target, identifier), transactionOf(target, identifier)];
    const { jws, ...more } = make(ofApp ? app : transaction, target, dice);
    const account = `account ${identifier}`;
    const body = json({
      signedAppTransaction: ofApp ? jws : signJws(app, target.chain),
      signedTransactions: [ofApp ? signJws(transaction, target.chain) : jws],
      applicationAccountIdentifier: account,
    });
    const endpoint = dice.pick(POSTING.slice(1));
    return post(target, endpoint, body, { ...more, reads: account });
  };
