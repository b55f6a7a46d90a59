import { storesOf, type Application, type StoreReference } from "../../applications/application.ts";
import type { ApplicationId } from "../../identifiers.ts";
import { pause, tryAgain } from "../../pause.ts";
import { differenceOf, type ApplicationChange } from "../manifest/difference.ts";
import type { Manifest } from "../manifest/manifest.ts";
import type { Audited } from "./audit.ts";

export interface StoreRegistration extends StoreReference {
  readonly application: ApplicationId;
}

/** Every change increments its version. */
export interface StoredApplication {
  readonly application: Application;
  readonly version: number;
}

export type SaveOutcome =
  | { readonly outcome: "saved" }
  /** The application was changed, or one of its bundles or packages taken, since it was read. */
  | { readonly outcome: "changed_meanwhile" }
  | { readonly outcome: "too_many_store_changes"; readonly limit: number }
  | { readonly outcome: "catalog_too_large"; readonly bytes: number; readonly limit: number };

export interface ApplicationStore {
  read(identifier: ApplicationId): Promise<StoredApplication | null>;
  /** Unregistered bundles and packages are left out. */
  registrationsOf(stores: readonly StoreReference[]): Promise<readonly StoreRegistration[]>;
  /** Writes the whole change from `before` (null: new) to `after`, or nothing. */
  save(before: StoredApplication | null, after: Application, audit?: Audited): Promise<SaveOutcome>;
}

export type ApplyOutcome =
  | {
      readonly outcome: "applied";
      readonly application: ApplicationId;
      readonly created: boolean;
      /** Empty if the application matched already; nothing was written. */
      readonly changes: readonly ApplicationChange[];
    }
  | { readonly outcome: "nothing_names_it" }
  | {
      readonly outcome: "registered_to_several" | "registered_elsewhere";
      readonly registrations: readonly StoreRegistration[];
    }
  | Exclude<SaveOutcome, { outcome: "saved" }>;

/** Makes the audit entry of a change, or throws to refuse the change. `before` null: a new application. */
export type BeginApply = (
  before: Application | null,
  after: Application,
  changes: readonly ApplicationChange[],
) => Promise<Audited>;

const ATTEMPTS = 5;

const applyOnce = async (
  manifest: Manifest,
  newIdentifier: ApplicationId,
  applications: ApplicationStore,
  begin?: BeginApply,
): Promise<ApplyOutcome> => {
  const registrations = await applications.registrationsOf(storesOf(manifest));
  const [owner, ...otherOwners] = new Set(registrations.map(({ application }) => application));
  if (manifest.identifier === null && otherOwners.length > 0)
    return { outcome: "registered_to_several", registrations };
  const identifier = manifest.identifier ?? owner ?? newIdentifier;
  const foreign = registrations.filter(({ application }) => application !== identifier);
  if (foreign.length > 0) return { outcome: "registered_elsewhere", registrations: foreign };

  const before = await applications.read(identifier);
  // An application found by bundles or packages alone must also have the manifest's name: one bundle copied from another
  // file must not rewrite that application's catalog.
  const isOther = before !== null && before.application.name !== manifest.name;
  if (manifest.identifier === null && isOther) return { outcome: "registered_elsewhere", registrations };
  const after = { ...manifest, identifier };
  const changes = differenceOf(before?.application ?? null, after);
  const applied = {
    outcome: "applied",
    application: identifier,
    created: before === null,
    changes,
  } as const;
  if (changes.length === 0) return applied;
  const saved = await applications.save(
    before,
    after,
    await begin?.(before?.application ?? null, after, changes),
  );
  return saved.outcome === "saved" ? applied : saved;
};

/**
 * Brings an application in line with its manifest: all of it, or nothing. A manifest without an identifier updates the
 * application of the same name that owns its bundles and packages, or creates `newIdentifier` if none is registered.
 * Idempotent.
 */
export const applyManifest = async (
  manifest: Manifest,
  newIdentifier: ApplicationId,
  applications: ApplicationStore,
  begin?: BeginApply,
): Promise<ApplyOutcome> => {
  if (manifest.identifier === null && storesOf(manifest).length === 0) return { outcome: "nothing_names_it" };
  const applied = await tryAgain(ATTEMPTS, pause, async () => {
    const outcome = await applyOnce(manifest, newIdentifier, applications, begin);
    return outcome.outcome === "changed_meanwhile" ? "conflict" : outcome;
  });
  return applied === "conflict" ? { outcome: "changed_meanwhile" } : applied;
};
