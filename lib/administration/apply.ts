import { storesOf, type Application, type StoreReference } from "../applications/application.ts";
import type { ApplicationId } from "../identifiers.ts";
import { differenceOf, type Change } from "./difference.ts";
import type { Manifest } from "./manifest.ts";

/** A bundle or package and the one application that has it. */
export interface StoreRegistration extends StoreReference {
  readonly application: ApplicationId;
}

/** An application as it was read; its version moves with every change. */
export interface StoredApplication {
  readonly application: Application;
  readonly version: number;
}

export type SaveOutcome =
  | { readonly outcome: "saved" }
  /** Somebody else changed the application, or took one of its bundles or packages, since it was read: read again. */
  | { readonly outcome: "changed_meanwhile" }
  | { readonly outcome: "too_many_store_changes"; readonly limit: number }
  | { readonly outcome: "catalog_too_large"; readonly bytes: number; readonly limit: number };

/** Where applications are kept, as applying a manifest needs it. */
export interface ApplicationStore {
  read(identifier: ApplicationId): Promise<StoredApplication | null>;
  /** Those of the bundles and packages that some application has. */
  registrationsOf(stores: readonly StoreReference[]): Promise<readonly StoreRegistration[]>;
  /** Writes all of the change from `before` (null: new) to `after`, or nothing. */
  save(before: StoredApplication | null, after: Application): Promise<SaveOutcome>;
}

export type ApplyOutcome =
  | {
      readonly outcome: "applied";
      readonly application: ApplicationId;
      readonly created: boolean;
      /** Empty where the application was so already: then nothing was written. */
      readonly changes: readonly Change[];
    }
  | { readonly outcome: "nothing_names_it" }
  | { readonly outcome: "registered_to_several"; readonly registrations: readonly StoreRegistration[] }
  | { readonly outcome: "registered_elsewhere"; readonly registrations: readonly StoreRegistration[] }
  | Exclude<SaveOutcome, { outcome: "saved" }>;

/** Is shown what an application that is there becomes, and throws where that is not meant: then nothing is written. */
export type Approve = (before: Application, after: Application) => Promise<void>;

const ATTEMPTS = 5;

const applyOnce = async (
  manifest: Manifest,
  newIdentifier: ApplicationId,
  applications: ApplicationStore,
  approve: Approve,
): Promise<ApplyOutcome> => {
  const registrations = await applications.registrationsOf(storesOf(manifest));
  const owners = new Set(registrations.map(({ application }) => application));
  const [owner, ...otherOwners] = owners;
  if (manifest.identifier === null && otherOwners.length > 0)
    return { outcome: "registered_to_several", registrations };
  const identifier = manifest.identifier ?? owner ?? newIdentifier;
  const foreign = registrations.filter(({ application }) => application !== identifier);
  if (foreign.length > 0) return { outcome: "registered_elsewhere", registrations: foreign };

  const before = await applications.read(identifier);
  // Found by its bundles alone it must also be called so: one name copied from another file rewrites nobody's catalog.
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
  if (before !== null) await approve(before.application, after);
  const saved = await applications.save(before, after);
  return saved.outcome === "saved" ? applied : saved;
};

/**
 * Brings an application in line with its manifest, all of it or nothing. A manifest without an identifier is the
 * application of the same name that has its bundles and packages, or else a new one, called `newIdentifier`; so applying
 * it again changes nothing. Where somebody else changes the application meanwhile, it is tried again from what is there then.
 *
 * @param approve unset: every change is meant
 */
export const applyManifest = async (
  manifest: Manifest,
  newIdentifier: ApplicationId,
  applications: ApplicationStore,
  approve: Approve = () => Promise.resolve(),
): Promise<ApplyOutcome> => {
  if (manifest.identifier === null && storesOf(manifest).length === 0) return { outcome: "nothing_names_it" };
  for (let attempt = 1; attempt < ATTEMPTS; attempt += 1) {
    const outcome = await applyOnce(manifest, newIdentifier, applications, approve);
    if (outcome.outcome !== "changed_meanwhile") return outcome;
  }
  return applyOnce(manifest, newIdentifier, applications, approve);
};
