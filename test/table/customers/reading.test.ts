import { encodeHoldings, linesCodec } from "../../../lib/table/customers/items.ts";
import { GetCommand, PutCommand } from "@aws-sdk/lib-dynamodb";
import * as z from "zod/mini";
import { ENVIRONMENTS, STORES } from "../../../lib/contract/schemas.ts";
import { NATURES, STANDINGS } from "../../../lib/entitlements/purchase.ts";
import { accountId, applicationId, customerId } from "../../../lib/identifiers.ts";
import { readUnparsed } from "../../../lib/table/dynamodb/reads.ts";
import { createCustomerTable } from "../../../lib/table/customers/customers.ts";
import { encoded } from "../../../lib/table/dynamodb/shapes.ts";
import { keys } from "../../../lib/table/keys.ts";
import { createNotificationTimes } from "../../../lib/table/queues/notifications.ts";
import { knownItems, MalformedItemError, parseItems } from "../../../lib/table/dynamodb/table.ts";
import { createToldTable } from "../../../lib/table/telling/changes.ts";
import { aPurchase, NOW } from "../../../testing/support/stores/purchases.ts";
import { createTestTable } from "../../../testing/support/table/table.ts";

const APPLICATION = applicationId("0198c0de-0000-7000-8000-000000000001");
const CUSTOMER = customerId("0198c0de-0000-7000-8000-0000000000cc");

const table = await createTestTable();
afterAll(() => table.remove());
const customers = createCustomerTable(table);
const put = (item: Record<string, unknown>) =>
  table.client.send(new PutCommand({ TableName: table.name, Item: item }));

test("every read of a request is strongly consistent", async () => {
  const consistent: unknown[] = [];
  const isConsistent = (input: object) => "ConsistentRead" in input && input.ConsistentRead === true;
  table.client.middlewareStack.add(
    (next) => async (args) => {
      const { input } = args;
      const items = "RequestItems" in input ? input.RequestItems : { input };
      consistent.push(Object.values(items ?? {}).every(isConsistent));
      return next(args);
    },
    { step: "initialize", name: "consistency" },
  );
  await customers.findAccount(APPLICATION, accountId("a"));
  await customers.findFacts(APPLICATION, [], [aPurchase()], NOW);
  await customers.findCustomers(APPLICATION, [CUSTOMER]);
  table.client.middlewareStack.remove("consistency");
  expect(consistent).toEqual([true, true, true]);
});

test("a schema is made once, however many items are parsed", () => {
  let made = 0;
  const schema = () => {
    made += 1;
    return z.object({ pk: z.string() });
  };
  const items = [{ pk: "1" }, { pk: "2" }];
  expect([parseItems(schema, items), knownItems(schema, items), made]).toEqual([items, items, 1]);
});

test("a malformed item is an error with its key alone", async () => {
  const key = {
    pk: `APPLICATION#${APPLICATION}#PURCHASE#ios-store#production#${aPurchase().key}`,
    sk: "PURCHASE",
  };
  await put({ ...key, customer: "s3cret" });
  const failure: unknown = await customers
    .findFacts(APPLICATION, [], [aPurchase()], NOW)
    .catch((error: unknown) => error);
  expect(failure).toBeInstanceOf(MalformedItemError);
  expect(String(failure)).toMatch(/PURCHASE#ios-store#production#[0-9a-f]{12}…/);
  const sentence = failure instanceof MalformedItemError ? failure.toSentence() : "";
  expect(sentence).toContain(JSON.stringify(key.pk));
  expect(String(failure)).not.toContain("s3cret");
  expect((await table.client.send(new GetCommand({ TableName: table.name, Key: key }))).Item).toBeDefined();
});

test.each([
  ["no JSON", "{"],
  ["without its lists", JSON.stringify({ applicationIdentifier: APPLICATION, version: 1 })],
])("a change whose data is %s is malformed; the error names it", async (_, data) => {
  const place = { day: "2027-01-31", sequence: 1 };
  await put({ ...keys.change(APPLICATION, place), sequence: 1, first: 1, toldAt: NOW, data });
  await expect(createToldTable(table).changeAt(APPLICATION, place)).rejects.toThrow(
    /^The item .*#CHANGES#2027-01-31.* does not match its schema\.$/,
  );
});

test.each([
  ["store", STORES.length],
  ["environment", ENVIRONMENTS.length],
  ["nature", NATURES.length],
  ["standing", STANDINGS.length],
  ["standing", "0"],
])("holdings whose %s has the position %p are malformed", async (part, position) => {
  const text = JSON.stringify(encodeHoldings([aPurchase()]));
  const [store, environment, key, [[id, product, base, nature, standing, ...line]]] = JSON.parse(text)[0];
  const account = accountId(`${part} ${position}`);
  const found = async (changes: Record<string, unknown>) => {
    const at = { store, environment, nature, standing, ...changes };
    const lines = [[id, product, base, at.nature, at.standing, ...line]];
    await put({
      ...keys.accountCustomer(APPLICATION, account, CUSTOMER),
      customer: CUSTOMER,
      holdings: [[at.store, at.environment, key, lines, null, null, null]],
      assertedBy: "client",
      absorbed: [],
    });
    return customers.findAccount(APPLICATION, account);
  };
  expect(await found({ [part]: 0 })).toHaveLength(1);
  await expect(found({ [part]: position })).rejects.toThrow(MalformedItemError);
});

/** As format 1 stored it first. It is never changed: what was stored has to be read by every later version. */
const FIRST_LINE =
  '["700000","monthly",null,0,0,1780000000000,1782592000000,null,true,1780000000001,"970000",null,' +
  "1780000000000,false,2,1,null,0,null]";

test("a line of format 1 as it was stored first is read", () => {
  const [line] = encoded(linesCodec).parse([JSON.parse(FIRST_LINE)]);
  expect(line).toMatchObject({
    transactionIdentifier: "700000",
    productIdentifier: "monthly",
    nature: "auto_renewable",
    standing: "entitled",
    startsAt: 1_780_000_000_000,
    endsAt: 1_782_592_000_000,
    willRenew: true,
    verifiedAt: 1_780_000_000_001,
    event: "970000",
    quantity: 2,
    refundedQuantity: 1,
  });
});

test("items that DynamoDB leaves out of a batch are requested again", async () => {
  const keys = Array.from({ length: 60 }, (_, index) => ({ pk: `LARGE#${index}`, sk: "LARGE" }));
  await Promise.all(keys.map((key) => put({ ...key, content: "x".repeat(390_000) })));
  table.sent.length = 0;
  // Sixty items of 390 KB are more than the 16 MB of one answer.
  const found = await readUnparsed(table, keys);
  expect(found.filter((item) => item !== undefined)).toHaveLength(60);
  expect(table.sent.length).toBeGreaterThan(1);
});

test("a last notification without its time is malformed", async () => {
  const notified = {
    application: APPLICATION,
    store: "ios-store",
    environment: "production",
    bundleOrPackage: "com.example.app",
  } as const;
  await put({ ...keys.notification(notified), lastSignedAt: "2027-01-31" });
  await expect(createNotificationTimes(table).raise(notified, NOW)).rejects.toThrow(MalformedItemError);
});
