import { v7 as uuid } from "uuid";
import { storesOf, type Application, type ApplicationDirectory } from "../../lib/applications/application.ts";
import { APPLICATION_FIELDS, withDefaults } from "../../lib/applications/fields.ts";
import { applicationId } from "../../lib/identifiers.ts";
import { createApplicationTable } from "../../lib/table/applications/applications.ts";
import type { Table } from "../../lib/table/dynamodb/table.ts";
import { manifestFrom, saveApplication, type ManifestFields } from "../application.ts";
import { aBundle } from "./stores/ios-store.ts";
import { aCatalog } from "./stores/purchases.ts";

/** An application of neither store that sells the iOS product `monthly`. */
export const anApplication = (changes: Partial<Application> = {}): Application => ({
  ...withDefaults(APPLICATION_FIELDS, { name: "Trails", renewalLeeway: 0 }),
  identifier: applicationId(uuid()),
  iosStore: [],
  androidStore: [],
  catalog: aCatalog(),
  destinations: [],
  ...changes,
});

/** One bundle and one package of each name, in production and in the sandbox, which the stores notify. */
export const inBothStores = (
  ...names: readonly string[]
): Pick<Application, "iosStore" | "androidStore"> => ({
  iosStore: names.map((bundleIdentifier) =>
    aBundle({ bundleIdentifier, environments: ["production", "sandbox"] }),
  ),
  androidStore: names.map((packageName) => ({
    packageName,
    credential: { secret: "play" },
    environments: ["production", "sandbox"],
    notifications: { serviceAccount: "play-push", audience: "the service" },
  })),
});

/** A directory of these applications only. */
export const directoryOf = (...applications: readonly Application[]): ApplicationDirectory => {
  const find = (is: (application: Application) => boolean): Promise<Application | null> =>
    Promise.resolve(applications.find(is) ?? null);
  return {
    byIdentifier: (identifier) => find((application) => application.identifier === identifier),
    byStore: ({ store, bundleOrPackage }) =>
      find((application) =>
        storesOf(application).some((one) => one.store === store && one.bundleOrPackage === bundleOrPackage),
      ),
  };
};

/** Applies a manifest to the table, and reads the application from it. */
export const applied = async (table: Table, manifest: ManifestFields): Promise<Application> => {
  const application = await createApplicationTable(table).load(
    await saveApplication(table, manifestFrom(manifest)),
  );
  if (application === null) throw new Error("The application is not in the table.");
  return application;
};
