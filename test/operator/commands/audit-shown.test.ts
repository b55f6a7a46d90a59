import { createServer } from "node:http";
import { userInfo } from "node:os";
import { createTokenService } from "../../../local/aws.ts";
import { close, listen } from "../../../local/server.ts";
import { NOW } from "../../../testing/support/stores/purchases.ts";
import type { Claim } from "../../../lib/customers/storing/fact-store.ts";
import { byClient, byCredential, owned } from "../../../testing/support/world.ts";
import { CALLER, startTokenService } from "../sts.ts";
import { anApplication, BACKEND, withOperator, type ToldApplication } from "../telling-world.ts";

const given = withOperator();
const because = "--reason asked --yes";

/** An application with customers of account a. */
const withCustomers = async (claim: Claim, ...keys: readonly string[]) => {
  const application = await anApplication(given);
  const world = await application.world();
  for (const key of keys) await world.store({ purchases: [owned(key)] }, claim);
  return application;
};

test("the audit of an account says why it lost access", async () => {
  const { run, json, ...application } = await anApplication(given);
  const world = await application.world();
  const store = async (key: string, claim: Claim | null) =>
    (await world.store({ purchases: [owned(key)] }, claim))?.identifier ?? "";
  const lost = await store("1", byCredential("a"));
  const kept = await store("2", byCredential("a"));
  const other = await store("3", byCredential("b"));
  const free = await store("4", null);
  for (const customer of [lost, other]) await run(`customer unlink APPLICATION ${customer} ${because}`);
  for (const customer of [kept, free]) await run(`customer refresh APPLICATION ${customer} --no-wait`);
  await run("account export APPLICATION b");
  await application.configure([BACKEND], { products: [] });
  const line = "application audit APPLICATION --account";
  expect(await json(`${line} a`)).toMatchObject({
    applicationIdentifier: application.identifier,
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
  expect((await run(`${line} a`)).out).toContain("1 more entry has no account");
  expect((await run(`${line} z`)).out).toContain("apply");
});

test("transfers by links are shown among the acts, in the order of time", async () => {
  const application = await anApplication(given);
  const world = await application.world();
  const moving = world.with({ application: { ...world.application, transfers: "always" } });
  await moving.at(NOW + 1000).store({ purchases: [owned("1")] }, byCredential("a"));
  const customer = await moving.at(NOW + 2000).store({ purchases: [owned("1")] }, byCredential("b"));
  await application.run("application refresh APPLICATION", { moment: NOW + 3000 });
  expect(await application.audit()).toMatchObject([
    { action: "apply" },
    { action: "transfer", customer: customer?.identifier, by: "a link", caller: null },
    { action: "refresh" },
  ]);
});

test("without the master secret a command goes on, with one line", async () => {
  const application = await withCustomers(byClient("a"), "1", "2");
  const environment = { MASTER_SECRET: "nowhere" };
  const line = `account unlink APPLICATION a --asserted-by client ${because}`;
  const done = await application.run(line, { environment });
  expect(done.code).toBe(0);
  expect(done.err.match(/The audit cannot name accounts/g)).toHaveLength(1);
  expect((await application.audit()).slice(1)).toMatchObject([{ accounts: [] }, { accounts: [] }]);
});

describe("the caller", () => {
  const issue = async (application: ToldApplication, environment: Record<string, string> = {}) => {
    const line = "credential issue --application APPLICATION --scope changes:read --json";
    const done = await application.run(line, { environment });
    return { ...done, entry: (await application.audit()).at(-1) };
  };

  test("is asked of STS once for a command that changes something", async () => {
    const application = await withCustomers(byCredential("a"), "1", "2");
    const sts = await startTokenService();
    const environment = { AWS_ENDPOINT_URL_STS: sts.endpoint };
    await application.run("application show APPLICATION", { environment });
    expect(sts.asked).toEqual([]);
    await application.run(`account erase APPLICATION a ${because}`, { environment });
    await sts.stop();
    expect(sts.asked).toEqual([expect.stringContaining("/sts/aws4_request")]);
    expect((await application.audit()).slice(1)).toMatchObject([{ caller: CALLER }, { caller: CALLER }]);
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
    expect(await issue(application)).toMatchObject({ err: "", entry: { caller: "local" } });
    expect(await issue(application, { AWS_ENDPOINT_URL_STS })).toMatchObject({
      err: "",
      entry: { caller: "arn:aws:iam::123456789012:user/local" },
    });
    await close(server);
  });
});
