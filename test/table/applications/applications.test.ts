import { PutCommand, UpdateCommand } from "@aws-sdk/lib-dynamodb";
import type { Application } from "../../../lib/applications/application.ts";
import { createAndroidPublisherSandbox } from "../../../sandbox/android-store/publisher.ts";
import { applyManifest } from "../../../lib/administration/acts/apply.ts";
import { auditEntry } from "../../../lib/administration/reports/audit.ts";
import { issueCredential, type Credential } from "../../../lib/applications/credential.ts";
import { manifestOf } from "../../../lib/administration/manifest/manifest-document.ts";
import { readManifest, type Manifest } from "../../../lib/administration/manifest/manifest.ts";
import type { Audited } from "../../../lib/administration/acts/audit-entry.ts";
import { applicationId, type ApplicationId } from "../../../lib/identifiers.ts";
import { originOf } from "../../../lib/stores/android-store/workload-identity.ts";
import {
  createApplicationTable,
  type ApplicationTable,
} from "../../../lib/table/applications/applications.ts";
import type { CredentialTable } from "../../../lib/table/applications/credentials.ts";
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

  test("does not get another application's bundle, even without a look-up", async () => {
    const { iosStore } = await anApplication("com.example.taken");
    const changed = await written(async () => {
      const thief = { ...aManifest("com.example.thief"), identifier: newIdentifier(), iosStore };
      await expect(applications.save(null, thief)).resolves.toEqual({ outcome: "changed_meanwhile" });
    });
    expect(changed).toBe(false);
  });

  const entry = auditEntry("apply", NOW, { by: "ada", caller: null });
  test.each<[number, string, string, Audited | undefined]>([
    [49, "too_many_store_changes", "without an entry of the audit", undefined],
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
});

test("items of applications and credentials have no time to live", async () => {
  const { identifier } = await anApplication();
  await credentials.add(aCredential(identifier, NOW + 1));
  for (const item of await table.items()) expect(item).not.toHaveProperty(TABLE.timeToLiveAttribute);
});
