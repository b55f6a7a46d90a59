import { randomUUID } from "node:crypto";
import { isoTime } from "../../lib/entitlements/time.ts";
import { createAndroidPublisherSandbox } from "../../sandbox/android-store/publisher.ts";
import { DAY, NOW } from "../../testing/support/stores/purchases.ts";
import { byClient, byCredential, owned } from "../../testing/support/world.ts";
import { anApplication, withOperator } from "../operator/telling-world.ts";
import { open, type Json } from "./opened.ts";

/** The calls of the console's page. */

const given = withOperator();
let opened: Awaited<ReturnType<typeof open>>;
beforeAll(async () => {
  opened = await open(given);
});
afterAll(() => opened.stop());

const answerOf = async (name: string, input: unknown): Promise<Json> => {
  const { status, body } = await opened.call(name, input);
  expect([status, body.message]).toEqual([200, undefined]);
  return body.answer;
};

/** An application with a customer of account a, and one that a client has claimed for another account. */
const setUp = async () => {
  const { identifier: application, ...more } = await anApplication(given);
  const world = await more.world();
  const linked = await world.store({ purchases: [owned("9001")] }, byCredential("a"));
  await world.store({ purchases: [owned("9002")] }, byClient("claimer"));
  return {
    application,
    world,
    customer: linked?.identifier ?? "",
  };
};

test("an account is shown as endpoint 3 answers it, with why, and since when", async () => {
  const { application, world, customer } = await setUp();
  const answer = await answerOf("account", { application, account: "a" });
  const { entitlements } = await world.read("a");
  const why = [expect.stringMatching(/^monthly \(ios-store\): grants premium until /)];
  expect(answer.entitlements).toEqual(entitlements.map((entitlement) => ({ ...entitlement, why })));
  expect(answer.customers[0].customerIdentifier).toBe(customer);
  const [purchase] = answer.customers[0].purchases;
  const [row] = purchase.lines;
  expect(row.why[0]).toMatch(/^grants premium until /);
  expect(purchase.sentences[0]).toMatch(/^The App Store is not asked: /);
  expect(row.bars.map(({ kind }: { kind: string }) => kind)).toEqual(["period"]);
  expect(Date.parse(row.bars[0].to) - Date.parse(row.bars[0].from)).toBe(30 * DAY);
  expect(row.marks).toEqual([{ at: row.verifiedAt, kind: "verified" }]);
});

test("an account is found by its identifier and by a purchase's names", async () => {
  const { application, customer } = await setUp();
  for (const text of ["a", "9001"]) {
    const found = await answerOf("search", { application, text });
    expect([found.account, ...found.customers.map(({ account }: Json) => account)]).toContain("a");
  }
  const nobody = { account: null, customers: [], gone: [], erased: false };
  expect(await answerOf("search", { application, text: "nobody" })).toEqual(nobody);
  expect((await answerOf("customer", { application, customer })).link.account).toBe("a");
});

test("an application is shown without a secret of it", async () => {
  const application = randomUUID();
  const workloadIdentity = createAndroidPublisherSandbox({ now: () => NOW }).externalAccount(
    "http://127.0.0.1:3000",
  );
  await given.operator.apply({
    application: { identifier: application, name: "Trails" },
    stores: { "android-store": [{ packageName: "com.example.shown", credential: { workloadIdentity } }] },
  });
  const scope = ["entitlements:read"];
  const issued = await answerOf("act", { act: { act: "credential issue", application, scope } });
  const [, keyIdentifier = "", secret = ""] = /cek_(\w{16})_(\w+)/.exec(issued.text) ?? [];
  await answerOf("act", { act: { act: "credential revoke", application, keyIdentifier } });
  const answer = await answerOf("application", { application });
  expect(answer.androidStore[0].credential).toBe("workloadIdentity");
  expect(answer.credentials).toMatchObject([{ keyIdentifier, state: "revoked" }]);
  expect(answer.state).toContainEqual(expect.stringMatching(/^Queue of android-store .*: nothing is due$/));
  expect(JSON.stringify(answer)).not.toMatch(new RegExp(`${secret}|credential_source|token_url|secretHash`));
});

test("an act asks the command's question, and again where it has changed", async () => {
  const { application, world, customer } = await setUp();
  const act = { act: "customer unlink", application, customer, reason: "asked", by: "ada" };
  const asked = await answerOf("act", { act });
  expect(asked.outcome).toBe("asked");
  expect(asked.question).toContain(`This takes customer ${customer} (1 purchase) away from account a of `);
  // What was confirmed is not what would be done.
  const confirmed = asked.question.replace("1 purchase", "2 purchases");
  expect(await answerOf("act", { act, confirmed })).toEqual(asked);
  expect((await world.read("a")).entitlements).toHaveLength(1);
  const text = `Customer ${customer} is no longer linked to account a.`;
  expect(await answerOf("act", { act, confirmed: asked.question })).toMatchObject({ outcome: "done", text });
  expect((await world.read("a")).entitlements).toEqual([]);
  const { audit } = await answerOf("application", { application });
  expect(audit[0]).toMatchObject({ action: "unlink", by: "ada", reason: "asked", caller: "local" });
});

const reason = "asked for it";
test.each<[act: string, input: object, text: RegExp]>([
  ["customer unlink", { to: "b", reason }, /is linked to account b\.$/],
  ["customer erase", { reason }, /is erased: 1 purchase/],
  ["customer refresh", {}, /^Customer /],
  [
    "account unlink",
    { account: "claimer", assertedBy: "client", reason },
    /^1 customer of account claimer is/,
  ],
  ["account erase", { account: "a", reason }, /^Account a is erased: 1 customer\.$/],
  ["application refresh", { store: "ios-store" }, /2 customers/],
  ["application retell", {}, /2 accounts/],
  ["credential issue", { scope: ["customers:write"], expires: "P1D" }, /cek_\w{89}/],
  ["destination rotate", { name: "backend" }, /whsec_/],
  ["destination resume", { name: "backend" }, /takes messages already/],
  ["destination resend", { name: "backend", since: isoTime(NOW) }, /backend/],
])("%s %j is the command's act", async (name, input, text) => {
  const { application, customer } = await setUp();
  const of = name.startsWith("customer") ? { customer } : {};
  const act = { act: name, application, ...of, ...input };
  const first = await answerOf("act", { act });
  const done = first.outcome === "done" ? first : await answerOf("act", { act, confirmed: first.question });
  expect(done).toMatchObject({ outcome: "done", text: expect.stringMatching(text) });
});

test.each<[string, string, object | string, number, RegExp]>([
  ["no such call", "nothing", {}, 404, /no such call/],
  ["no JSON", "account", "x", 400, /expected object/],
  ["an unknown member", "start", { all: true }, 400, /Unrecognized key/],
  ["no application", "application", { application: "x" }, 422, /must be a UUID/],
  [
    "an account of control characters",
    "account",
    { application: randomUUID(), account: "\u0000" },
    422,
    /account/i,
  ],
  ["an unknown act", "act", { act: "table drop" }, 400, /Invalid/],
  ["an empty account", "act", { act: "account erase", account: "", reason }, 422, /account/i],
  ["an empty account to move to", "act", { act: "customer unlink", reason, to: "" }, 422, /account/i],
  ["no reason", "act", { act: "account erase", account: "a", reason: "" }, 422, /--reason has/],
])("%s is refused with a sentence, and changes nothing", async (_, name, input, status, message) => {
  const { application, customer, world } = await setUp();
  const sent = name === "act" ? { act: { application, customer, ...Object(input) } } : input;
  const refused = await opened.call(name, sent);
  expect([refused.status, refused.body.message]).toEqual([status, expect.stringMatching(message)]);
  expect((await world.read("a")).entitlements).toHaveLength(1);
});
