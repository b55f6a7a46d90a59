import { v7 as uuidv7 } from "uuid";
import {
  applyManifest,
  type ApplyOutcome,
  type BeginApply,
  type StoreRegistration,
} from "../../lib/administration/acts/apply.ts";
import { changeText, type ApplicationChange } from "../../lib/administration/manifest/difference.ts";
import { auditEntry, changeLine } from "../../lib/administration/acts/audit.ts";
import { lostAccess } from "../../lib/administration/reports/lost-access.ts";
import type { ManifestTrust } from "../../lib/administration/manifest/manifest-values.ts";
import { problemText, readManifest, type Manifest } from "../../lib/administration/manifest/manifest.ts";
import { tellsChanges } from "../../lib/applications/application.ts";
import { applicationId, type ApplicationId } from "../../lib/identifiers.ts";
import { OperatorError } from "../operator-error.ts";
import { counted, linesText, type Lines } from "../text/answer.ts";
import { readTextFile } from "../text-file.ts";
import { ACTING, authorityOf } from "./acting.ts";
import { text } from "./arguments.ts";
import { command, flag, type Context } from "./command.ts";

/** @throws OperatorError that names every problem, after the prefix */
export const readManifestFile = async (
  file: string,
  { trustsOrigin, allowsDestination }: ManifestTrust,
  prefix = "",
): Promise<Manifest> => {
  const reading = readManifest(await readTextFile(file), { trustsOrigin, allowsDestination });
  if (reading.outcome === "valid") return reading.manifest;
  throw new OperatorError(
    linesText([`${prefix}${file} is not a valid manifest.`, reading.problems.map(problemText)]),
  );
};

export const named = (registrations: readonly StoreRegistration[]): string =>
  registrations
    .map(({ store, bundleOrPackage, application }) => `${store} ${bundleOrPackage} (${application})`)
    .join(", ");

const refusal = (outcome: Exclude<ApplyOutcome, { outcome: "applied" }>): string => {
  switch (outcome.outcome) {
    case "nothing_names_it":
      return "the manifest has neither an identifier nor a store, so that the next apply could not find the application again.";
    case "registered_to_several":
      return `the manifest has no identifier, and its bundles and packages belong to several applications: ${named(outcome.registrations)}.`;
    case "registered_elsewhere":
      return `another application already has what the manifest names: ${named(outcome.registrations)}. To change that application, give its identifier in the manifest.`;
    case "changed_meanwhile":
      return "the application is being changed by somebody else; try again.";
    case "too_many_store_changes":
      return `one apply can add or remove at most ${outcome.limit} bundles and packages; do it in several steps.`;
    case "catalog_too_large":
      return `the entitlements and products take ${outcome.bytes} bytes, and at most ${outcome.limit} can be stored.`;
  }
};

/** Parts whose change may affect every account's entitlements without writing any account. */
const IN_CATALOG: ReadonlySet<ApplicationChange["subject"]> = new Set(["entitlement", "product"]);

const newWebhooks = (changes: readonly ApplicationChange[]): readonly string[] =>
  changes
    .filter(
      ({ subject, fields }) =>
        subject === "destination" &&
        fields.some(({ field, before, after }) => field === "url" && before === null && after !== null),
    )
    .map(({ name }) => name);

/** Drops the waiting messages of removed destinations. What an interrupted drop leaves expires after 30 days. */
const dropRemoved = async (
  { session: { destinations }, progress }: Pick<Context, "session" | "progress">,
  application: ApplicationId,
  changes: readonly ApplicationChange[],
): Promise<readonly { readonly destination: string; readonly messages: number }[]> => {
  const removed = changes.filter(({ kind, subject }) => kind === "removed" && subject === "destination");
  const dropped = [];
  for (const { name: destination } of removed) {
    const messages = await destinations.drop({ application, destination }, (sofar) =>
      progress(`dropped ${counted(sofar, "message")} that waited for ${destination}`),
    );
    dropped.push({ destination, messages });
  }
  return dropped;
};

const appliedText = (
  { application, created, changes }: Extract<ApplyOutcome, { outcome: "applied" }>,
  dropped: Awaited<ReturnType<typeof dropRemoved>>,
  isToRetell: boolean,
): readonly Lines[] => [
  `Application ${application}: ${created ? "created" : changes.length === 0 ? "no changes" : "changed"}`,
  changes.map(changeText),
  ...dropped.map(
    ({ destination, messages }) =>
      `${counted(messages, "message")} that waited for ${destination} ${messages === 1 ? "is" : "are"} dropped.`,
  ),
  ...newWebhooks(changes).map(
    (name) => `destination rotate ${application} ${name} prints the secret that signs what ${name} gets.`,
  ),
  isToRetell &&
    `An account's change is delivered when something else changes the account, too. application retell ${application} delivers all now.`,
];

/** Asks first if customers can lose access. */
export const applyApplication = command({
  name: "application apply",
  about: "create the application that a manifest describes, or update it to match",
  takes: { file: text("<file>", "the manifest, YAML") },
  options: { ...ACTING, yes: flag("--yes", "do not ask, even if customers can lose access") },
  run: async ({ session, file, options, confirm, progress }) => {
    const authority = await authorityOf(session, options);
    const manifest = await readManifestFile(file, session, "Nothing was applied: ");
    let toldBefore = true;
    const begin: BeginApply = async (before, after, changes) => {
      toldBefore = before !== null && tellsChanges(before);
      const losses = before === null ? [] : lostAccess(before, after);
      if (before !== null && losses.length > 0)
        await confirm(
          linesText([
            `With this change, customers of ${before.name} (${before.identifier}) can lose access:`,
            losses,
            "It takes effect within a minute.",
          ]),
        );
      const what = [
        ...losses.map((loss) => `customers can lose access: ${loss}`),
        ...changes.map(changeLine),
      ];
      return auditEntry("apply", session.now(), authority, { what });
    };
    const outcome = await applyManifest(manifest, applicationId(uuidv7()), session.applications, begin);
    if (outcome.outcome !== "applied") throw new OperatorError(`Nothing was applied: ${refusal(outcome)}`);
    const { application, created, changes } = outcome;
    const dropped = await dropRemoved({ session, progress }, application, changes);
    const isToRetell =
      !created &&
      tellsChanges(manifest) &&
      (!toldBefore || changes.some(({ subject }) => IN_CATALOG.has(subject)));
    return {
      json: { applicationIdentifier: application, created, changes, ...(dropped.length > 0 && { dropped }) },
      text: appliedText(outcome, dropped, isToRetell),
    };
  },
});
