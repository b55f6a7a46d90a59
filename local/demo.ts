import { applyManifest } from "../lib/administration/acts/apply.ts";
import { readManifest, type Manifest } from "../lib/administration/manifest/manifest.ts";
import { authorize, issueCredential } from "../lib/applications/credential.ts";
import { SCOPES } from "../lib/contract/schemas.ts";
import { allowedDestinations } from "../lib/delivery/addresses.ts";
import type { Instant } from "../lib/entitlements/time.ts";
import { applicationId } from "../lib/identifiers.ts";
import { originOf } from "../lib/stores/android-store/workload-identity.ts";
import { createApplicationTable } from "../lib/table/applications/applications.ts";
import { createCredentialTable } from "../lib/table/applications/credentials.ts";
import type { Table } from "../lib/table/dynamodb/table.ts";
import type { DataFolder } from "./database/data-folder.ts";
import { LocalError } from "./server.ts";

/** The demo application, whose names no other application needs. */
export const DEMO = {
  applicationIdentifier: applicationId("0198c0de-0000-7000-8000-00000000de30"),
  name: "Demo",
  bundleIdentifier: "com.example.demo",
  appAppleIdentifier: 1_234_567_890,
  packageName: "com.example.demo",
  iosSubscription: "com.example.demo.premium.monthly",
  iosNonConsumable: "com.example.demo.offline_maps",
  androidSubscription: "premium",
  androidBasePlan: "monthly",
} as const;

const API_KEY_FILE = "demo-api-key";

/** A run's addresses in the demo application's manifest. */
interface DemoEnds {
  /** URL of its webhook. */
  readonly destination: string;
  readonly publisherUrl: string;
  /** `stores` of the manifest. */
  readonly stores: object;
}

const manifest = ({ destination, publisherUrl, stores }: DemoEnds): Manifest => {
  // JSON is valid YAML.
  const reading = readManifest(
    JSON.stringify({
      application: { identifier: DEMO.applicationIdentifier, name: DEMO.name },
      destinations: [{ name: "local", url: destination }],
      stores,
      entitlements: {
        premium: { displayName: "Premium" },
        "offline-maps": { displayName: "Offline maps" },
      },
      products: [
        { store: "ios-store", productIdentifier: DEMO.iosSubscription, grants: ["premium"] },
        { store: "ios-store", productIdentifier: DEMO.iosNonConsumable, grants: ["offline-maps"] },
        {
          store: "android-store",
          productIdentifier: DEMO.androidSubscription,
          basePlanIdentifier: DEMO.androidBasePlan,
          grants: ["premium"],
        },
      ],
    }),
    {
      trustsOrigin: originOf(publisherUrl),
      allowsDestination: allowedDestinations(new URL(destination).origin),
    },
  );
  if (reading.outcome === "invalid") throw new Error("The demo application's manifest is not valid.");
  return reading.manifest;
};

const applyDemo = async (table: Table, ends: DemoEnds): Promise<void> => {
  const applied = await applyManifest(
    manifest(ends),
    DEMO.applicationIdentifier,
    createApplicationTable(table),
  );
  if (applied.outcome !== "applied")
    throw new LocalError(
      `The demo application could not be created (${applied.outcome}): ${DEMO.bundleIdentifier} must not belong to another application.`,
    );
};

/**
 * Creates or updates the demo application. Its API key is that of the data folder, if that is still valid, or a new one.
 *
 * @throws LocalError if it cannot be applied, as when another application has its bundle
 */
export const prepareDemo = async (table: Table, folder: DataFolder, ends: DemoEnds, now: () => Instant) => {
  await applyDemo(table, ends);
  const credentials = createCredentialTable(table);

  const savedKey = async () => {
    const apiKey = folder.read(API_KEY_FILE)?.trim();
    if (apiKey === undefined) return null;
    const decision = await authorize(`Bearer ${apiKey}`, now(), credentials.find);
    const credential =
      decision.outcome === "authorized" ? await credentials.find(decision.keyIdentifier) : null;
    return credential && { apiKey, credential };
  };
  const newKey = async () => {
    const issued = issueCredential(
      { application: DEMO.applicationIdentifier, label: "demo", scopes: SCOPES, expiresAt: null },
      now(),
    );
    await credentials.add(issued.credential);
    folder.write(API_KEY_FILE, `${issued.apiKey}\n`);
    return issued;
  };

  const { apiKey, credential } = (await savedKey()) ?? (await newKey());
  return {
    apiKey,
    /** Creates the application in an emptied table, with the key that it had. */
    restore: async (): Promise<void> => {
      await applyDemo(table, ends);
      await credentials.add({ ...credential, createdAt: now() });
    },
  };
};
