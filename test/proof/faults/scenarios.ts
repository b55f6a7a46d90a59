import { makeChain, signJws } from "../../../sandbox/ios-store/signing.ts";
import {
  anAppTransaction,
  aNotification,
  aRenewalInfo,
  aTransaction,
  type Payload,
} from "../../../testing/support/stores/ios-store.ts";
import { DAY, NOW } from "../../../testing/support/stores/purchases.ts";
import type { Call } from "./use-cases.ts";

/** Calls, and the calls before each. */

export const NAME = "com.example.trails";
export const ACCOUNT = "user-1";
export const TOKEN = "token.AO-J1Ofaults";
export const chain = makeChain();
/** Time at which the stores sign a scenario's notification. */
const SAID = NOW - 400;

export interface Scenario {
  readonly name: string;
  readonly before?: readonly Call[];
  readonly call: Call;
}

/** A monthly subscription that was bought ten days ago. */
const bought = (identifier: string, fields: Payload = {}): Payload =>
  aTransaction({
    productId: "monthly",
    transactionId: identifier,
    originalTransactionId: identifier,
    appTransactionId: undefined,
    ...fields,
  });

/** A request of a device; null: its app transaction carries no id, as on older devices. */
const signed = (appTransactionId: string | null, ...transactions: readonly Payload[]) => ({
  signedAppTransaction: signJws(anAppTransaction({ appTransactionId: appTransactionId ?? undefined }), chain),
  signedTransactions: transactions.map((transaction) =>
    signJws({ ...transaction, appTransactionId: appTransactionId ?? undefined }, chain),
  ),
});

const purchases = (count: number): readonly Payload[] =>
  Array.from({ length: count }, (_, index) =>
    bought(
      String(1000 + index),
      index % 2 === 0
        ? { productId: index % 4 === 0 ? "monthly" : "basic", expiresDate: NOW + (index - 60) * DAY }
        : { productId: "forever", type: "Non-Consumable", expiresDate: undefined },
    ),
  );

const PERSON = "704000000000001";

const link = (request: ReturnType<typeof signed>): Call => ({
  useCase: "link-ios",
  request: { ...request, applicationAccountIdentifier: ACCOUNT },
});
const synchronize = (request: ReturnType<typeof signed>, account: string | null = null): Call => ({
  useCase: "synchronize",
  request: { ...request, applicationAccountIdentifier: account },
});
const linkAndroid: Call = {
  useCase: "link-android",
  request: {
    packageName: NAME,
    purchaseToken: TOKEN,
    productKind: "subscription",
    applicationAccountIdentifier: ACCOUNT,
  },
};

/** The App Store's notification of a transaction, with renewal info that the subscription will not renew. */
const notify = (fields: Payload = {}): Call => {
  const transaction = bought("1", { appTransactionId: PERSON, signedDate: SAID, ...fields });
  const renewalInfo = aRenewalInfo({
    originalTransactionId: "1",
    productId: "monthly",
    appTransactionId: undefined,
    autoRenewStatus: 0,
    signedDate: SAID,
  });
  const payload = aNotification(chain, { transaction, renewalInfo }, { signedDate: SAID });
  return { useCase: "notify-ios", request: { signedPayload: signJws(payload, chain) } };
};

/** Google's push of a notification with these members. */
const push = (members: object): Call => {
  const data = { version: "1.0", packageName: NAME, eventTimeMillis: String(SAID), ...members };
  return {
    useCase: "notify-android",
    request: { message: { data: Buffer.from(JSON.stringify(data)).toString("base64") } },
  };
};
const pushOfToken = push({
  subscriptionNotification: { version: "1.0", notificationType: 2, purchaseToken: TOKEN },
});

const first = signed(PERSON, bought("1"));
const basic = bought("9", { productId: "basic" });
const pass = bought("2", {
  productId: "day_pass",
  type: "Non-Renewing Subscription",
  expiresDate: undefined,
});

export const ANDROID_LINK: Scenario = {
  name: "an Android link with its acknowledgement",
  call: linkAndroid,
};
const ANDROID_NOTIFICATION: Scenario = {
  name: "an Android notification of a renewal, with its acknowledgement",
  before: [linkAndroid, push({ testNotification: { version: "1.0" } })],
  call: pushOfToken,
};

export const SCENARIOS: readonly Scenario[] = [
  { name: "a first link", call: link(first) },
  {
    name: "a link that merges two customers",
    before: [synchronize(signed(null, basic)), link(first)],
    call: link(signed(PERSON, basic, pass)),
  },
  {
    name: "a synchronize of 250 purchases",
    call: synchronize(signed(PERSON, ...purchases(250)), ACCOUNT),
  },
  {
    name: "a link that takes the customer from a client's account",
    before: [synchronize(first, "user-2")],
    call: link(first),
  },
  ANDROID_LINK,
  {
    name: "an iOS notification of a refund",
    before: [link(first)],
    call: notify({ revocationDate: SAID - DAY, revocationReason: 0 }),
  },
  { name: "an iOS notification of a purchase that nobody has", call: notify() },
  ANDROID_NOTIFICATION,
];
