import type { Destination } from "../../../lib/applications/destination.ts";
import { isoTime, type Instant } from "../../../lib/entitlements/time.ts";
import { applicationId } from "../../../lib/identifiers.ts";
import { createDeliveryQueue } from "../../../lib/table/telling/delivery-queue.ts";
import { afterFailure, HEALTHY } from "../../../lib/queues/health.ts";
import { GONE, pausesOf, type DestinationHealth } from "../../../lib/delivery/destination-health.ts";
import { OVERLAP_MILLISECONDS, secretText, signingSecrets } from "../../../lib/delivery/webhook-secret.ts";
import { byCredential, owned } from "../../../testing/support/world.ts";
import { DAY, NOW } from "../../../testing/support/stores/purchases.ts";
import { anApplication, BACKEND, BUS, MASTER, withOperator } from "../telling-world.ts";
import { refusedWith } from "../run-operator.ts";

const given = withOperator();

const HOUR = 3_600_000;
const UNKNOWN = "0198c0de-0000-7000-8000-00000000ffff";

const suspended = afterFailure(HEALTHY, GONE, pausesOf, NOW);
const refused = (retryAt: number | null): DestinationHealth =>
  afterFailure<string>(HEALTHY, { because: "status 500", retryAt }, pausesOf, NOW);

/** Stores a destination's health as a deliverer does. */
const heal = async (application: string, name: string, health: DestinationHealth): Promise<void> => {
  const queue = createDeliveryQueue(given.table);
  const reference = { application: applicationId(application), destination: name };
  await queue.take(reference, { worker: "worker", until: NOW + 1 }, NOW);
  await queue.release(reference, { worker: "worker" }, health);
};
const healthOf = (application: string, name: string): Promise<DestinationHealth> =>
  createDeliveryQueue(given.table).healthOf({
    application: applicationId(application),
    destination: name,
  });

/** Secrets that sign a destination's messages at a moment, as its receiver has them. */
const signing = (application: string, destination: Destination | undefined, moment: Instant): string[] => {
  if (destination === undefined || !("url" in destination)) throw new Error("no webhook");
  const master = new TextEncoder().encode(MASTER);
  return signingSecrets(master, applicationId(application), destination, moment).map(secretText);
};

describe("destination list", () => {
  const list = async (application: string) =>
    (await given.operator.run(["destination", "list", application, "--json"])).json()["destinations"];

  test("shows each with its health, what waits, and its secret", async () => {
    const application = await anApplication(given, [BACKEND, BUS]);
    const { identifier } = application;
    const world = await application.world();
    for (const [index, account] of ["a", "b"].entries()) {
      await world.store({ purchases: [owned(account)] }, byCredential(account));
      await application.tell(NOW + index * HOUR);
    }
    const taking = { state: "takes-messages", failingSince: null, because: null, nextTryAt: null };
    const waiting = { accounts: 2, requests: 0, since: isoTime(NOW) };
    expect(await list(identifier)).toEqual([
      {
        ...BACKEND,
        kind: "webhook",
        health: taking,
        waiting,
        secret: { shownAt: null, previousSignsUntil: null },
      },
      { ...BUS, kind: "event-bus", health: taking, waiting, secret: null },
    ]);
  });

  test.each<[string, DestinationHealth, object, string]>([
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
    const { identifier } = await anApplication(given);
    await heal(identifier, "backend", stored);
    expect(await list(identifier)).toMatchObject([{ health }]);
    expect((await given.operator.run(["destination", "list", identifier])).out).toContain(text);
  });

  test("says that there is none", async () => {
    const { identifier } = await anApplication(given, []);
    expect((await given.operator.run(["destination", "list", identifier])).out).toBe(
      "Trails has no destinations.\n",
    );
    expect((await given.operator.run(["destination", "list", UNKNOWN])).code).toBe(1);
  });
});

describe("destination rotate", () => {
  const rotate = (application: string, moment = NOW, ...words: string[]) =>
    given.operator.run(["destination", "rotate", application, "backend", "--json", ...words], {}, moment);

  test("prints the new signing secret in one line, once", async () => {
    const application = await anApplication(given);
    const { out } = await given.operator.run(["destination", "rotate", application.identifier, "backend"]);
    const [, secret = ""] = /^secret: (whsec_[A-Za-z0-9+/]{43}=)\n/.exec(out) ?? [];
    expect(out.split(secret)).toHaveLength(2);
    expect(signing(application.identifier, await application.destination("backend"), NOW)).toEqual([secret]);
    expect(JSON.stringify(await given.table.items())).not.toContain(secret);
  });

  test("lets the previous secret sign beside it for a day", async () => {
    const application = await anApplication(given);
    const first = (await rotate(application.identifier)).json();
    expect(first["previousSignsUntil"]).toBeNull();
    const again = NOW + 3 * DAY;
    const second = (await rotate(application.identifier, again)).json();
    expect(second["previousSignsUntil"]).toBe(isoTime(again + OVERLAP_MILLISECONDS));
    const destination = await application.destination("backend");
    const both = [second["secret"], first["secret"]];
    expect(new Set(both).size).toBe(2);
    expect(signing(application.identifier, destination, again + OVERLAP_MILLISECONDS - 1)).toEqual(both);
    expect(signing(application.identifier, destination, again + OVERLAP_MILLISECONDS)).toEqual([
      second["secret"],
    ]);
    const { out } = await given.operator.run(["destination", "list", application.identifier], {}, again);
    expect(out).toContain(`its secret was shown at ${isoTime(again)}`);
    expect(out).toContain(`the previous secret signs too until ${isoTime(again + OVERLAP_MILLISECONDS)}`);
  });

  test("ends an earlier secret at once only when it is told to", async () => {
    const application = await anApplication(given);
    await rotate(application.identifier, NOW);
    await rotate(application.identifier, NOW + 2 * DAY);
    const before = await application.destination("backend");
    expect(await rotate(application.identifier, NOW + 2 * DAY + HOUR)).toMatchObject(
      refusedWith("ends the previous secret now"),
    );
    expect(await application.destination("backend")).toEqual(before);
    expect((await rotate(application.identifier, NOW + 2 * DAY + HOUR, "--yes")).code).toBe(0);
    expect(await application.destination("backend")).toMatchObject({
      secretEpochs: [NOW + 2 * DAY + HOUR, NOW + 2 * DAY],
    });
  });

  test("survives an apply that changes the URL", async () => {
    const application = await anApplication(given);
    const { secret } = (await rotate(application.identifier)).json();
    await application.configure([{ ...BACKEND, url: "https://api.example.com/other" }]);
    expect(signing(application.identifier, await application.destination("backend"), NOW)).toEqual([secret]);
  });

  test.each([
    [{ MASTER_SECRET: "nowhere" }, "The master secret nowhere cannot be read: there is no such secret."],
    [{ MASTER_SECRET: "short" }, "fewer than 32 bytes"],
    [{ AWS_ENDPOINT_URL_SECRETS_MANAGER: "http://127.0.0.1:9" }, "does not answer at http://127.0.0.1:9"],
    // AWS is not asked for the secret of a table on this machine.
    [{ AWS_ENDPOINT_URL_SECRETS_MANAGER: "" }, "Set AWS_ENDPOINT_URL_SECRETS_MANAGER to the address"],
  ])("without a master secret signs with no secret that nobody has seen: %j", async (changes, problem) => {
    const application = await anApplication(given);
    const words = ["destination", "rotate", application.identifier, "backend", "--json"];
    const { code, out, err } = await given.operator.run(words, changes);
    expect([code, out, err]).toEqual([1, "", expect.stringContaining(problem)]);
    expect(await application.destination("backend")).toMatchObject({ secretEpochs: [] });
  });

  test("takes the secret that MASTER_SECRET names", async () => {
    const application = await anApplication(given);
    const words = ["destination", "rotate", application.identifier, "backend", "--json"];
    const { secret } = (await given.operator.run(words, { MASTER_SECRET: "elsewhere" })).json();
    expect(signing(application.identifier, await application.destination("backend"), NOW)).not.toContain(
      secret,
    );
  });
});

describe("destination resume", () => {
  const resume = (application: string, name = "backend") =>
    given.operator.run(["destination", "resume", application, name]);

  test.each([
    ["a pause", refused(NOW + DAY)],
    ["a suspension", suspended],
  ])("ends %s", async (_, health) => {
    const { identifier } = await anApplication(given);
    await heal(identifier, "backend", health);
    const { code, out } = await resume(identifier);
    expect([code, out]).toEqual([0, expect.stringContaining("backend is resumed")]);
    expect(await healthOf(identifier, "backend")).toEqual(HEALTHY);
    expect((await resume(identifier)).out).toContain("takes messages already");
  });

  test("makes what it had refused due at once", async () => {
    const application = await anApplication(given);
    const world = await application.world();
    for (const account of ["a", "b"])
      await world.store({ purchases: [owned(account)] }, byCredential(account));
    await application.tell();
    const queue = createDeliveryQueue(given.table);
    const reference = { application: application.identifier, destination: "backend" };
    const waiting = async () => {
      for await (const page of queue.waiting(reference, 10)) return page;
      return [];
    };
    for (const delivery of await waiting()) await queue.retry(reference, delivery, 7, NOW + DAY);
    await heal(application.identifier, "backend", suspended);
    expect((await resume(application.identifier)).err).toContain("made 2 messages due");
    expect(await waiting()).toMatchObject([
      { tries: 7, nextTryAt: 0 },
      { tries: 7, nextTryAt: 0 },
    ]);
  });
});

test.each([
  ["rotate", "bus", "bus is an event bus"],
  ["rotate", "nope", "Trails has no destination nope: it has backend, bus."],
  ["resume", "nope", "Trails has no destination nope"],
])("destination %s is refused for %s", async (command, name, problem) => {
  const { identifier } = await anApplication(given, [BACKEND, BUS]);
  expect(await given.operator.run(["destination", command, identifier, name])).toMatchObject(
    refusedWith(problem),
  );
});
