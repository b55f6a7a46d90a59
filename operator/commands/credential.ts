import {
  credentialStateAt,
  issueCredential,
  POLICY_CACHED_SECONDS,
  type CredentialSummary,
} from "../../lib/applications/credential.ts";
import { SCOPES, type Scope } from "../../lib/contract/schemas.ts";
import { isInstant, isoTime, parsePeriod, plusPeriod, type Instant } from "../../lib/entitlements/time.ts";
import { keyId, type KeyId } from "../../lib/identifiers.ts";
import { OperatorError } from "../operator-error.ts";
import { columns, timeOrNull } from "../text/answer.ts";
import { ACTING, entryOf, readText } from "./audit.ts";
import {
  APPLICATION_OPTION,
  argument,
  asText,
  command,
  findApplication,
  optional,
  readApplicationIdentifier,
  readTime,
  repeated,
} from "./command.ts";

const readScopes = (given: readonly string[]): readonly Scope[] => {
  const known = `the scopes are ${SCOPES.join(", ")}.`;
  if (given.length === 0) throw new OperatorError(`--scope is required: ${known}`);
  const unknown = given.find((scope) => !SCOPES.some((one) => one === scope));
  if (unknown !== undefined) throw new OperatorError(`There is no scope ${unknown}: ${known}`);
  return SCOPES.filter((scope) => given.includes(scope));
};

const readExpiry = (text: string, moment: Instant): Instant => {
  const period = parsePeriod(text);
  const end = period === null ? readTime(text) : plusPeriod(moment, period);
  if (!isInstant(end))
    throw new OperatorError(
      "--expires takes a time such as 2027-01-31T00:00:00Z, or a duration such as P90D: this is neither.",
    );
  if (end <= moment) throw new OperatorError(`--expires is in the past: ${isoTime(end)}.`);
  return end;
};

const readKeyIdentifier = (text: string): KeyId => {
  // The error does not repeat the text, which may be a whole API key.
  if (!/^[0-9a-f]{16}$/.test(text))
    throw new OperatorError(
      "A key identifier must be the 16 hexadecimal digits between the underscores of its API key.",
    );
  return keyId(text);
};

const KEY_IDENTIFIER = argument(
  "<keyIdentifier>",
  "the 16 digits between the underscores of the API key",
  readKeyIdentifier,
);

/** Named one by one, so that no secret's hash is shown. */
export const credentialJson = (credential: CredentialSummary, moment: Instant) => ({
  keyIdentifier: credential.keyIdentifier,
  label: credential.label,
  scopes: credential.scopes,
  state: credentialStateAt(moment, credential),
  createdAt: credential.createdAt,
  expiresAt: credential.expiresAt,
  revokedAt: credential.revokedAt,
});

export const issueApiKey = command({
  name: "credential issue",
  about: "issue an API key, which is shown only once",
  takes: {},
  options: {
    ...ACTING,
    application: APPLICATION_OPTION,
    scope: repeated("--scope <scope>", "customers:write, entitlements:read or changes:read", readScopes),
    expires: optional(
      "--expires <time or duration>",
      "such as 2027-01-31T00:00:00Z or P90D; never by default",
      asText,
    ),
    label: optional("--label <text>", "a label of your choice", readText),
  },
  run: async ({ session, options }) => {
    const { moment } = session;
    const { application, label, scope: scopes, expires: given } = options;
    const expiresAt = given === null ? null : readExpiry(given, moment);
    const { apiKey, credential } = issueCredential({ application, label, scopes, expiresAt }, moment);
    const { keyIdentifier, createdAt } = credential;
    const expires = timeOrNull(expiresAt) ?? "never";
    const what = `API key ${keyIdentifier}: ${scopes.join(", ")}, expires ${expires}${label === null ? "" : `, ${label}`}`;
    const entry = await entryOf(session, options, "issue", { what: [what] });
    if ((await session.credentials.add(credential, entry)) === "application_not_found")
      throw new OperatorError(`There is no application ${application} in the table ${session.store.name}.`);
    return {
      json: {
        apiKey,
        keyIdentifier,
        applicationIdentifier: application,
        label,
        scopes,
        createdAt,
        expiresAt,
      },
      text: [
        apiKey,
        "",
        "This is the API key. It is shown only once: store it where you keep secrets.",
        [
          `key identifier  ${keyIdentifier}`,
          `application     ${application}`,
          `scopes          ${scopes.join(", ")}`,
          `expires         ${expires}`,
        ],
      ],
    };
  },
});

export const listCredentials = command({
  name: "credential list",
  about: "list the API keys of an application, without their secrets",
  takes: {},
  options: { application: APPLICATION_OPTION },
  run: async ({ session, options }) => {
    const { identifier } = await findApplication(options.application, session);
    const credentials = (await session.credentials.list(identifier)).map((credential) =>
      credentialJson(credential, session.moment),
    );
    const rows = credentials.map(
      ({ keyIdentifier, state, scopes, createdAt, expiresAt, revokedAt, label }) => [
        keyIdentifier,
        state,
        scopes.join(","),
        isoTime(createdAt),
        timeOrNull(expiresAt) ?? "never",
        timeOrNull(revokedAt) ?? "-",
        label ?? "",
      ],
    );
    const heading = ["KEY IDENTIFIER", "STATE", "SCOPES", "CREATED", "EXPIRES", "REVOKED", "LABEL"];
    return {
      json: { applicationIdentifier: identifier, credentials },
      text: rows.length === 0 ? `Application ${identifier} has no credentials.` : columns([heading, ...rows]),
    };
  },
});

export const revokeCredential = command({
  name: "credential revoke",
  about: "revoke an API key permanently",
  takes: { keyIdentifier: KEY_IDENTIFIER },
  options: {
    ...ACTING,
    application: optional(
      "--application <identifier>",
      "revoke it only if it belongs to this application",
      readApplicationIdentifier,
    ),
  },
  run: async ({ session, keyIdentifier, options }) => {
    const notFound = new OperatorError(
      `There is no credential ${keyIdentifier}${options.application === null ? "" : " of that application"} in the table ${session.store.name}.`,
    );
    if (options.application !== null) {
      const credential = await session.credentials.find(keyIdentifier);
      if (credential?.application !== options.application) throw notFound;
    }
    const entry = await entryOf(session, options, "revoke", { what: [`API key ${keyIdentifier}`] });
    const outcome = await session.credentials.revoke(keyIdentifier, session.moment, entry);
    if (outcome.outcome === "not_found") throw notFound;
    const { application, revokedAt } = outcome.credential;
    return {
      json: { keyIdentifier, applicationIdentifier: application, revokedAt },
      text: outcome.already
        ? `Credential ${keyIdentifier} was revoked already, at ${timeOrNull(revokedAt)}.`
        : `Credential ${keyIdentifier} is revoked. The gateway may accept it for another ${POLICY_CACHED_SECONDS} seconds.`,
    };
  },
});
