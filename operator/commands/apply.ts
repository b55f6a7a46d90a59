import { v7 as uuidv7 } from "uuid";
import * as z from "zod";
import {
  applyManifest,
  type ApplyOutcome,
  type BeginApply,
  type StoreRegistration,
} from "../../lib/administration/acts/apply.ts";
import { auditEntry, changeLine } from "../../lib/administration/acts/audit.ts";
import {
  reprojectApplication,
  retellApplication,
  type RetellTable,
  type Scan,
} from "../../lib/administration/acts/scans.ts";
import {
  type ApplicationChange,
  changeText,
  lostAccess,
} from "../../lib/administration/manifest/difference.ts";
import type { ManifestTrust } from "../../lib/administration/manifest/manifest-values.ts";
import { type Manifest, problemText, readManifest } from "../../lib/administration/manifest/manifest.ts";
import { tellsChanges } from "../../lib/applications/application.ts";
import { isoTime } from "../../lib/entitlements/time.ts";
import { applicationId, type ApplicationId, type CustomerId, customerId } from "../../lib/identifiers.ts";
import { makeLooksDue } from "../../lib/table/telling/change-items.ts";
import { OperatorError, readTextFile } from "../operator-error.ts";
import { counted, type Lines, linesText } from "../text/answer.ts";
import { ACTING, authorityOf, recordAct } from "./audit.ts";
import { APPLICATION, command, type Context, flag, optional, text } from "./command.ts";

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
    (name) => `To get the signing secret of ${name}: destination rotate ${application} ${name}`,
  ),
  isToRetell &&
    `Destinations get this with an account's next change. To deliver it to all now: application retell ${application}`,
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

/** The customer after whom a scan goes on. */
const AFTER = optional(
  "--after <position>",
  "go on after the position that an interrupted run has shown",
  (text, name): CustomerId => {
    const position = z.uuid().safeParse(text);
    if (!position.success)
      throw new OperatorError(`${name} takes the position that an interrupted run has shown.`);
    return customerId(position.data);
  },
);

const interruptedText = ({ after }: Scan): string => (after === null ? "" : ", after an interruption");

const scanText = (counts: string, { after }: Scan): string =>
  after === null ? counts : `${counts}; if this is interrupted, go on with --after ${after}`;

export const reproject = command({
  name: "application reproject",
  about: "add earlier purchases of newly mapped consumables: recomputes every customer's holdings",
  takes: { application: APPLICATION },
  options: { ...ACTING, after: AFTER },
  run: async ({ session, application, options, progress }) => {
    await recordAct(session, application, options, "reproject", {
      what: [`begun: the holdings of every customer are recomputed${interruptedText(options)}`],
    });
    const { customers, changed } = await reprojectApplication(session, application, options, (done) =>
      progress(scanText(`${counted(done.customers, "customer")}, ${done.changed} changed`, done)),
    );
    return {
      json: { applicationIdentifier: application.identifier, customers, changed },
      text: `${counted(customers, "customer")} of ${application.name}, ${changed} changed.`,
    };
  },
});

export const retell = command({
  name: "application retell",
  about: "deliver every account's changes now, after the catalog or the destinations changed",
  takes: { application: APPLICATION },
  options: { ...ACTING, after: AFTER },
  run: async ({ session, application, options, progress }) => {
    const { identifier, name } = application;
    if (!tellsChanges(application))
      throw new OperatorError(
        `Changes of ${name} are not published: give it a destination, or keepsChanges: true, in its manifest.`,
      );
    await recordAct(session, application, options, "retell", {
      what: [`begun: every account is looked at${interruptedText(options)}`],
    });
    const table: RetellTable = {
      ...session.table,
      makeDue: (...due) => makeLooksDue(session.store, ...due),
    };
    const { accounts, until } = await retellApplication(table, identifier, options, session.now, (done) =>
      progress(scanText(counted(done.accounts, "account"), done)),
    );
    return {
      json: { applicationIdentifier: identifier, accounts, lookedAtUntil: until },
      text:
        until === null
          ? `No account of ${name} has a customer.`
          : `${counted(accounts, "account")} of ${name} queued. Changes are delivered from a minute from now until ${isoTime(until)}.`,
    };
  },
});
