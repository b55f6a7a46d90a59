import * as z from "zod";
import {
  credentialStateAt,
  issueCredential,
  POLICY_CACHED_SECONDS,
  type CredentialSummary,
} from "../../lib/applications/credential.ts";
import { auditEntry } from "../../lib/administration/reports/audit.ts";
import { SCOPES, type Scope } from "../../lib/contract/schemas.ts";
import { isInstant, isoTime, parsePeriod, plusPeriod, type Instant } from "../../lib/entitlements/time.ts";
import { type Answer, columns, indent, timeOrNull } from "../text/answer.ts";
import { actorOf, audited, type ActingOptions } from "./acting.ts";
import { OperatorError } from "../operator-error.ts";
import { findApplication, readApplicationIdentifier, readKeyIdentifier, type Session } from "../session.ts";
import type { Command } from "commander";
import { acting, type Frame } from "./frame.ts";

const LABEL_CHARACTERS = 256;

const readScopes = (given: readonly string[]): readonly Scope[] => {
  const unknown = given.find((scope) => !SCOPES.some((known) => known === scope));
  if (unknown !== undefined)
    throw new OperatorError(`There is no scope ${unknown}: the scopes are ${SCOPES.join(" and ")}.`);
  return SCOPES.filter((scope) => given.includes(scope));
};

const readExpiry = (text: string | undefined, moment: Instant): Instant | null => {
  if (text === undefined) return null;
  const period = parsePeriod(text);
  const end =
    period !== null
      ? plusPeriod(moment, period)
      : z.iso.datetime({ offset: true }).safeParse(text).success
        ? Date.parse(text)
        : null;
  if (!isInstant(end))
    throw new OperatorError(
      "--expires takes a time such as 2027-01-31T00:00:00Z, or a duration such as P90D: this is neither.",
    );
  if (end <= moment) throw new OperatorError(`--expires is in the past: ${isoTime(end)}.`);
  return end;
};

const readLabel = (text: string | undefined): string | null => {
  if (text === undefined) return null;
  if (text === "" || [...text].length > LABEL_CHARACTERS || /\p{Cc}/u.test(text))
    throw new OperatorError(`A label has 1 to ${LABEL_CHARACTERS} characters, and no control characters.`);
  return text;
};

export const credentialJson = (credential: CredentialSummary, moment: Instant) => ({
  keyIdentifier: credential.keyIdentifier,
  label: credential.label,
  scopes: credential.scopes,
  state: credentialStateAt(moment, credential),
  createdAt: isoTime(credential.createdAt),
  expiresAt: timeOrNull(credential.expiresAt),
  revokedAt: timeOrNull(credential.revokedAt),
});

export interface IssueOptions extends ActingOptions {
  readonly application: string;
  readonly scope: readonly string[];
  readonly expires?: string;
  readonly label?: string;
}

/** Issues an API key. It is shown only once. */
export const issueApiKey = async (session: Session, options: IssueOptions): Promise<Answer> => {
  const application = readApplicationIdentifier(options.application);
  const { apiKey, credential } = issueCredential(
    {
      application,
      label: readLabel(options.label),
      scopes: readScopes(options.scope),
      expiresAt: readExpiry(options.expires, session.moment),
    },
    session.moment,
  );
  const { keyIdentifier, label, scopes, createdAt, expiresAt } = credentialJson(credential, session.moment);
  const entry = auditEntry("issue", session.moment, await actorOf(session, options), {
    what: [
      `API key ${keyIdentifier}: ${scopes.join(", ")}, expires ${expiresAt ?? "never"}${label === null ? "" : `, ${label}`}`,
    ],
  });
  if ((await session.credentials.add(credential, audited(entry))) === "application_not_found")
    throw new OperatorError(`There is no application ${application} in the table ${session.table.name}.`);
  return {
    json: { apiKey, keyIdentifier, applicationIdentifier: application, label, scopes, createdAt, expiresAt },
    text: [
      apiKey,
      "",
      "This is the API key. It is shown only once: store it where you keep secrets.",
      ...indent([
        `key identifier  ${keyIdentifier}`,
        `application     ${application}`,
        `scopes          ${scopes.join(", ")}`,
        `expires         ${expiresAt ?? "never"}`,
      ]),
    ].join("\n"),
  };
};

/** Lists all API keys ever issued for an application. */
export const listCredentials = async (
  session: Session,
  options: Pick<IssueOptions, "application">,
): Promise<Answer> => {
  const { identifier } = await findApplication(session, readApplicationIdentifier(options.application));
  const credentials = (await session.credentials.list(identifier)).map((credential) =>
    credentialJson(credential, session.moment),
  );
  const rows = credentials.map((credential) => [
    credential.keyIdentifier,
    credential.state,
    credential.scopes.join(","),
    credential.createdAt,
    credential.expiresAt ?? "never",
    credential.revokedAt ?? "-",
    credential.label ?? "",
  ]);
  const heading = ["KEY IDENTIFIER", "STATE", "SCOPES", "CREATED", "EXPIRES", "REVOKED", "LABEL"];
  return {
    json: { applicationIdentifier: identifier, credentials },
    text:
      rows.length === 0
        ? `Application ${identifier} has no credentials.`
        : columns([heading, ...rows]).join("\n"),
  };
};

export interface RevokeOptions extends ActingOptions {
  readonly application?: string;
}

/** Revokes a credential permanently. */
export const revokeCredential = async (
  session: Session,
  key: string,
  options: RevokeOptions,
): Promise<Answer> => {
  const keyIdentifier = readKeyIdentifier(key);
  const notFound = new OperatorError(
    `There is no credential ${keyIdentifier}${options.application === undefined ? "" : " of that application"} in the table ${session.table.name}.`,
  );
  if (options.application !== undefined) {
    const credential = await session.credentials.find(keyIdentifier);
    if (credential?.application !== readApplicationIdentifier(options.application)) throw notFound;
  }
  const entry = auditEntry("revoke", session.moment, await actorOf(session, options), {
    what: [`API key ${keyIdentifier}`],
  });
  const outcome = await session.credentials.revoke(keyIdentifier, session.moment, audited(entry));
  if (outcome.outcome === "not_found") throw notFound;
  const { application, revokedAt } = outcome.credential;
  const time = timeOrNull(revokedAt);
  return {
    json: { keyIdentifier, applicationIdentifier: application, revokedAt: time },
    text: outcome.already
      ? `Credential ${keyIdentifier} was revoked already, at ${time}.`
      : `Credential ${keyIdentifier} is revoked. The gateway may accept it for another ${POLICY_CACHED_SECONDS} seconds.`,
  };
};

const collect = (value: string, values: readonly string[] = []): readonly string[] => [...values, value];

/** Defines the commands of API keys. */
export const addCredentialCommands = (program: Command, { answer }: Frame): void => {
  const credential = program.command("credential").description("API keys of an application");
  acting(credential.command("issue"))
    .description("issue an API key, which is shown only once")
    .requiredOption("--application <identifier>", "the application's identifier")
    .requiredOption(
      "--scope <scope>",
      "customers:write, entitlements:read or changes:read; may be repeated",
      collect,
    )
    .option("--expires <time or duration>", "such as 2027-01-31T00:00:00Z or P90D; never by default")
    .option("--label <text>", "a label of your choice")
    .action((options: IssueOptions) => answer((session) => issueApiKey(session, options)));
  credential
    .command("list")
    .description("list the API keys of an application, without their secrets")
    .requiredOption("--application <identifier>", "the application's identifier")
    .action((options: Pick<IssueOptions, "application">) =>
      answer((session) => listCredentials(session, options)),
    );
  acting(credential.command("revoke"))
    .description("revoke an API key permanently")
    .argument("<keyIdentifier>", "the 16 digits between the underscores of the API key")
    .option("--application <identifier>", "revoke it only if it belongs to this application")
    .action((key: string, options: RevokeOptions) =>
      answer((session) => revokeCredential(session, key, options)),
    );
};
