import { v7 as uuid } from "uuid";
import { applyManifest } from "../lib/administration/acts/apply.ts";
import type { ManifestTrust } from "../lib/administration/manifest/manifest-values.ts";
import { problemText, readManifest, type Manifest } from "../lib/administration/manifest/manifest.ts";
import { issueCredential } from "../lib/applications/credential.ts";
import { SCOPES, type Scope } from "../lib/contract/schemas.ts";
import type { Instant } from "../lib/entitlements/time.ts";
import { applicationId, type ApplicationId } from "../lib/identifiers.ts";
import { createApplicationTable } from "../lib/table/applications/applications.ts";
import { createCredentialTable } from "../lib/table/applications/credentials.ts";
import type { Table } from "../lib/table/dynamodb/table.ts";

/** The manifest's fields: see "Describe your application" in the README. */
export type ManifestFields = Readonly<Record<string, unknown>>;

/** A manifest: its text (YAML or JSON), or its fields. */
export type GivenManifest = string | ManifestFields;

/** @throws with every problem of the manifest */
export const manifestFrom = (given: GivenManifest, trust: Partial<ManifestTrust> = {}): Manifest => {
  if (typeof given === "string" && /^\S+\.(?:ya?ml|json)$/.test(given))
    throw new Error(`${given} is the name of a file: give the text that is in it.`);
  const reading = readManifest(typeof given === "string" ? given : JSON.stringify(given), trust);
  if (reading.outcome === "valid") return reading.manifest;
  throw new Error(`The manifest is not valid:\n${reading.problems.map(problemText).join("\n")}`);
};

/**
 * Creates an application in the table, or updates it. Its identifier is the manifest's, or a new one.
 *
 * @throws if one of its bundles or packages belongs to another application of the table
 */
export const saveApplication = async (table: Table, manifest: Manifest): Promise<ApplicationId> => {
  const identifier = manifest.identifier ?? applicationId(uuid());
  const applied = await applyManifest({ ...manifest, identifier }, identifier, createApplicationTable(table));
  if (applied.outcome === "applied") return identifier;
  throw new Error(
    `The application could not be applied (${applied.outcome}): a bundle or package belongs to one application. A manifest with names of its own is applied once, such as in beforeAll, or names its application: { identifier: <a UUID> }.`,
  );
};

/** {@link saveApplication}, with an API key. */
export const createApplication = async (table: Table, manifest: Manifest, now: () => Instant) => {
  const identifier = await saveApplication(table, manifest);
  const credentials = createCredentialTable(table);
  const issue = async (scopes: readonly Scope[], expiresAt: Instant | null = null) => {
    const { apiKey, credential } = issueCredential(
      { application: identifier, label: "test", scopes, expiresAt },
      now(),
    );
    await credentials.add(credential);
    return { apiKey, keyIdentifier: credential.keyIdentifier };
  };
  return {
    identifier,
    /** An API key with every scope. */
    key: (await issue(SCOPES)).apiKey,
    issue,
  };
};
export type AppliedApplication = Awaited<ReturnType<typeof createApplication>>;
