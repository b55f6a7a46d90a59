import {
  accountId,
  applicationId,
  customerId,
  purchaseKey,
  type ApplicationId,
} from "../../lib/identifiers.ts";
import { deliveryOfKey, type Key, keys } from "../../lib/table/keys.ts";
import { loggedKey } from "../../lib/table/dynamodb/table.ts";
import { NOW } from "../../testing/support/stores/purchases.ts";

const APPLICATION = applicationId("0198c0de-0000-7000-8000-000000000001");
const CUSTOMER = customerId("0198c0de-0000-7000-8000-000000000002");
const PERSON = "anna@example.com #ACCOUNT#1#PURCHASE#2#IDENTITY#3\n";
const PURCHASE = {
  store: "ios-store",
  environment: "production",
  key: purchaseKey("700000000000001"),
} as const;
const QUEUE = {
  application: APPLICATION,
  store: "ios-store",
  environment: "production",
  bundleOrPackage: "com.example.trails",
} as const;

const BUNDLE = { application: APPLICATION, bundleIdentifier: "com.example.trails" };

const logged = ({ pk, sk }: Key): string => [loggedKey(pk), loggedKey(sk)].join(" ");

test.each<[string, Key]>([
  ["an account", keys.accountCustomer(APPLICATION, accountId(PERSON), CUSTOMER)],
  ["claims of an account", keys.accountClaims(APPLICATION, accountId(PERSON))],
  ["a purchase", keys.purchase(APPLICATION, { ...PURCHASE, key: purchaseKey(PERSON) })],
  [
    "an identity",
    keys.identity(APPLICATION, {
      store: "ios-store",
      kind: "app-transaction",
      environment: "production",
      value: PERSON,
    }),
  ],
  ["a question", keys.ask(QUEUE, purchaseKey(PERSON), NOW)],
  ["a look", keys.look(APPLICATION, { account: accountId(PERSON), dueAt: NOW, cause: null })],
])("the logged key of %s names the application and kind alone", (_, key) => {
  expect(logged(key)).toContain(APPLICATION);
  expect(logged(key)).not.toMatch(/anna|example\.com/);
  expect(logged(key)).toMatch(/[0-9a-f]{12}…/);
});

test.each<[string, Key]>([
  ["an application", keys.application(APPLICATION)],
  ["a customer", keys.customer(APPLICATION, CUSTOMER)],
  ["a bundle", keys.storeRegistration("ios-store", "com.example.trails")],
  ["a sweep", keys.sweep(QUEUE)],
])("the logged key of %s is its key", (_, key) => {
  expect(logged(key)).toBe(`${key.pk} ${key.sk}`);
});

test.each<[string, Key, ApplicationId | null]>([
  ["a notification to forward", keys.forward(BUNDLE, { identifier: "1", nextTryAt: NOW }), APPLICATION],
  [
    "an account to deliver",
    keys.delivery({ application: APPLICATION, destination: "backend" }, accountId(PERSON)),
    APPLICATION,
  ],
  ["the health of a service that takes notifications", keys.forwardHealth(BUNDLE), null],
  [
    "a destination's health",
    keys.destinationHealth({ application: APPLICATION, destination: "backend" }),
    null,
  ],
])("%s wakes the deliverer, or not", (_, key, application) => {
  expect(deliveryOfKey(key)).toBe(application);
});
