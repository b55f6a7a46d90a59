import { PutCommand, UpdateCommand } from "@aws-sdk/lib-dynamodb";
import type { Application } from "../../../lib/applications/application.ts";
import { createAndroidPublisherSandbox } from "../../../sandbox/android-store/publisher.ts";
import { applyManifest } from "../../../lib/administration/acts/apply.ts";
import { auditEntry } from "../../../lib/administration/reports/audit.ts";
import { issueCredential, type Credential } from "../../../lib/applications/credential.ts";
import { manifestOf } from "../../../lib/administration/manifest/manifest-document.ts";
import { readManifest, type Manifest } from "../../../lib/administration/manifest/manifest.ts";
import type { Audited } from "../../../lib/administration/acts/audit-entry.ts";
import { catalogOf } from "../../../lib/entitlements/catalog.ts";
import { applicationId, keyId, type ApplicationId } from "../../../lib/identifiers.ts";
import { originOf } from "../../../lib/stores/android-store/workload-identity.ts";
import {
  createApplicationTable,
  type ApplicationTable,
} from "../../../lib/table/applications/applications.ts";
import type { CredentialTable } from "../../../lib/administration/acts/credential-table.ts";
import { createCredentialTable } from "../../../lib/table/applications/credentials.ts";
import { TABLE } from "../../../lib/table/dynamodb/key.ts";
import { keys } from "../../../lib/table/keys.ts";
import { MalformedItemError } from "../../../lib/table/dynamodb/table.ts";
import { createTestTable, type TestTable } from "../../../testing/support/table/table.ts";

const NOW = Date.UTC(2026, 5, 15, 12);
const MANIFEST = `
application: { name: Trail Maps }
stores:
  ios-store:
    - { bundleIdentifier: BUNDLE, appAppleIdentifier: 1234567890, serverApi: { secret: trails/app-store-key, keyIdentifier: 2X9R4HXF34, issuerIdentifier: 57246542-96fe-1a63-e053-0824d011072a } }
    - { bundleIdentifier: BUNDLE.test, environments: [xcode], xcodeCertificates: [${"ab".repeat(32)}] }
  android-store:
    - { packageName: BUNDLE, credential: { secret: trails/play } }
    - { packageName: BUNDLE.keyless, credential: { workloadIdentity: ${JSON.stringify(createAndroidPublisherSandbox({ now: () => NOW }).externalAccount("http://127.0.0.1:3000"))} } }
entitlements: { premium: { displayName: Premium }, gold: {} }
products:
  - { store: ios-store, productIdentifier: monthly, grants: [premium] }
  - { store: android-store, productIdentifier: premium, basePlanIdentifier: monthly, grants: [premium, gold] }
  - { store: ios-store, productIdentifier: pass, grants: [premium], accessDuration: P1M1D }
`;

let table: TestTable;
let applications: ApplicationTable;
let credentials: CredentialTable;
let count = 0;

beforeAll(async () => {
  table = await createTestTable();
  applications = createApplicationTable(table);
  credentials = createCredentialTable(table);
});
afterAll(() => table.remove());

const newIdentifier = (): ApplicationId =>
  applicationId(`0198c0de-0000-7000-8000-${String((count += 1)).padStart(12, "0")}`);

/** The application of the manifest above, with a bundle of its own. */
const aManifest = (bundle: string): Manifest => {
  const reading = readManifest(MANIFEST.replaceAll("BUNDLE", bundle), originOf("http://127.0.0.1:3000"));
  if (reading.outcome === "invalid") throw new Error(JSON.stringify(reading.problems));
  return reading.manifest;
};

const anApplication = async (bundle = `com.example.${count}`): Promise<Application> => {
  const application = { ...aManifest(bundle), identifier: newIdentifier() };
  expect(await applications.save(null, application)).toEqual({ outcome: "saved" });
  return application;
};

const written = async (work: () => Promise<unknown>): Promise<boolean> => {
  const before = await table.items();
  await work();
  return JSON.stringify(await table.items()) !== JSON.stringify(before);
};

const given = <T>(value: T | null): T => {
  if (value === null) throw new Error("There is none.");
  return value;
};

describe("an application", () => {
  test("is read as it was saved, with one Query", async () => {
    const saved = await anApplication();
    table.sent.length = 0;
    const loaded = await applications.load(saved.identifier);
    expect(table.sent).toEqual([{ command: "QueryCommand" }]);
    expect(loaded && manifestOf(loaded)).toEqual(manifestOf(saved));
    expect(
      loaded?.catalog.productOf("android-store", {
        productIdentifier: "premium",
        basePlanIdentifier: "monthly",
      })?.grants,
    ).toEqual(["gold", "premium"]);
  });

  test("saved before the App Store Server API has no key for it", async () => {
    const { identifier } = await anApplication("com.example.earlier");
    const bundle = "com.example.earlier.test";
    const items = await table.items();
    const item = items.find((one) => one["kind"] === "ios-store" && one["bundleIdentifier"] === bundle);
    expect(item).not.toHaveProperty("serverApi");
    const loaded = await applications.load(identifier);
    expect(
      loaded?.iosStore.find(({ bundleIdentifier }) => bundleIdentifier === bundle)?.serverApi,
    ).toBeNull();
  });

  test("that does not exist is null", async () => {
    await expect(applications.load(newIdentifier())).resolves.toBeNull();
  });

  test("is found by each of its bundles and packages, in its store", async () => {
    const { identifier } = await anApplication("com.example.found");
    await expect(applications.applicationOfBundle("com.example.found")).resolves.toBe(identifier);
    await expect(applications.applicationOfBundle("com.example.found.test")).resolves.toBe(identifier);
    await expect(applications.applicationOfBundle("com.example.found.keyless")).resolves.toBeNull();
    await expect(applications.applicationOfPackage("com.example.found.keyless")).resolves.toBe(identifier);
    await expect(applications.applicationOfPackage("com.example.found.test")).resolves.toBeNull();
  });

  test("keeps a package's push subscription, and forgets it with the manifest", async () => {
    const before = await anApplication("com.example.pushed");
    expect(before.androidStore.map(({ notifications }) => notifications)).toEqual(
      before.androidStore.map(() => null),
    );
    const notifications = { serviceAccount: "push@p.iam.gserviceaccount.com", audience: "https://a" };
    const pushed = before.androidStore.map((store) => ({ ...store, notifications }));
    const save = async (androidStore: Application["androidStore"]) => {
      const stored = given(await applications.read(before.identifier));
      expect(await applications.save(stored, { ...before, androidStore })).toEqual({ outcome: "saved" });
      return given(await applications.load(before.identifier)).androidStore;
    };
    expect(await save(pushed)).toEqual(pushed);
    expect(await save(before.androidStore)).toEqual(before.androidStore);
    expect(JSON.stringify(await table.items())).not.toContain(notifications.serviceAccount);
  });

  test("loses what its manifest no longer lists", async () => {
    const { identifier } = await anApplication("com.example.lost");
    const manifest: Manifest = {
      ...aManifest("com.example.lost"),
      identifier,
      iosStore: aManifest("com.example.won").iosStore,
      androidStore: [],
    };
    await applyManifest(manifest, identifier, applications);
    const loaded = await applications.load(identifier);
    expect(loaded?.iosStore.map(({ bundleIdentifier }) => bundleIdentifier)).toEqual([
      "com.example.won",
      "com.example.won.test",
    ]);
    expect(loaded?.androidStore).toEqual([]);
    await expect(applications.applicationOfBundle("com.example.lost")).resolves.toBeNull();
    await expect(
      applyManifest(aManifest("com.example.lost"), newIdentifier(), applications),
    ).resolves.toMatchObject({ created: true });
  });

  test("keeps its credentials when its manifest is applied", async () => {
    const { identifier } = await anApplication("com.example.keeps");
    await credentials.add(aCredential(identifier));
    await applyManifest(
      { ...aManifest("com.example.keeps"), identifier, name: "Renamed" },
      identifier,
      applications,
    );
    await expect(credentials.list(identifier)).resolves.toHaveLength(1);
    await expect(applications.load(identifier)).resolves.toMatchObject({ name: "Renamed" });
  });

  test("is found again by a manifest without an identifier, which writes nothing", async () => {
    const { identifier } = await anApplication("com.example.again");
    let outcome: unknown;
    const changed = await written(async () => {
      outcome = await applyManifest(aManifest("com.example.again"), newIdentifier(), applications);
    });
    expect(outcome).toEqual({ outcome: "applied", application: identifier, created: false, changes: [] });
    expect(changed).toBe(false);
  });

  test("is not saved over a version that the writer has not read", async () => {
    const first = await anApplication();
    const read = await applications.read(first.identifier);
    await expect(applications.save(read, { ...first, name: "B" })).resolves.toEqual({ outcome: "saved" });
    const changed = await written(async () => {
      await expect(applications.save(read, { ...first, name: "C" })).resolves.toEqual({
        outcome: "changed_meanwhile",
      });
      await expect(applications.save(null, { ...first, name: "D" })).resolves.toEqual({
        outcome: "changed_meanwhile",
      });
    });
    expect(changed).toBe(false);
  });

  test("does not get another application's bundle, even without a look-up", async () => {
    const { iosStore } = await anApplication("com.example.taken");
    const changed = await written(async () => {
      const thief = { ...aManifest("com.example.thief"), identifier: newIdentifier(), iosStore };
      await expect(applications.save(null, thief)).resolves.toEqual({ outcome: "changed_meanwhile" });
    });
    expect(changed).toBe(false);
  });

  test("is created once by concurrent applies", async () => {
    const outcomes = await Promise.all(
      Array.from({ length: 5 }, () =>
        applyManifest(aManifest("com.example.race"), newIdentifier(), applications),
      ),
    );
    expect(new Set(outcomes.map((outcome) => "application" in outcome && outcome.application)).size).toBe(1);
    expect(outcomes.filter((outcome) => "created" in outcome && outcome.created)).toHaveLength(1);
  });

  const entry = auditEntry("apply", NOW, { by: "ada", caller: null });
  test.each<[number, string, string, Audited | undefined]>([
    // Together with the application, its catalog, the table's format and the list of applications.
    [48, "saved", "without an entry of the audit", undefined],
    [49, "too_many_store_changes", "without an entry of the audit", undefined],
    [47, "saved", "with one", { entryIdentifier: "1", entry }],
    [48, "too_many_store_changes", "with one", { entryIdentifier: "1", entry }],
  ])("with %d bundles is %s, %s", async (bundles, outcome, _, audit) => {
    const application: Application = {
      ...aManifest("x"),
      identifier: newIdentifier(),
      androidStore: [],
      iosStore: Array.from({ length: bundles }, (_, index) => ({
        bundleIdentifier: `many${bundles}${audit === undefined ? "" : ".audited"}.n${index}`,
        appAppleIdentifier: 1,
        environments: ["production"],
        xcodeCertificates: [],
        serverApi: null,
        notifications: null,
      })),
    };
    const saved = await applications.save(null, application, audit);
    expect(saved).toMatchObject(
      outcome === "saved" ? { outcome } : { outcome, limit: audit === undefined ? 48 : 47 },
    );
  });

  test.each([
    [2400, "saved"],
    [3000, "catalog_too_large"],
  ])("with %d products is %s", async (products, outcome) => {
    const application: Application = {
      ...aManifest(`com.example.large${products}`),
      identifier: newIdentifier(),
      catalog: catalogOf(
        new Map([["premium", "Premium"]]),
        Array.from({ length: products }, (_, index) => ({
          store: "ios-store",
          productIdentifier: `com.example.product.${index}`,
          basePlanIdentifier: null,
          purchaseOptionIdentifier: null,
          grants: ["premium"],
          accessDuration: null,
        })),
      ),
    };
    expect((await applications.save(null, application)).outcome).toBe(outcome);
  });

  test("with an item of another shape is an error with its key", async () => {
    const { identifier } = await anApplication();
    const key = keys.catalog(identifier);
    await table.client.send(
      new PutCommand({ TableName: table.name, Item: { ...key, kind: "catalog", products: "secret" } }),
    );
    const failure = await applications.load(identifier).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(MalformedItemError);
    expect(String(failure)).toContain(key.pk);
    expect(String(failure)).not.toContain("secret");
  });

  test("with a malformed credential is otherwise intact", async () => {
    const { identifier } = await anApplication("com.example.credential");
    const key = keys.credentialOfApplication(identifier, keyId("0123456789abcdef"));
    await table.client.send(
      new PutCommand({ TableName: table.name, Item: { ...key, kind: "credential-index" } }),
    );
    await expect(applications.load(identifier)).resolves.toMatchObject({ identifier });
    await expect(credentials.list(identifier)).rejects.toThrow(MalformedItemError);
  });

  test.each([
    ["ios-store", "androidStore", "iosStore"],
    ["android-store", "iosStore", "androidStore"],
  ] as const)("with a malformed %s item still has its %s", async (kind, other, broken) => {
    const { identifier } = await anApplication(`com.example.half.${kind}`);
    const key = keys.storeConfiguration(identifier, kind, "com.example.bad");
    await table.client.send(new PutCommand({ TableName: table.name, Item: { ...key, kind } }));
    const application = await applications.load(identifier);
    expect(application?.[other].length).toBeGreaterThan(0);
    expect(() => application?.[broken]).toThrow(MalformedItemError);
  });

  test("with an item of a later version's kind reads the rest", async () => {
    const { identifier } = await anApplication();
    const before = await applications.load(identifier);
    const key = { ...keys.application(identifier), sk: "DESTINATION#backend" };
    await table.client.send(
      new PutCommand({ TableName: table.name, Item: { ...key, kind: "of-tomorrow", url: "https://a.b" } }),
    );
    expect(manifestOf(given(await applications.load(identifier)))).toEqual(manifestOf(given(before)));
  });
  test("without its catalog is an error", async () => {
    const { identifier } = await anApplication();
    const key = keys.catalog(identifier);
    await table.client.send(new PutCommand({ TableName: table.name, Item: { ...key, kind: "catalogue" } }));
    await expect(applications.load(identifier)).rejects.toThrow(`${identifier} has no catalog`);
  });
});

const aCredential = (application: ApplicationId, expiresAt: number | null = null): Credential =>
  issueCredential({ application, label: "backend", scopes: ["entitlements:read"], expiresAt }, NOW)
    .credential;

describe("a credential", () => {
  test("is found as it was added and listed without its hash", async () => {
    const { identifier } = await anApplication();
    const credential = aCredential(identifier, NOW + 1);
    await expect(credentials.add(credential)).resolves.toBe("added");
    await expect(credentials.find(credential.keyIdentifier)).resolves.toEqual(credential);
    const { secretHash, ...summary } = credential;
    await expect(credentials.list(identifier)).resolves.toEqual([summary]);
    const index = (await table.items()).filter((item) => JSON.stringify(item).includes(secretHash));
    expect(index).toHaveLength(1);
  });

  test("of an unknown application is not added", async () => {
    const credential = aCredential(newIdentifier());
    await expect(credentials.add(credential)).resolves.toBe("application_not_found");
    await expect(credentials.find(credential.keyIdentifier)).resolves.toBeNull();
  });

  test("with a later version's scopes has the known ones", async () => {
    const { identifier } = await anApplication();
    const { keyIdentifier, ...rest } = aCredential(identifier);
    await credentials.add({ keyIdentifier, ...rest });
    const scopes = ["of:tomorrow", "entitlements:read"];
    for (const key of [
      keys.credential(keyIdentifier),
      keys.credentialOfApplication(identifier, keyIdentifier),
    ])
      await table.client.send(
        new UpdateCommand({
          TableName: table.name,
          Key: { ...key },
          UpdateExpression: "SET scopes = :scopes",
          ExpressionAttributeValues: { ":scopes": scopes },
        }),
      );
    expect(await credentials.find(keyIdentifier)).toMatchObject({ scopes: ["entitlements:read"] });
    expect(await credentials.list(identifier)).toMatchObject([{ scopes: ["entitlements:read"] }]);
    expect(await credentials.revoke(keyIdentifier, NOW)).toMatchObject({ outcome: "revoked" });
    expect(await table.items()).toContainEqual(expect.objectContaining({ keyIdentifier, scopes }));
  });

  test("is never overwritten", async () => {
    const { identifier } = await anApplication();
    const credential = aCredential(identifier);
    await credentials.add(credential);
    await expect(credentials.add({ ...credential, scopes: ["customers:write"] })).rejects.toMatchObject({
      name: "TransactionCanceledException",
    });
    await expect(credentials.find(credential.keyIdentifier)).resolves.toEqual(credential);
  });

  test("is revoked for good, in both items, at the first time", async () => {
    const { identifier } = await anApplication();
    const { keyIdentifier, ...rest } = aCredential(identifier);
    await credentials.add({ keyIdentifier, ...rest });
    await expect(credentials.revoke(keyIdentifier, NOW + 1)).resolves.toMatchObject({
      outcome: "revoked",
      already: false,
      credential: { revokedAt: NOW + 1 },
    });
    await expect(credentials.revoke(keyIdentifier, NOW + 2)).resolves.toMatchObject({
      outcome: "revoked",
      already: true,
      credential: { revokedAt: NOW + 1 },
    });
    await expect(credentials.find(keyIdentifier)).resolves.toMatchObject({ revokedAt: NOW + 1 });
    await expect(credentials.list(identifier)).resolves.toMatchObject([{ revokedAt: NOW + 1 }]);
  });

  test("that does not exist is not revoked", async () => {
    const changed = await written(async () => {
      await expect(credentials.revoke(keyId("0".repeat(16)), NOW)).resolves.toEqual({ outcome: "not_found" });
    });
    expect(changed).toBe(false);
  });

  test("is listed only with its own application's, the oldest first", async () => {
    const one = await anApplication();
    const other = await anApplication();
    await credentials.add({ ...aCredential(one.identifier), createdAt: NOW + 2 });
    await credentials.add({ ...aCredential(one.identifier), createdAt: NOW + 1 });
    await credentials.add(aCredential(other.identifier));
    await expect(credentials.list(one.identifier)).resolves.toMatchObject([
      { createdAt: NOW + 1 },
      { createdAt: NOW + 2 },
    ]);
  });
});

test("items of applications and credentials have no time to live", async () => {
  const { identifier } = await anApplication();
  await credentials.add(aCredential(identifier, NOW + 1));
  for (const item of await table.items()) expect(item).not.toHaveProperty(TABLE.timeToLiveAttribute);
});
