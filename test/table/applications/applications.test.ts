import { PutCommand, UpdateCommand } from "@aws-sdk/lib-dynamodb";
import { v7 as uuid } from "uuid";
import type { Application } from "../../../lib/applications/application.ts";
import { createAndroidPublisherSandbox } from "../../../sandbox/android-store/publisher.ts";
import { applyManifest } from "../../../lib/administration/acts/apply.ts";
import { type Audited, auditEntry } from "../../../lib/administration/acts/audit.ts";
import { type Credential, issueCredential } from "../../../lib/applications/credential.ts";
import { manifestOf } from "../../../lib/administration/manifest/difference.ts";
import type { Manifest } from "../../../lib/administration/manifest/manifest.ts";
import type { Store } from "../../../lib/contract/schemas.ts";
import { applicationId } from "../../../lib/identifiers.ts";
import { originOf } from "../../../lib/stores/android-store/workload-identity.ts";
import { createApplicationTable } from "../../../lib/table/applications/applications.ts";
import { createCredentialTable } from "../../../lib/table/applications/credentials.ts";
import { keys, TABLE } from "../../../lib/table/keys.ts";
import { MalformedItemError } from "../../../lib/table/dynamodb/table.ts";
import { manifestFrom } from "../../../testing/application.ts";
import { anApplication } from "../../../testing/support/application.ts";
import { aBundle } from "../../../testing/support/stores/ios-store.ts";
import { NOW } from "../../../testing/support/stores/purchases.ts";
import { createTestTable } from "../../../testing/support/table/table.ts";

const table = await createTestTable();
afterAll(() => table.remove());
const applications = createApplicationTable(table);
const credentials = createCredentialTable(table);

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

/** The application of the manifest above, with a bundle of its own. */
const aManifest = (bundle: string): Manifest =>
  manifestFrom(MANIFEST.replaceAll("BUNDLE", bundle), { trustsOrigin: originOf("http://127.0.0.1:3000") });

let count = 0;
const saved = async (bundle = `com.example.${(count += 1)}`): Promise<Application> => {
  const application = { ...aManifest(bundle), identifier: applicationId(uuid()) };
  expect(await applications.save(null, application)).toEqual({ outcome: "saved" });
  return application;
};

const present = <T>(value: T | null): T => {
  if (value === null) throw new Error("There is none.");
  return value;
};

/** Expects that nothing is written, as the applications have changed meanwhile. */
const expectConflicts = async (
  ...saves: readonly Parameters<(typeof applications)["save"]>[]
): Promise<void> => {
  const before = await table.items();
  for (const save of saves)
    expect(await applications.save(...save)).toEqual({ outcome: "changed_meanwhile" });
  expect(await table.items()).toEqual(before);
};

describe("an application", () => {
  test("is read as it was saved, with one Query", async () => {
    const application = await saved();
    table.sent.length = 0;
    const loaded = present(await applications.load(application.identifier));
    expect(table.sent).toEqual(["QueryCommand"]);
    expect(manifestOf(loaded)).toEqual(manifestOf(application));
    const product = { productIdentifier: "premium", basePlanIdentifier: "monthly" };
    expect(loaded.catalog.productOf("android-store", product)?.grants).toEqual(["gold", "premium"]);
  });

  test("is found by each of its bundles and packages, in its store", async () => {
    const { identifier } = await saved("com.example.found");
    const names = ["", ".test", ".keyless"].map((end) => `com.example.found${end}`);
    const found = (store: Store) =>
      Promise.all(names.map((bundleOrPackage) => applications.applicationOf({ store, bundleOrPackage })));
    expect(await found("ios-store")).toEqual([identifier, identifier, null]);
    expect(await found("android-store")).toEqual([identifier, null, identifier]);
  });

  test("keeps a package's push subscription, and forgets it with the manifest", async () => {
    const before = await saved("com.example.pushed");
    expect(before.androidStore.map(({ notifications }) => notifications)).toEqual(
      before.androidStore.map(() => null),
    );
    const notifications = { serviceAccount: "push@p.iam.gserviceaccount.com", audience: "https://a" };
    const pushed = before.androidStore.map((store) => ({ ...store, notifications }));
    const save = async (androidStore: Application["androidStore"]) => {
      const stored = present(await applications.read(before.identifier));
      expect(await applications.save(stored, { ...before, androidStore })).toEqual({ outcome: "saved" });
      return present(await applications.load(before.identifier)).androidStore;
    };
    expect(await save(pushed)).toEqual(pushed);
    expect(await save(before.androidStore)).toEqual(before.androidStore);
    expect(JSON.stringify(await table.items())).not.toContain(notifications.serviceAccount);
  });

  test("loses what its manifest no longer lists", async () => {
    const { identifier } = await saved("com.example.lost");
    const manifest: Manifest = {
      ...aManifest("com.example.lost"),
      identifier,
      iosStore: aManifest("com.example.won").iosStore,
      androidStore: [],
    };
    await applyManifest(manifest, identifier, applications);
    expect(await applications.load(identifier)).toMatchObject({
      iosStore: [{ bundleIdentifier: "com.example.won" }, { bundleIdentifier: "com.example.won.test" }],
      androidStore: [],
    });
    const lost = { store: "ios-store", bundleOrPackage: "com.example.lost" } as const;
    expect(await applications.applicationOf(lost)).toBeNull();
    const again = await applyManifest(aManifest("com.example.lost"), applicationId(uuid()), applications);
    expect(again).toMatchObject({ created: true });
  });

  test("does not get another application's bundle, even without a look-up", async () => {
    const { iosStore } = await saved("com.example.taken");
    await expectConflicts([null, anApplication({ iosStore })]);
  });

  const entry = auditEntry("apply", NOW, { by: "ada", caller: null, reason: null });
  test.each<[bundles: number, limit: number, what: string, audit: Audited | undefined]>([
    [49, 48, "without an entry of the audit", undefined],
    [48, 47, "with one", entry],
  ])("with %d bundles has more than the %d that a save writes, %s", async (bundles, limit, _, audit) => {
    const iosStore = Array.from({ length: bundles }, (_, index) =>
      aBundle({ bundleIdentifier: `many${bundles}.n${index}` }),
    );
    const outcome = await applications.save(null, anApplication({ iosStore }), audit);
    expect(outcome).toEqual({ outcome: "too_many_store_changes", limit });
  });

  test("with an item of another shape is an error with its key", async () => {
    const { identifier } = await saved();
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
    const { identifier } = await saved(`com.example.half.${kind}`);
    const key = keys.storeConfiguration(identifier, kind, "com.example.bad");
    await table.client.send(new PutCommand({ TableName: table.name, Item: { ...key, kind } }));
    const application = await applications.load(identifier);
    expect(application?.[other].length).toBeGreaterThan(0);
    expect(() => application?.[broken]).toThrow(MalformedItemError);
  });

  test("is not saved over a version that the writer has not read", async () => {
    const first = await saved();
    const read = await applications.read(first.identifier);
    expect(await applications.save(read, { ...first, name: "B" })).toEqual({ outcome: "saved" });
    await expectConflicts([read, { ...first, name: "C" }], [null, { ...first, name: "D" }]);
  });
});

/** A credential of an application of its own. */
const added = async (expiresAt: number | null = null): Promise<Credential> => {
  const { identifier: application } = await saved();
  const { credential } = issueCredential(
    { application, label: "backend", scopes: ["entitlements:read"], expiresAt },
    NOW,
  );
  expect(await credentials.add(credential)).toBe("added");
  return credential;
};

describe("a credential", () => {
  test("is found as it was added and listed without its hash", async () => {
    const credential = await added(NOW + 1);
    expect(await credentials.find(credential.keyIdentifier)).toEqual(credential);
    const { secretHash, ...summary } = credential;
    expect(await credentials.list(credential.application)).toEqual([summary]);
    const index = (await table.items()).filter((item) => JSON.stringify(item).includes(secretHash));
    expect(index).toHaveLength(1);
  });

  test("with a later version's scopes has the known ones", async () => {
    const { keyIdentifier, application } = await added();
    const scopes = ["of:tomorrow", "entitlements:read"];
    for (const key of [
      keys.credential(keyIdentifier),
      keys.credentialOfApplication(application, keyIdentifier),
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
    expect(await credentials.list(application)).toMatchObject([{ scopes: ["entitlements:read"] }]);
    expect(await credentials.revoke(keyIdentifier, NOW)).toMatchObject({ outcome: "revoked" });
    expect(await table.items()).toContainEqual(expect.objectContaining({ keyIdentifier, scopes }));
  });

  test("is never overwritten", async () => {
    const credential = await added();
    await expect(credentials.add({ ...credential, scopes: ["customers:write"] })).rejects.toMatchObject({
      name: "TransactionCanceledException",
    });
    expect(await credentials.find(credential.keyIdentifier)).toEqual(credential);
  });

  test("is revoked for good, in both items, at the first time", async () => {
    const { keyIdentifier, application } = await added();
    const credential = { revokedAt: NOW + 1 };
    for (const [moment, already] of [
      [NOW + 1, false],
      [NOW + 2, true],
    ] as const)
      expect(await credentials.revoke(keyIdentifier, moment)).toMatchObject({
        outcome: "revoked",
        already,
        credential,
      });
    expect(await credentials.find(keyIdentifier)).toMatchObject(credential);
    expect(await credentials.list(application)).toMatchObject([credential]);
  });
});

test("items of applications and credentials have no time to live", async () => {
  await added(NOW + 1);
  for (const item of await table.items()) expect(item).not.toHaveProperty(TABLE.timeToLiveAttribute);
});
