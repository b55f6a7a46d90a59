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

describe("a manifest is applied to", () => {
  test.each<[string, Manifest, Application[], ApplicationId, boolean]>([
    ["the application it names", withBundles(A, "a.b"), [having(A)], A, false],
    ["a new application under the identifier it names", withBundles(A, "a.b"), [], A, true],
    [
      "a new application when no application has its bundles",
      withBundles(null, "a.b"),
      [having(A, "x.y")],
      NEW,
      true,
    ],
    [
      "the application that has all its bundles",
      withBundles(null, "a.b"),
      [having(A, "a.b", "c.d")],
      A,
      false,
    ],
    [
      "the application that has some of its bundles",
      withBundles(null, "a.b", "c.d"),
      [having(A, "a.b")],
      A,
      false,
    ],
  ])("%s", async (_, manifest, applications, application, created) => {
    const { store, stored } = inMemory(applications);
    const outcome = await applyManifest(manifest, NEW, store);
    expect(outcome).toMatchObject({ outcome: "applied", application, created });
    expect(stored.get(application)?.application).toEqual({ ...manifest, identifier: application });
  });
});

describe("a manifest is refused and nothing is written when", () => {
  test.each<[string, Manifest, Application[], object]>([
    [
      "another application has its bundle",
      withBundles(A, "a.b", "c.d"),
      [having(B, "c.d")],
      {
        outcome: "registered_elsewhere",
        registrations: [{ store: "ios-store", bundleOrPackage: "c.d", application: B }],
      },
    ],
    [
      "it names no application and its bundles belong to several",
      withBundles(null, "a.b", "c.d"),
      [having(A, "a.b"), having(B, "c.d")],
      { outcome: "registered_to_several" },
    ],
    ["nothing in it identifies an application", withBundles(null), [], { outcome: "nothing_names_it" }],
  ])("%s", async (_, manifest, applications, refusal) => {
    const { store, stored } = inMemory(applications);
    const before = new Map(stored);
    expect(await applyManifest(manifest, NEW, store)).toMatchObject(refusal);
    expect(stored).toEqual(before);
  });
});

test("applying a manifest again writes nothing", async () => {
  const { store, stored } = inMemory([]);
  await applyManifest(withBundles(null, "a.b"), NEW, store);
  const again = await applyManifest(withBundles(null, "a.b"), A, store);
  expect(again).toEqual({ outcome: "applied", application: NEW, created: false, changes: [] });
  expect(stored.get(NEW)?.version).toBe(1);
});

test.each([
  [4, "applied"],
  [5, "changed_meanwhile"],
])("after %d concurrent changes the outcome is %s", async (times, outcome) => {
  const meanwhile = Array.from({ length: times }, (): SaveOutcome => ({ outcome: "changed_meanwhile" }));
  const { store } = inMemory([], meanwhile);
  expect((await applyManifest(withBundles(A, "a.b"), NEW, store)).outcome).toBe(outcome);
});

test("a manifest without an identifier cannot take another application's bundle", async () => {
  const { store, stored } = inMemory([having(A, "a.b")]);
  const copied = { ...withBundles(null, "a.b"), name: "Another" };
  expect(await applyManifest(copied, NEW, store)).toMatchObject({ outcome: "registered_elsewhere" });
  expect(stored.get(A)?.version).toBe(1);
  expect(await applyManifest({ ...copied, identifier: A }, NEW, store)).toMatchObject({ outcome: "applied" });
});

test("a save that can never succeed is not retried", async () => {
  const meanwhile: SaveOutcome[] = [{ outcome: "catalog_too_large", bytes: 2, limit: 1 }];
  const { store } = inMemory([], meanwhile);
  expect((await applyManifest(withBundles(A, "a.b"), NEW, store)).outcome).toBe("catalog_too_large");
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

  test("shows an App Store Server API key added, changed or removed", () => {
    const selling = (more: string) =>
      application(`
stores:
  ios-store: [{ bundleIdentifier: c.d, environments: [sandbox]${more} }]
`);
    const issuerIdentifier = "57246542-96fe-1a63-e053-0824d011072a";
    const without = selling("");
    const asking = selling(
      `, serverApi: { issuerIdentifier: ${issuerIdentifier}, keyIdentifier: OLD, secret: s }`,
    );
    const reordered = selling(
      `, serverApi: { secret: s, keyIdentifier: OLD, issuerIdentifier: ${issuerIdentifier} }`,
    );
    const rotated = selling(
      `, serverApi: { issuerIdentifier: ${issuerIdentifier}, keyIdentifier: NEW, secret: s }`,
    );
    const old = { issuerIdentifier, keyIdentifier: "OLD", secret: "s" };
    const change = (before: unknown, after: unknown) => [
      {
        kind: "changed",
        subject: "store",
        name: "ios-store c.d",
        fields: [{ field: "serverApi", before, after }],
      },
    ];
    expect(differenceOf(asking, reordered)).toEqual([]);
    expect(differenceOf(without, asking)).toEqual(change(null, old));
    expect(differenceOf(asking, rotated)).toEqual(change(old, { ...old, keyIdentifier: "NEW" }));
    expect(differenceOf(asking, without)).toEqual(change(old, null));
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
    expect(differenceOf(full, changed)).toEqual([
      {
        kind: "added",
        subject: "store",
        name: "ios-store c.d",
        fields: [{ field: "environments", before: null, after: ["sandbox"] }],
      },
      {
        kind: "changed",
        subject: "product",
        name: "android-store p m",
        fields: [{ field: "grants", before: ["gold", "silver"], after: ["gold"] }],
      },
      {
        kind: "changed",
        subject: "product",
        name: "ios-store pass",
        fields: [{ field: "accessDuration", before: "P1D", after: null }],
      },
      { kind: "removed", subject: "store", name: "android-store a.b", fields: [] },
      { kind: "removed", subject: "entitlement", name: "silver", fields: [] },
    ]);
  });

  test("of a push subscription is the package's notifications, or none", () => {
    const notifications = { serviceAccount: "a@b.c", audience: "https://a" };
    const pushed = {
      ...full,
      androidStore: full.androidStore.map((store) => ({ ...store, notifications })),
    };
    const changeOf = (before: unknown, after: unknown) => [
      {
        kind: "changed",
        subject: "store",
        name: "android-store a.b",
        fields: [{ field: "notifications", before, after }],
      },
    ];
    expect(differenceOf(full, pushed)).toEqual(changeOf(null, notifications));
    expect(differenceOf(pushed, full)).toEqual(changeOf(notifications, null));
  });

  test("of a renamed application is the name", () => {
    expect(differenceOf(full, { ...full, name: "B" })).toEqual([
      {
        kind: "changed",
        subject: "application",
        name: A,
        fields: [{ field: "name", before: "A", after: "B" }],
      },
    ]);
  });

  test("of destinations is their addresses, not their secrets; of keepsChanges its value", () => {
    const bus = "arn:aws:events:eu-central-1:123456789012:event-bus/b";
    const webhook = { name: "hook", url: "https://a.b/c", secretEpochs: [] };
    const before = { ...full, destinations: [webhook, { name: "bus", eventBus: bus }] };
    const rotated = {
      ...before,
      destinations: [{ ...webhook, secretEpochs: [1] }, ...before.destinations.slice(1)],
    };
    expect(differenceOf(before, rotated)).toEqual([]);
    const after = {
      ...full,
      keepsChanges: true,
      destinations: [
        { ...webhook, url: "https://a.b/d" },
        { name: "other", url: "https://a.b/c", secretEpochs: [] },
      ],
    };
    expect(differenceOf(before, after)).toEqual([
      {
        kind: "changed",
        subject: "application",
        name: A,
        fields: [{ field: "keepsChanges", before: null, after: true }],
      },
      {
        kind: "changed",
        subject: "destination",
        name: "hook",
        fields: [{ field: "url", before: "https://a.b/c", after: "https://a.b/d" }],
      },
      {
        kind: "added",
        subject: "destination",
        name: "other",
        fields: [{ field: "url", before: null, after: "https://a.b/c" }],
      },
      { kind: "removed", subject: "destination", name: "bus", fields: [] },
    ]);
  });
});
