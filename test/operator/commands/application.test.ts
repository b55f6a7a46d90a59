import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { v4 as uuid } from "uuid";
import { parse } from "yaml";
import { GONE, pausesOf } from "../../../lib/delivery/target.ts";
import { isoTime } from "../../../lib/entitlements/time.ts";
import { applicationId } from "../../../lib/identifiers.ts";
import { afterFailure, HEALTHY } from "../../../lib/queues/health.ts";
import { createNotificationTimes } from "../../../lib/table/queues/notifications.ts";
import { createForwardQueue } from "../../../lib/table/telling/delivery-queue.ts";
import { createAndroidPublisherSandbox } from "../../../sandbox/android-store/publisher.ts";
import { NOW } from "../../../testing/support/stores/purchases.ts";
import { refusedWith } from "../run-operator.ts";
import { anApplication, BACKEND, BUS, withOperator } from "../telling-world.ts";

const given = withOperator();
const run = (line: string) => given.operator.run(line);
const apply = (manifest: object | string, ...words: readonly string[]) =>
  given.operator.apply(manifest, {}, words);
const aManifest = (bundleIdentifier: string, changes: object = {}) => ({
  application: { name: "Trail Maps" },
  stores: { "ios-store": [{ bundleIdentifier, appAppleIdentifier: 1 }] },
  entitlements: { premium: {} },
  products: [{ store: "ios-store", productIdentifier: "monthly", grants: ["premium"] }],
  ...changes,
});
const created = async (manifest: object): Promise<string> =>
  String((await apply(manifest, "--json")).json()["applicationIdentifier"]);
const OTHER = { ...BACKEND, url: "https://api.example.com/other" };

describe("application apply", () => {
  const [local, named] = ["http://127.0.0.1:3000", "https://sandbox.example"];
  const publisher = { ANDROID_PUBLISHER_URL: `${named}/publisher` };
  const deployed = { AWS_ENDPOINT_URL_DYNAMODB: "https://dynamodb.invalid", AWS_REGION: "us-east-1" };
  test.each<[string, Record<string, string>, string, RegExp]>([
    ["a local table takes", {}, `${local}/token`, /^$/],
    [
      "a local table refuses",
      {},
      "http://127.0.0.1@sandbox.example/token",
      /workloadIdentity\.token_url must/,
    ],
    ["a deployed table refuses", deployed, `${local}/token`, /workloadIdentity\.token_url must/],
    ["a named sandbox's operator takes", publisher, `${named}/publisher/token`, /^$/],
    ["a named sandbox's operator refuses", publisher, "https://other.example/token", /token_url must/],
  ])("%s with %j the token exchange %s", async (_, environment, token_url, problem) => {
    const identity = createAndroidPublisherSandbox({ now: () => NOW }).externalAccount(local);
    const credential = { workloadIdentity: { ...identity, token_url } };
    const manifest = {
      application: { name: "Trail Maps" },
      stores: { "android-store": [{ packageName: `com.example.${uuid()}`, credential }] },
    };
    const { code, err } = await given.operator.apply(manifest, environment);
    expect([code, err]).toEqual([problem.test("") ? 0 : 1, expect.stringMatching(problem)]);
    expect(err).not.toContain(token_url);
  });

  test("removes no access without confirmation, and adds without", async () => {
    const identifier = await created(aManifest("com.example.kept"));
    const application = { identifier, name: "Trail Maps" };
    const before = await given.table.items();
    const refused = await apply(aManifest("com.example.kept", { application, products: [] }));
    expect([refused.code, refused.out]).toEqual([1, ""]);
    expect(refused.err).toContain("product ios-store monthly grants nothing any more");
    expect(refused.err).toContain("Nothing was changed: add --yes");
    expect(await given.table.items()).toEqual(before);
    const more = { application, entitlements: { premium: {}, gold: {} } };
    expect((await apply(aManifest("com.example.kept", more))).out).toContain("+ entitlement gold");
  });

  test("reports every problem of a manifest with its line, and writes nothing", async () => {
    const before = await given.table.items();
    const refused = await apply("application: { name: 1 }\nproducts:\n  - { store: x, grants: [y] }\n");
    expect(refused).toMatchObject({ code: 1, out: "" });
    expect(refused.err).toMatch(/line 1: application\.name[^]*line 3: products\[0\]\.store/);
    expect(await given.table.items()).toEqual(before);
  });

  test("names the application that has the bundle already", async () => {
    const first = await created(aManifest("com.example.had"));
    const application = { identifier: uuid(), name: "Trail Maps" };
    const refused = await apply(aManifest("com.example.had", { application }));
    expect(refused).toMatchObject({ code: 1, out: "" });
    expect(refused.err).toMatch(new RegExp(`com\\.example\\.had.*${first}`));
  });

  test("says what is wrong with its file", async () => {
    const folder = mkdtempSync(join(tmpdir(), "operator-"));
    const binary = join(folder, "binary.yaml");
    writeFileSync(binary, Buffer.from([0xff, 0xfe, 0x00]));
    for (const [file, problem] of [
      [join(folder, "nothing.yaml"), "does not exist"],
      [folder, "is a folder"],
      [binary, "UTF-8"],
    ] as const)
      expect(await run(`application apply ${file}`)).toMatchObject(refusedWith(problem));
    rmSync(folder, { recursive: true });
  });

  test("shows what it adds, changes and removes of destinations, and how a new secret is shown", async () => {
    const { identifier, configure } = await anApplication(given, []);
    const added = await configure([BACKEND, BUS], { keepsChanges: true });
    expect(added.out).toContain(`~ application ${identifier}: keepsChanges null → true\n`);
    expect(added.out).toContain(`+ destination backend: url ${BACKEND.url}\n`);
    expect(added.out).toContain(`+ destination bus: eventBus ${BUS.eventBus}\n`);
    expect(added.out).toContain(
      `To get the signing secret of backend: destination rotate ${identifier} backend`,
    );
    expect(added.out).not.toContain(`rotate ${identifier} bus`);
    const changed = await configure([OTHER]);
    expect(changed.out).toContain(`~ destination backend: url ${BACKEND.url} → ${OTHER.url}\n`);
    expect(changed.out).toContain("- destination bus\n");
    expect(changed.out).toContain("keepsChanges true → null");
    expect(changed.out).not.toContain("rotate");
  });

  test("takes private and plain addresses only where DESTINATIONS names them", async () => {
    const destinations = [{ name: "local", url: "http://127.0.0.1:4000/hook" }];
    const local = aManifest("com.example.private", { destinations });
    for (const environment of [{}, { DESTINATIONS: "" }, { DESTINATIONS: "http://127.0.0.1:4001" }])
      expect(await given.operator.apply(local, environment)).toMatchObject(
        refusedWith("destinations[0].url"),
      );
    for (const DESTINATIONS of ["http://127.0.0.1:4000", "any"])
      expect((await given.operator.apply(local, { DESTINATIONS })).code).toBe(0);
  });

  test("drops what waits for a destination that it removes, and says so", async () => {
    const application = await anApplication(given, [BACKEND, BUS]);
    await application.sellTo("a", "b");
    await application.request("request-1", {}, "backend");
    await application.heal(afterFailure(HEALTHY, GONE, pausesOf, NOW));
    const { out } = await application.configure([BUS]);
    expect(out).toContain("- destination backend\n");
    expect(out).toContain("3 messages that waited for backend are dropped.\n");
    expect(await application.itemsOf("#DESTINATION#backend")).toEqual([]);
    expect(await application.waiting("bus")).toEqual({ a: 1, b: 1 });
  });

  test("says how a changed catalog and a first destination are published", async () => {
    const { identifier, configure } = await anApplication(given, []);
    const hint = `To deliver it to all now: application retell ${identifier}`;
    expect((await configure([], { products: [] })).out).not.toContain(hint);
    expect((await configure([BACKEND], { products: [] })).out).toContain(hint);
    expect((await configure([BACKEND, BUS], { products: [] })).out).not.toContain(hint);
    expect((await configure([BACKEND, BUS])).out).toContain(hint);
  });
});

test("application find names the application that has a bundle or a package", async () => {
  const stores = {
    "ios-store": [{ bundleIdentifier: "com.example.found", appAppleIdentifier: 1 }],
    "android-store": [{ packageName: "com.example.found.android", credential: { secret: "s" } }],
  };
  const identifier = await created(aManifest("", { stores }));
  for (const name of ["com.example.found", "com.example.found.android"])
    expect((await run(`application find ${name}`)).out).toBe(`${identifier}\n`);
  const other = { application: { identifier: uuid(), name: "Another" } };
  await apply(aManifest("com.example.found.android", other));
  expect(await run("application find com.example.found.android")).toMatchObject({
    code: 1,
    err: expect.stringMatching(/Several applications .* android-store .* ios-store /),
  });
  expect((await run("application find com.example.nothing")).code).toBe(1);
});

describe("application show", () => {
  const show = async (application: string, comment: RegExp) =>
    (await run(`application show ${application}`)).out.split("\n").filter((line) => comment.test(line));

  test("tells how each bundle's notifications are forwarded, and what waits", async () => {
    const [forwarding, forwarded] = ["com.example.forwarding", "com.example.forwarded"];
    const application = await created({
      application: { name: "Forwarding" },
      stores: {
        "ios-store": [
          {
            bundleIdentifier: forwarding,
            appAppleIdentifier: 1,
            notifications: { forwardTo: "https://old.example/apple" },
          },
          {
            bundleIdentifier: forwarded,
            appAppleIdentifier: 2,
            environments: ["production"],
            serverApi: { issuerIdentifier: uuid(), keyIdentifier: "ABC123DEFG", secret: "trails/apple" },
            notifications: { forwardedBy: true },
          },
        ],
      },
    });
    const list = `# List of all notifications of the App Store, which another service forwards, ${forwarded}, production: never read yet`;
    const line = `# Forwarding of ios-store ${forwarding} to https://old.example/apple:`;
    const comments = () => show(application, /^# (?:Forwarding|List)/);
    expect(await comments()).toEqual([list, `${line} nothing waits; takes messages`]);

    const queue = createForwardQueue(given.table);
    const bundle = { application: applicationId(application), bundleIdentifier: forwarding };
    const body = '{"signedPayload":"secret.signed.payload"}';
    const sent = { body, contentType: "application/json", since: NOW, tries: 0, nextTryAt: NOW };
    for (const identifier of ["1", "2"]) await queue.add(bundle, { identifier, ...sent });
    await queue.take(bundle, { worker: "worker", until: NOW + 1 }, NOW);
    const failing = { failures: 1, because: "status 503", failingSince: NOW, pausedUntil: NOW + 5000 };
    await queue.release(bundle, { worker: "worker" }, failing);
    const [since, next] = [isoTime(NOW), isoTime(NOW + 5000)];
    expect(await comments()).toEqual([
      list,
      `${line} 2 wait, the oldest since ${since}; failing since ${since} (status 503); next try ${next}`,
    ]);
    const shown = await run(`application show ${application} --json`);
    expect(shown.json()["forwarding"]).toMatchObject([
      { waiting: { count: 2, isMore: false, since }, health: { state: "failing", nextTryAt: next } },
    ]);
    expect(shown.out).not.toContain("signed.payload");
  });

  test("has the last notification of each store and environment", async () => {
    const from = { store: "ios-store", bundleOrPackage: "com.example.notified" } as const;
    const application = await created(aManifest(from.bundleOrPackage));
    const notified = { ...from, environment: "sandbox", application: applicationId(application) } as const;
    await createNotificationTimes(given.table).raise(notified, NOW);
    expect(await show(application, /^# Last/)).toEqual([
      "# Last notification of ios-store com.example.notified, production: none yet",
      `# Last notification of ios-store com.example.notified, sandbox: ${isoTime(NOW)}`,
    ]);
    const shown = await run(`application show ${application} --json`);
    expect(shown.json()["lastNotifications"]).toEqual([
      { ...from, environment: "production", signedAt: null },
      { ...from, environment: "sandbox", signedAt: isoTime(NOW) },
    ]);
  });

  test("has destinations and keepsChanges, so that applying it changes nothing", async () => {
    const application = await anApplication(given, []);
    await application.configure([BACKEND, BUS], { keepsChanges: true });
    const shown = parse((await application.run("application show APPLICATION")).out) as object;
    expect(shown).toMatchObject({ application: { keepsChanges: true }, destinations: [BACKEND, BUS] });
    expect((await apply(shown)).out).toContain("no changes");
  });
});
