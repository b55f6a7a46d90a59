import { byCredential, owned, refunded } from "../../../testing/support/world.ts";
import type { ResolvedCustomer } from "../../../lib/customers/storing/store-facts.ts";
import { NOW } from "../../../testing/support/stores/purchases.ts";
import { anApplication, BACKEND, BUS, sold, withOperator, type ToldApplication } from "../telling-world.ts";
import { refusedWith } from "../run-operator.ts";

const given = withOperator();

const erase = ({ run }: ToldApplication, customer: ResolvedCustomer | null, environment = {}) =>
  run(`customer erase APPLICATION ${customer?.identifier} --reason asked --yes`, { environment });

/** Accounts and versions of the kept changes, the oldest first; those without data were forgotten. */
const changesOf = async (application: ToldApplication) =>
  (await application.itemsOf("#CHANGES#"))
    .toSorted((a, b) => Number(a["sequence"]) - Number(b["sequence"]))
    .map(({ data }) => JSON.parse(String(data)))
    .map((data) => (data === null ? null : `${data.applicationAccountIdentifier} ${data.version}`));
const ofA = (changes: readonly (string | null)[]) => changes.filter((change) => change?.startsWith("a "));

/** An application that was told of two versions of account a, and then stopped telling. */
const stopped = async (more: readonly string[] = []) => {
  const { application, world, customer } = await sold(given);
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
    expect((await changesOf(application)).toSorted()).toEqual(["a 1", "a 2", "b 1"]);
    expect(await erase(application, customer)).toMatchObject({ code: 0 });
    expect(ofA(await changesOf(application))).toEqual([]);
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

  test("publishes the account's other customers as a new version later", async () => {
    const { application, customer } = await stopped(["2"]);
    await erase(application, customer);
    expect(ofA(await changesOf(application))).toEqual([]);
    await application.configure([BACKEND]);
    await application.run("application retell APPLICATION");
    await application.tell(NOW + 120_000);
    expect(ofA(await changesOf(application))).toEqual(["a 3"]);
  });

  test("finds the account of the customer's changes, although it has moved", async () => {
    const { application, customer } = await stopped();
    await (await application.world()).unlink(customer, "c");
    await erase(application, customer);
    expect(ofA(await changesOf(application))).toEqual([]);
  });

  test("is completed by the same command without the master secret", async () => {
    const { application, customer } = await stopped();
    expect(await erase(application, customer, { MASTER_SECRET: "nowhere" })).toMatchObject(
      refusedWith("The master secret nowhere cannot be read"),
    );
    const isTold = async () => (await application.itemsOf("#TOLD#")).some(({ account }) => account === "a");
    expect(await isTold()).toBe(true);
    expect(await erase(application, customer)).toMatchObject({ code: 0 });
    expect(await isTold()).toBe(false);
    expect(await erase(application, customer)).toMatchObject({ code: 1 });
  });
});

describe("a store's request about an erased person, while it waits", () => {
  const wait = (application: ToldApplication, identifier: string, data: object) =>
    application.request(identifier, data, "backend", "bus");
  const eraseAccount = ({ run }: ToldApplication, account: string) =>
    run(`account erase APPLICATION ${account} --reason asked --yes`);
  const waiting = async (application: ToldApplication) =>
    (await application.itemsOf("#DESTINATION#"))
      .flatMap(({ message }) =>
        message === undefined ? [] : [(message as { identifier: string }).identifier],
      )
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
    const { application, world, customer } = await sold(given, [BACKEND, BUS]);
    const about = (account: string) => ({
      customerIdentifier: customer?.identifier,
      applicationAccountIdentifier: account,
    });
    await wait(application, "of-a", about("a"));
    await world.store({ purchases: [owned("2")] }, byCredential("a"));
    await world.unlink(customer, "b");
    await wait(application, "of-b", about("b"));
    await wait(application, "of-nobody", { customerIdentifier: null, applicationAccountIdentifier: null });
    expect((await eraseAccount(application, "a")).out).toContain("is erased: 1 customer.");
    expect(await waiting(application)).toEqual(["of-b", "of-b", "of-nobody", "of-nobody"]);
    // It is the customer's, whatever account it names.
    await wait(application, "of-c", about("c"));
    expect(await eraseAccount(application, "b")).toMatchObject({ code: 0 });
    expect(await waiting(application)).toEqual(["of-nobody", "of-nobody"]);
  });

  test("goes with an account without customers, which the audit records", async () => {
    const { application, world, customer } = await sold(given, [BACKEND, BUS]);
    const customerIdentifier = customer?.identifier;
    await wait(application, "of-a", { customerIdentifier, applicationAccountIdentifier: "a" });
    await world.unlink(customer, "b");
    expect((await eraseAccount(application, "a")).out).toContain("Its pending store requests are deleted.");
    expect(await waiting(application)).toEqual([]);
    expect((await eraseAccount(application, "a")).out).not.toContain("pending store requests");
    const audited = await application.itemsOf("#AUDIT");
    expect(audited.filter(({ action }) => action === "erase")).toMatchObject([
      { accounts: [expect.any(String)], what: ["begun: pending store requests of the account"] },
    ]);
  });
});

test("an erasure without published changes needs no master secret", async () => {
  const { application, customer } = await sold(given, []);
  expect(await erase(application, customer, { MASTER_SECRET: "nowhere" })).toMatchObject({ code: 0 });
  expect(await application.itemsOf("#TOLD#")).toEqual([]);
});
