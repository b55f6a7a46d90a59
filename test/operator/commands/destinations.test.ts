import { HOUR } from "../../../lib/duration.ts";
import { isoTime, type Instant } from "../../../lib/entitlements/time.ts";
import { afterFailure, HEALTHY, type QueueHealth } from "../../../lib/queues/health.ts";
import { GONE, pausesOf } from "../../../lib/delivery/target.ts";
import { OVERLAP_MILLISECONDS, secretText, signingSecrets } from "../../../lib/delivery/webhook-secret.ts";
import { DAY, NOW } from "../../../testing/support/stores/purchases.ts";
import { anApplication, BACKEND, BUS, MASTER, withOperator, type ToldApplication } from "../telling-world.ts";
import { refusedWith, UNKNOWN } from "../run-operator.ts";

const given = withOperator();

const suspended = afterFailure(HEALTHY, GONE, pausesOf, NOW);
const refused = (retryAt: number | null): QueueHealth =>
  afterFailure<string>(HEALTHY, { because: "status 500", retryAt }, pausesOf, NOW);

/** Secrets that sign the backend's messages at a moment, as it has them. */
const signing = async (application: ToldApplication, moment: Instant = NOW): Promise<string[]> => {
  const master = new TextEncoder().encode(MASTER);
  return signingSecrets(master, application.identifier, await application.webhook(), moment).map(secretText);
};

describe("destination list", () => {
  const list = async ({ json }: ToldApplication) =>
    (await json("destination list APPLICATION"))["destinations"];

  test("shows each with its health, what waits, and its secret", async () => {
    const application = await anApplication(given, [BACKEND, BUS]);
    await application.sellTo("a", "b");
    const health = { state: "takes-messages", failingSince: null, because: null, nextTryAt: null };
    const waiting = { accounts: 2, requests: 0, since: isoTime(NOW) };
    const secret = { shownAt: null, previousSignsUntil: null };
    expect(await list(application)).toEqual([
      { ...BACKEND, kind: "webhook", health, waiting, secret },
      { ...BUS, kind: "event-bus", health, waiting, secret: null },
    ]);
  });

  test.each<[string, QueueHealth, object, string]>([
    [
      "failing, with its reason and its next try",
      refused(null),
      { state: "failing", failingSince: isoTime(NOW), because: "status 500", nextTryAt: isoTime(NOW + 5000) },
      `failing since ${isoTime(NOW)} (status 500); next try ${isoTime(NOW + 5000)}`,
    ],
    [
      "suspended, and how that ends",
      suspended,
      { state: "suspended", nextTryAt: null },
      "; destination resume ends that",
    ],
  ])("tells that one is %s", async (_, stored, health, text) => {
    const application = await anApplication(given);
    await application.heal(stored);
    expect(await list(application)).toMatchObject([{ health }]);
    expect((await application.run("destination list APPLICATION")).out).toContain(text);
  });

  test("says that there is none", async () => {
    const { run } = await anApplication(given, []);
    expect((await run("destination list APPLICATION")).out).toBe("Trails has no destinations.\n");
    expect((await run(`destination list ${UNKNOWN}`)).code).toBe(1);
  });
});

describe("destination rotate", () => {
  const rotate = ({ run }: ToldApplication, moment = NOW, more = "") =>
    run(`destination rotate APPLICATION backend --json${more}`, { moment });

  test("prints the new signing secret in one line, once", async () => {
    const application = await anApplication(given);
    const { out } = await application.run("destination rotate APPLICATION backend");
    const [, secret = ""] = /^secret: (whsec_[A-Za-z0-9+/]{43}=)\n/.exec(out) ?? [];
    expect(out.split(secret)).toHaveLength(2);
    expect(await signing(application)).toEqual([secret]);
    expect(JSON.stringify(await given.table.items())).not.toContain(secret);
  });

  test("lets the previous secret sign beside it for a day", async () => {
    const application = await anApplication(given);
    const first = (await rotate(application)).json();
    expect(first["previousSignsUntil"]).toBeNull();
    const again = NOW + 3 * DAY;
    const until = again + OVERLAP_MILLISECONDS;
    const second = (await rotate(application, again)).json();
    expect(second["previousSignsUntil"]).toBe(isoTime(until));
    const both = [second["secret"], first["secret"]];
    expect(new Set(both).size).toBe(2);
    expect(await signing(application, until - 1)).toEqual(both);
    expect(await signing(application, until)).toEqual([second["secret"]]);
    const { out } = await application.run("destination list APPLICATION", { moment: again });
    expect(out).toContain(`its secret was shown at ${isoTime(again)}`);
    expect(out).toContain(`the previous secret signs too until ${isoTime(until)}`);
  });

  test("ends an earlier secret at once only when it is told to", async () => {
    const application = await anApplication(given);
    const soon = NOW + 2 * DAY + HOUR;
    await rotate(application);
    await rotate(application, NOW + 2 * DAY);
    const before = await application.webhook();
    expect(await rotate(application, soon)).toMatchObject(refusedWith("ends the previous secret now"));
    expect(await application.webhook()).toEqual(before);
    expect((await rotate(application, soon, " --yes")).code).toBe(0);
    expect(await application.webhook()).toMatchObject({
      secretEpochs: [soon, NOW + 2 * DAY],
    });
  });

  test("survives an apply that changes the URL", async () => {
    const application = await anApplication(given);
    const { secret } = (await rotate(application)).json();
    await application.configure([{ ...BACKEND, url: "https://api.example.com/other" }]);
    expect(await signing(application)).toEqual([secret]);
  });

  test.each([
    [{ MASTER_SECRET: "nowhere" }, "The master secret nowhere cannot be read: there is no such secret."],
    [{ MASTER_SECRET: "short" }, "fewer than 32 bytes"],
    [{ AWS_ENDPOINT_URL_SECRETS_MANAGER: "http://127.0.0.1:9" }, "does not answer at http://127.0.0.1:9"],
    // AWS is not asked for the secret of a table on this machine.
    [{ AWS_ENDPOINT_URL_SECRETS_MANAGER: "" }, "Set AWS_ENDPOINT_URL_SECRETS_MANAGER to the address"],
  ])(
    "without a master secret signs with no secret that nobody has seen: %j",
    async (environment, problem) => {
      const application = await anApplication(given);
      const done = await application.run("destination rotate APPLICATION backend --json", { environment });
      expect(done).toMatchObject({ ...refusedWith(problem), out: "" });
      expect(await application.webhook()).toMatchObject({ secretEpochs: [] });
    },
  );

  test("takes the secret that MASTER_SECRET names", async () => {
    const application = await anApplication(given);
    const environment = { MASTER_SECRET: "elsewhere" };
    const { secret } = await application.json("destination rotate APPLICATION backend", { environment });
    expect(await signing(application)).not.toContain(secret);
  });
});

describe("destination resume", () => {
  test.each([
    ["a pause", refused(NOW + DAY)],
    ["a suspension", suspended],
  ])("ends %s", async (_, health) => {
    const application = await anApplication(given);
    const resume = () => application.run("destination resume APPLICATION backend");
    await application.heal(health);
    expect(await resume()).toMatchObject({ code: 0, out: expect.stringContaining("backend is resumed") });
    expect(await application.queue.healthOf(application.reference())).toEqual(HEALTHY);
    expect((await resume()).out).toContain("takes messages already");
  });

  test("makes what it had refused due at once", async () => {
    const application = await anApplication(given);
    await application.sellTo("a", "b");
    for (const delivery of await application.deliveries())
      await application.queue.retry(application.reference(), delivery, 7, NOW + DAY);
    await application.heal(suspended);
    const { err } = await application.run("destination resume APPLICATION backend");
    expect(err).toContain("made 2 messages due");
    const due = { tries: 7, nextTryAt: 0 };
    expect(await application.deliveries()).toMatchObject([due, due]);
  });
});

test.each([
  ["rotate", "bus", "bus is an event bus"],
  ["rotate", "nope", "Trails has no destination nope: it has backend, bus."],
  ["resume", "nope", "Trails has no destination nope"],
])("destination %s is refused for %s", async (command, name, problem) => {
  const { run } = await anApplication(given, [BACKEND, BUS]);
  expect(await run(`destination ${command} APPLICATION ${name}`)).toMatchObject(refusedWith(problem));
});
