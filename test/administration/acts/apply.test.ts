import { storesOf, type Application } from "../../../lib/applications/application.ts";
import {
  applyManifest,
  type ApplicationStore,
  type SaveOutcome,
} from "../../../lib/administration/acts/apply.ts";
import { differenceOf } from "../../../lib/administration/manifest/difference.ts";
import type { Manifest } from "../../../lib/administration/manifest/manifest.ts";
import { applicationId, type ApplicationId } from "../../../lib/identifiers.ts";
import { manifestFrom } from "../../../testing/application.ts";

const NEW = applicationId("0198c0de-0000-7000-8000-000000000000");
const A = applicationId("0198c0de-0000-7000-8000-00000000000a");
const B = applicationId("0198c0de-0000-7000-8000-00000000000b");

/** A manifest with bundles. */
const withBundles = (identifier: ApplicationId | null, ...bundles: string[]): Manifest => ({
  ...manifestFrom(
    `application: { name: A }\nstores: { ios-store: [${bundles
      .map((bundle) => `{ bundleIdentifier: ${bundle}, appAppleIdentifier: 1 }`)
      .join(", ")}] }`,
  ),
  identifier,
});

/** Applications in memory; `meanwhile` answers the next saves. */
const inMemory = (applications: readonly Application[], meanwhile: SaveOutcome[] = []) => {
  const stored = new Map(
    applications.map((application) => [application.identifier, { application, version: 1 }]),
  );
  const store: ApplicationStore = {
    read: async (identifier) => stored.get(identifier) ?? null,
    registrationsOf: async (wanted) =>
      [...stored.values()].flatMap(({ application }) =>
        storesOf(application)
          .filter((reference) => wanted.some((other) => JSON.stringify(other) === JSON.stringify(reference)))
          .map((reference) => ({ ...reference, application: application.identifier })),
      ),
    save: async (before, after) => {
      const refused = meanwhile.shift();
      if (refused !== undefined) return refused;
      stored.set(after.identifier, { application: after, version: (before?.version ?? 0) + 1 });
      return { outcome: "saved" };
    },
  };
  return { store, stored };
};

const having = (identifier: ApplicationId, ...bundles: string[]): Application => ({
  ...withBundles(null, ...bundles),
  identifier,
});

test.each<[string, Manifest, Application[], ApplicationId, boolean]>([
  ["the application it names", withBundles(A, "a.b"), [having(A)], A, false],
  ["a new application, whose bundles nobody has", withBundles(null, "a.b"), [having(A, "x.y")], NEW, true],
  ["the one that has all its bundles", withBundles(null, "a.b"), [having(A, "a.b", "c.d")], A, false],
  ["the one that has some of its bundles", withBundles(null, "a.b", "c.d"), [having(A, "a.b")], A, false],
  [
    "the one it names, of another name",
    { ...withBundles(A, "a.b"), name: "B" },
    [having(A, "a.b")],
    A,
    false,
  ],
])("a manifest is applied to %s", async (_, manifest, applications, application, created) => {
  const { store, stored } = inMemory(applications);
  const outcome = await applyManifest(manifest, NEW, store);
  expect(outcome).toMatchObject({ outcome: "applied", application, created });
  expect(stored.get(application)?.application).toEqual({ ...manifest, identifier: application });
});

const taken = (bundleOrPackage: string, application: ApplicationId) => ({
  outcome: "registered_elsewhere",
  registrations: [{ store: "ios-store", bundleOrPackage, application }],
});
test.each<[string, Manifest, Application[], object]>([
  ["another application has its bundle", withBundles(A, "a.b", "c.d"), [having(B, "c.d")], taken("c.d", B)],
  [
    "it names no application, and the one of its bundle has another name",
    { ...withBundles(null, "a.b"), name: "Another" },
    [having(A, "a.b")],
    taken("a.b", A),
  ],
  [
    "it names no application and its bundles belong to several",
    withBundles(null, "a.b", "c.d"),
    [having(A, "a.b"), having(B, "c.d")],
    { outcome: "registered_to_several" },
  ],
  ["nothing in it identifies an application", withBundles(null), [], { outcome: "nothing_names_it" }],
])("a manifest is refused and nothing is written when %s", async (_, manifest, applications, refusal) => {
  const { store, stored } = inMemory(applications);
  const before = new Map(stored);
  expect(await applyManifest(manifest, NEW, store)).toMatchObject(refusal);
  expect(stored).toEqual(before);
});

test("applying a manifest again writes nothing", async () => {
  const { store, stored } = inMemory([]);
  await applyManifest(withBundles(null, "a.b"), NEW, store);
  const again = await applyManifest(withBundles(null, "a.b"), A, store);
  expect(again).toEqual({ outcome: "applied", application: NEW, created: false, changes: [] });
  expect(stored.get(NEW)?.version).toBe(1);
});

const changes = (length: number): SaveOutcome[] =>
  Array.from({ length }, () => ({ outcome: "changed_meanwhile" }));
const TOO_LARGE: SaveOutcome = { outcome: "catalog_too_large", bytes: 2, limit: 1 };
test.each<[string, string, SaveOutcome[]]>([
  ["4 concurrent changes", "applied", changes(4)],
  ["5 concurrent changes", "changed_meanwhile", changes(5)],
  ["a save that can never succeed, which is not repeated,", "catalog_too_large", [TOO_LARGE]],
])("after %s the outcome is %s", async (_, outcome, meanwhile) => {
  const { store } = inMemory([], meanwhile);
  expect((await applyManifest(withBundles(A, "a.b"), NEW, store)).outcome).toBe(outcome);
});

describe("the difference", () => {
  const application = (text: string): Application => ({
    ...manifestFrom(`application: { name: A }\n${text}`),
    identifier: A,
  });
  const full = application(`
stores:
  android-store: [{ packageName: a.b, credential: { secret: s } }]
entitlements: { gold: {}, silver: { displayName: Silver } }
products:
  - { store: android-store, productIdentifier: p, basePlanIdentifier: m, grants: [gold, silver] }
  - { store: ios-store, productIdentifier: pass, grants: [gold], accessDuration: P1D }
`);

  test("between an application and itself is empty, in any order of parts", () => {
    const reordered = application(`
products:
  - { store: ios-store, productIdentifier: pass, grants: [gold], accessDuration: PT24H }
  - { store: android-store, productIdentifier: p, basePlanIdentifier: m, grants: [silver, gold] }
entitlements: { silver: { displayName: Silver }, gold: { displayName: gold } }
stores:
  android-store: [{ packageName: a.b, environments: [sandbox, production], credential: { secret: s } }]
`);
    expect(differenceOf(full, full)).toEqual([]);
    expect(differenceOf(full, reordered)).toEqual([]);
  });

  test("of a new application lists everything in it", () => {
    expect(differenceOf(null, full).map(({ kind, subject, name }) => `${kind} ${subject} ${name}`)).toEqual([
      `added application ${A}`,
      "added store android-store a.b",
      "added entitlement gold",
      "added entitlement silver",
      "added product android-store p m",
      "added product ios-store pass",
    ]);
  });

  test("names what was added, changed and removed, and the changed fields", () => {
    const changed = application(`
stores:
  ios-store: [{ bundleIdentifier: c.d, environments: [sandbox] }]
entitlements: { gold: {} }
products:
  - { store: android-store, productIdentifier: p, basePlanIdentifier: m, grants: [gold] }
  - { store: ios-store, productIdentifier: pass, grants: [gold] }
`);
    const lines = differenceOf(full, changed).map(({ kind, subject, name, fields }) => [
      `${kind} ${subject} ${name}`,
      ...fields.map(({ field, before, after }) => [field, before, after]),
    ]);
    expect(lines).toEqual([
      ["added store ios-store c.d", ["environments", null, ["sandbox"]]],
      ["changed product android-store p m", ["grants", ["gold", "silver"], ["gold"]]],
      ["changed product ios-store pass", ["accessDuration", "P1D", null]],
      ["removed store android-store a.b"],
      ["removed entitlement silver"],
    ]);
  });

  test("of destinations is their addresses, not their secrets", () => {
    const webhook = { name: "hook", url: "https://a.b/c", secretEpochs: [] };
    const before = { ...full, destinations: [webhook] };
    expect(differenceOf(before, { ...full, destinations: [{ ...webhook, secretEpochs: [1] }] })).toEqual([]);
  });
});
