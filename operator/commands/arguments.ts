import * as z from "zod";
import type { Application } from "../../lib/applications/application.ts";
import type { Destination } from "../../lib/applications/destination.ts";
import { accountIdentifier } from "../../lib/contract/schemas.ts";
import type { Instant } from "../../lib/entitlements/time.ts";
import {
  accountId,
  applicationId,
  customerId,
  type AccountId,
  type ApplicationId,
  type CustomerId,
} from "../../lib/identifiers.ts";
import { OperatorError } from "../operator-error.ts";
import type { Session } from "../session.ts";
import { required, textOf, type Argument } from "./command.ts";

export const readApplicationIdentifier = (text: string): ApplicationId => {
  if (!z.uuid().safeParse(text).success)
    throw new OperatorError(
      "An application's identifier must be a UUID: application list shows all, and application find <bundle or package> that of one.",
    );
  return applicationId(text.toLowerCase());
};

export const readCustomerIdentifier = (text: string): CustomerId => {
  if (!z.uuid().safeParse(text).success) throw new OperatorError("A customer's identifier must be a UUID.");
  return customerId(text.toLowerCase());
};

export const readAccountIdentifier = (text: string): AccountId => {
  const account = accountIdentifier().safeParse(text);
  if (account.success) return accountId(account.data);
  throw new OperatorError(
    `An account's identifier ${account.error.issues[0]?.message ?? "is of another form"}.`,
  );
};

export const findApplication = async (
  { applications, table }: Session,
  text: string,
): Promise<Application> => {
  const identifier = readApplicationIdentifier(text);
  const application = await applications.load(identifier);
  if (application === null)
    throw new OperatorError(`There is no application ${identifier} in the table ${table.name}.`);
  return application;
};

export const findDestination = ({ name: of, destinations }: Application, name: string): Destination => {
  const destination = destinations.find((one) => one.name === name);
  if (destination !== undefined) return destination;
  const names = destinations.map((one) => one.name).join(", ");
  throw new OperatorError(
    `${of} has no destination ${name}: ${names === "" ? "it has none" : `it has ${names}`}.`,
  );
};

/** Time in ISO 8601; null: the text is none. */
export const readTime = (text: string): Instant | null =>
  z.iso.datetime({ offset: true }).safeParse(text).success ? Date.parse(text) : null;

export const APPLICATION: Argument<Application> = {
  name: "<application>",
  about: "the application's identifier",
  read: (given, session) => findApplication(session, textOf(given)),
};

export const APPLICATION_OPTION = required(
  "--application <identifier>",
  "the application's identifier",
  readApplicationIdentifier,
);

export const ACCOUNT: Argument<AccountId> = {
  name: "<account>",
  about: "the account's identifier, as the application gives it",
  read: (given) => readAccountIdentifier(textOf(given)),
};

export const CUSTOMER: Argument<CustomerId> = {
  name: "<customer>",
  about: "the customer's identifier",
  read: (given) => readCustomerIdentifier(textOf(given)),
};

export const text = (name: string, about: string): Argument<string> => ({ name, about, read: textOf });

export const DESTINATION = text("<name>", "the destination's name in the manifest");
