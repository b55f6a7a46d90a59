import { PutCommand } from "@aws-sdk/lib-dynamodb";
import { byCredential, owned, refunded } from "../../../testing/support/world.ts";
import type { ResolvedCustomer } from "../../../lib/customers/storing/store-facts.ts";
import { accountId } from "../../../lib/identifiers.ts";
import { requestDeliveryPut } from "../../../lib/table/telling/deliveries.ts";
import { lookWrite } from "../../../lib/table/telling/looks.ts";
import { transact } from "../../../lib/table/dynamodb/transactions.ts";
import { setAttributes } from "../../../lib/table/dynamodb/writes.ts";
import { DAY, NOW } from "../../../testing/support/stores/purchases.ts";
import { anApplication, BACKEND, BUS, withOperator, type ToldApplication } from "../telling-world.ts";
import { keys } from "../../../lib/table/keys.ts";

const given = withOperator();

const erase = (
  application: ToldApplication,
  customer: ResolvedCustomer | null,
  environment: Record<string, string> = {},
) =>
  given.operator.run(
    ["customer", "erase", application.identifier, customer?.identifier ?? "", "--reason", "asked", "--yes"],
    environment,
  );

const changesOf = async (application: ToldApplication) =>
  (await application.itemsOf("#CHANGES#"))
    .toSorted((a, b) => Number(a["sequence"]) - Number(b["sequence"]))
    .map(({ data }) =>
      data === undefined
        ? null
        : [JSON.parse(String(data)).applicationAccountIdentifier, JSON.parse(String(data)).version],
    );

/** An application that was told of two versions of account a, and then stopped telling. */
const stopped = async (more: readonly string[] = []) => {
  const application = await anApplication(given);
  const world = await application.world();
  const customer = await world.store({ purchases: [owned("1")] }, byCredential("a"));
  for (const key of more) await world.store({ purchases: [owned(key)] }, byCredential("a"));
  await application.tell();
  await world.store({ purchases: [refunded("1")] });
  await world.store({ purchases: [owned("other")] }, byCredential("b"));
  await application.tell();
  await application.configure([]);
  return { application, customer };
};

describe("an erasure in an application that tells no changes any more", () => {
  test("forgets an account's changes, except for the version", async () => {
    const { application, customer } = await stopped();
    expect((await changesOf(application)).map((change) => change?.[0]).toSorted()).toEqual(["a", "a", "b"]);
    expect(await erase(application, customer)).toMatchObject({ code: 0 });
    expect((await changesOf(application)).filter((change) => change?.[0] === "a")).toEqual([]);
    expect(await changesOf(application)).toHaveLength(3);
    const told = await application.itemsOf("#TOLD#");
    expect(told.filter(({ account }) => account === "a")).toEqual([]);
    expect(told.filter(({ pk }) => String(pk).includes("#ERASED#"))).toEqual([
      { pk: expect.any(String), sk: "TOLD", version: 2 },
    ]);
    const left = JSON.stringify(
      (await application.itemsOf("")).filter(({ pk }) => !String(pk).endsWith("#AUDIT")),
    );
    expect(left).not.toContain(customer?.identifier);
    // What others were told stays.
    expect(told.filter(({ account }) => account === "b")).toHaveLength(2);
  });

  test("leaves no look of the account", async () => {
    const application = await anApplication(given);
    const world = await application.world();
    const customer = await world.store({ purchases: [owned("1")] }, byCredential("a"));
    await application.tell();
    await application.configure([]);
    const look = { account: accountId("a"), dueAt: NOW + 5 * DAY, cause: null };
    await transact(given.table, [
      setAttributes(given.table.name, keys.told(application.identifier, look.account), {
        lookAt: look.dueAt,
      }),
      lookWrite(given.table.name, application.identifier, look),
    ]);
    const dueOf = async () => (await application.itemsOf("#CHANGED")).map(({ dueAt }) => dueAt);
    expect(await dueOf()).toContain(look.dueAt);
    await erase(application, customer);
    expect(await dueOf()).not.toContain(look.dueAt);
  });

  test("publishes the account's other customers as a new version later", async () => {
    const { application, customer } = await stopped(["2"]);
    await erase(application, customer);
    expect((await changesOf(application)).filter((change) => change?.[0] === "a")).toEqual([]);
    await application.configure([BACKEND]);
    await given.operator.run(["application", "retell", application.identifier]);
    await application.tell(NOW + 120_000);
    expect((await changesOf(application)).filter((change) => change?.[0] === "a")).toEqual([["a", 3]]);
  });

  test("finds the account of the customer's changes, although it has moved", async () => {
    const { application, customer } = await stopped();
    const world = await application.world();
    await world.unlink(customer, "c");
    await erase(application, customer);
    expect((await changesOf(application)).filter((change) => change?.[0] === "a")).toEqual([]);
  });

  test("is completed by the same command without the master secret", async () => {
    const { application, customer } = await stopped();
    const broken = await erase(application, customer, { MASTER_SECRET: "nowhere" });
    expect([broken.code, broken.err]).toEqual([
      1,
      expect.stringContaining("The master secret nowhere cannot be read"),
    ]);
    expect((await application.itemsOf("#TOLD#")).some(({ account }) => account === "a")).toBe(true);
    expect(await erase(application, customer)).toMatchObject({ code: 0 });
    expect((await application.itemsOf("#TOLD#")).some(({ account }) => account === "a")).toBe(false);
    expect(await erase(application, customer)).toMatchObject({ code: 1 });
  });

  test("is completed by the teller where telling has begun again meanwhile", async () => {
    const { application, customer } = await stopped();
    await erase(application, customer, { MASTER_SECRET: "nowhere" });
    await application.configure([BACKEND]);
    await erase(application, customer);
    await application.tell();
    const kept = (await changesOf(application)).filter((change) => change?.[0] === "a");
    // The empty state alone.
    expect(kept).toEqual([["a", 3]]);
    expect((await application.itemsOf("#TOLD#")).some(({ account }) => account === "a")).toBe(false);
  });
});

describe("a store's request about an erased person, while it waits", () => {
  const wait = async (application: ToldApplication, identifier: string, data: object): Promise<void> => {
    const message = { identifier, type: "store.request", timestamp: NOW, data };
    for (const destination of ["backend", "bus"])
      await given.table.client.send(
        new PutCommand(
          requestDeliveryPut(given.table.name, application.identifier, destination, {
            message,
            until: NOW + DAY,
          }),
        ),
      );
  };
  const eraseAccount = (
    application: ToldApplication,
    account: string,
    environment: Record<string, string> = {},
  ) =>
    given.operator.run(
      ["account", "erase", application.identifier, account, "--reason", "asked", "--yes"],
      environment,
    );
  const waiting = async (application: ToldApplication) =>
    (await application.itemsOf("#DESTINATION#"))
      .flatMap(({ request }) => (request === undefined ? [] : [request]))
      .toSorted();

  test("goes with the person, at every destination; that of others stays", async () => {
    const application = await anApplication(given, [BACKEND, BUS]);
    const world = await application.world();
    const [first, second] = await Promise.all(
      ["1", "2"].map((key) => world.store({ purchases: [owned(key)] }, null)),
    );
    const merged = await world.store({ purchases: [owned("1"), owned("2")] }, byCredential("a"));
    const other = await world.store({ purchases: [owned("3")] }, byCredential("b"));
    for (const [index, customer] of [first, second].entries())
      await wait(application, `of-erased-${index}`, { customerIdentifier: customer?.identifier });
    await wait(application, "of-other", { customerIdentifier: other?.identifier });
    await wait(application, "of-nobody", { customerIdentifier: null });
    await wait(application, "of-another-version", {});
    expect(await waiting(application)).toHaveLength(10);
    expect(await erase(application, merged)).toMatchObject({ code: 0 });
    expect(await waiting(application)).toEqual(
      ["of-another-version", "of-nobody", "of-other"].flatMap((one) => [one, one]),
    );
  });

  test("goes with the account that it names, although its customer moved", async () => {
    const application = await anApplication(given, [BACKEND, BUS]);
    const world = await application.world();
    const moved = await world.store({ purchases: [owned("1")] }, byCredential("a"));
    await world.store({ purchases: [owned("2")] }, byCredential("a"));
    const customerIdentifier = moved?.identifier;
    await wait(application, "of-a", { customerIdentifier, applicationAccountIdentifier: "a" });
    await world.unlink(moved, "b");
    await wait(application, "of-b", { customerIdentifier, applicationAccountIdentifier: "b" });
    await wait(application, "of-nobody", { customerIdentifier: null, applicationAccountIdentifier: null });
    expect(await eraseAccount(application, "a")).toMatchObject({
      code: 0,
      out: expect.stringContaining("is erased: 1 customer."),
    });
    expect(await waiting(application)).toEqual(["of-b", "of-b", "of-nobody", "of-nobody"]);
    // It is the customer's, whatever account it names.
    await wait(application, "of-c", { customerIdentifier, applicationAccountIdentifier: "c" });
    expect(await eraseAccount(application, "b")).toMatchObject({ code: 0 });
    expect(await waiting(application)).toEqual(["of-nobody", "of-nobody"]);
  });

  test("goes with an account without customers, which the audit records", async () => {
    const application = await anApplication(given, [BACKEND, BUS]);
    const world = await application.world();
    const moved = await world.store({ purchases: [owned("1")] }, byCredential("a"));
    const customerIdentifier = moved?.identifier;
    await wait(application, "of-a", { customerIdentifier, applicationAccountIdentifier: "a" });
    await world.unlink(moved, "b");
    const audited = async () =>
      (await application.itemsOf("#AUDIT")).filter(({ action }) => action === "erase");
    expect(await eraseAccount(application, "a")).toMatchObject({
      code: 0,
      out: expect.stringContaining(
        "No customer is linked to account a. Its pending store requests are deleted.",
      ),
    });
    expect(await waiting(application)).toEqual([]);
    const once = [
      expect.objectContaining({
        customer: null,
        accounts: [expect.any(String)],
        what: ["begun: pending store requests of the account"],
      }),
    ];
    expect(await audited()).toEqual(once);
    expect((await eraseAccount(application, "a")).out).not.toContain("pending store requests");
    expect(await audited()).toEqual(once);
  });

  test("goes without the master secret; the audit then knows no account", async () => {
    const application = await anApplication(given, [BACKEND, BUS]);
    await wait(application, "of-a", { customerIdentifier: null, applicationAccountIdentifier: "a" });
    expect(await eraseAccount(application, "a", { MASTER_SECRET: "nowhere" })).toMatchObject({ code: 0 });
    expect(await waiting(application)).toEqual([]);
    const words = ["application", "audit", application.identifier, "--account", "b", "--json"];
    expect((await given.operator.run(words)).json()).toMatchObject({
      audit: [{ action: "apply" }],
      entriesOfUnknownAccount: 1,
    });
  });

  test("stays with the account's other customers where one of them is erased", async () => {
    const application = await anApplication(given, [BACKEND, BUS]);
    const world = await application.world();
    const [erased, other] = await Promise.all(
      ["1", "2"].map((key) => world.store({ purchases: [owned(key)] }, byCredential("a"))),
    );
    for (const [request, customer] of [
      ["of-erased", erased],
      ["of-other", other],
    ] as const)
      await wait(application, request, {
        customerIdentifier: customer?.identifier,
        applicationAccountIdentifier: "a",
      });
    expect(await erase(application, erased ?? null)).toMatchObject({ code: 0 });
    expect(await waiting(application)).toEqual(["of-other", "of-other"]);
  });

  test("goes although a later version wrote its other attributes in another form", async () => {
    const application = await anApplication(given, [BACKEND, BUS]);
    const world = await application.world();
    const customer = await world.store({ purchases: [owned("1")] }, byCredential("a"));
    const data = JSON.stringify({ customerIdentifier: customer?.identifier });
    const Item = { ...keys.requestDelivery(application.identifier, "bus", "later"), request: "later", data };
    await given.table.client.send(new PutCommand({ TableName: given.table.name, Item }));
    expect(await waiting(application)).toEqual(["later"]);
    expect(await erase(application, customer)).toMatchObject({ code: 0 });
    expect(await waiting(application)).toEqual([]);
  });

  test("goes, however much waits", async () => {
    const application = await anApplication(given, [BACKEND, BUS]);
    const world = await application.world();
    const customer = await world.store({ purchases: [owned("1")] }, byCredential("a"));
    const data = { customerIdentifier: customer?.identifier, reason: "x".repeat(100_000) };
    for (let index = 0; index < 30; index += 1) await wait(application, `request-${index}`, data);
    expect(await erase(application, customer)).toMatchObject({ code: 0 });
    expect(await waiting(application)).toEqual([]);
  });

  test("is removed by the same command after an interrupted erasure", async () => {
    const application = await anApplication(given, [BACKEND, BUS]);
    const world = await application.world();
    const customer = await world.store({ purchases: [owned("1")] }, byCredential("a"));
    await erase(application, customer);
    await wait(application, "late", { customerIdentifier: customer?.identifier });
    expect(await erase(application, customer)).toMatchObject({ code: 0 });
    expect(await waiting(application)).toEqual([]);
    expect(JSON.stringify(await application.itemsOf("#AUDIT"))).toContain("completes an interrupted erasure");
    expect(await erase(application, customer)).toMatchObject({ code: 1 });
  });
});

test("an erasure without published changes needs no master secret", async () => {
  const application = await anApplication(given, []);
  const world = await application.world();
  const customer = await world.store({ purchases: [owned("1")] }, byCredential("a"));
  expect(await erase(application, customer, { MASTER_SECRET: "nowhere" })).toMatchObject({ code: 0 });
  expect(await application.itemsOf("#TOLD#")).toEqual([]);
});
