import { createServer } from "node:http";
import { userInfo } from "node:os";
import { createTokenService } from "../../../local/aws/token-service.ts";
import { close, listen } from "../../../local/server.ts";
import { NOW } from "../../../testing/support/stores/purchases.ts";
import { byClient, byCredential, owned } from "../../../testing/support/world.ts";
import { CALLER, startTokenService } from "../sts.ts";
import { anApplication, BACKEND, withOperator, type ToldApplication } from "../telling-world.ts";

const given = withOperator();

const because = ["--reason", "asked by the person", "--yes"];
const run = (...words: readonly string[]) => given.operator.run(words);
const audit = async ({ identifier }: ToldApplication) =>
  (await run("application", "audit", identifier, "--json")).json()["audit"] as readonly object[];

test("the audit of an account says why it lost access", async () => {
  const application = await anApplication(given);
  const { identifier } = application;
  const world = await application.world();
  const store = async (key: string, account?: string) =>
    (await world.store({ purchases: [owned(key)] }, account === undefined ? null : byCredential(account)))
      ?.identifier ?? "";
  const [lost, kept, other, free] = [
    await store("1", "a"),
    await store("2", "a"),
    await store("3", "b"),
    await store("4"),
  ];
  for (const customer of [lost, other]) await run("customer", "unlink", identifier, customer, ...because);
  for (const customer of [kept, free]) await run("customer", "refresh", identifier, customer, "--no-wait");
  await run("account", "export", identifier, "b");
  await application.configure([BACKEND], { products: [] });
  const words = ["application", "audit", identifier, "--account", "a"];
  expect((await run(...words, "--json")).json()).toMatchObject({
    applicationIdentifier: identifier,
    applicationAccountIdentifier: "a",
    audit: [
      { action: "apply" },
      { action: "unlink", customer: lost },
      { action: "refresh", customer: kept },
      { action: "apply", what: [expect.stringContaining("lose access"), expect.any(String)] },
    ],
    // The entry of the customer without an account.
    entriesOfUnknownAccount: 1,
  });
  expect((await run(...words)).out).toContain("1 more entry has no account");
  expect((await run("application", "audit", identifier, "--account", "z")).out).toContain("apply");
});

test("transfers by links are shown among the acts, in the order of time", async () => {
  const application = await anApplication(given);
  const world = await application.world();
  const moving = world.with({ application: { ...world.application, transfers: "always" } });
  await moving.at(NOW + 1000).store({ purchases: [owned("1")] }, byCredential("a"));
  const customer = await moving.at(NOW + 2000).store({ purchases: [owned("1")] }, byCredential("b"));
  await given.operator.run(["application", "refresh", application.identifier], {}, NOW + 3000);
  expect(await audit(application)).toMatchObject([
    { action: "apply" },
    { action: "transfer", customer: customer?.identifier, by: "a link", caller: null },
    { action: "refresh" },
  ]);
});

test("without the master secret a command goes on, with one line", async () => {
  const application = await anApplication(given);
  const world = await application.world();
  for (const number of [1, 2]) await world.store({ purchases: [owned(`${number}`)] }, byClient("a"));
  const words = ["account", "unlink", application.identifier, "a", "--asserted-by", "client", ...because];
  const done = await given.operator.run(words, { MASTER_SECRET: "nowhere" });
  expect(done.code).toBe(0);
  expect(done.err.match(/The audit cannot name accounts/g)).toHaveLength(1);
  expect((await audit(application)).slice(1)).toMatchObject([{ accounts: [] }, { accounts: [] }]);
});

describe("the caller", () => {
  const issue = async (application: ToldApplication, environment: Record<string, string>) => {
    const words = ["--application", application.identifier, "--scope", "changes:read", "--json"];
    const done = await given.operator.run(["credential", "issue", ...words], environment);
    return { ...done, entry: (await audit(application)).at(-1) };
  };

  test("is asked of STS once for a command that changes something", async () => {
    const application = await anApplication(given);
    const world = await application.world();
    for (const number of [1, 2]) await world.store({ purchases: [owned(`${number}`)] }, byCredential("a"));
    const sts = await startTokenService();
    const environment = { AWS_ENDPOINT_URL_STS: sts.endpoint };
    await given.operator.run(["application", "show", application.identifier], environment);
    expect(sts.asked).toEqual([]);
    await given.operator.run(["account", "erase", application.identifier, "a", ...because], environment);
    await sts.stop();
    expect(sts.asked).toEqual([expect.stringContaining("/sts/aws4_request")]);
    expect((await audit(application)).slice(1)).toMatchObject([{ caller: CALLER }, { caller: CALLER }]);
  });

  test.each([
    ["does not answer", () => ({ endpoint: "http://127.0.0.1:9", stop: async () => undefined })],
    ["has no URL", () => ({ endpoint: "nowhere", stop: async () => undefined })],
    ["refuses", () => startTokenService(null)],
    ["names nobody", () => startTokenService("")],
  ])("is null where STS %s: the command goes on, with a line", async (_, start) => {
    const application = await anApplication(given);
    const silent = await start();
    const done = await issue(application, { AWS_ENDPOINT_URL_STS: silent.endpoint });
    await silent.stop();
    expect(done.json()).toMatchObject({ scopes: ["changes:read"] });
    expect(JSON.parse(done.err)).toEqual({
      warning: expect.stringMatching(/^The audit does not name the AWS identity of this shell: STS /),
    });
    expect(done.entry).toMatchObject({ action: "issue", by: userInfo().username, caller: null });
  });

  test("is local on a table of this machine", async () => {
    const application = await anApplication(given);
    const tokenService = createTokenService();
    const server = createServer((request, response) => void tokenService(request, response));
    const AWS_ENDPOINT_URL_STS = `http://127.0.0.1:${await listen(server, 0)}`;
    expect(await issue(application, {})).toMatchObject({ err: "", entry: { caller: "local" } });
    expect(await issue(application, { AWS_ENDPOINT_URL_STS })).toMatchObject({
      err: "",
      entry: { caller: "arn:aws:iam::123456789012:user/local" },
    });
    await close(server);
  });
});
