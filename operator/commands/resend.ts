import type { Command } from "commander";
import * as z from "zod";
import {
  oldestKept,
  resendChanges,
  type Resent,
  type ResendStart,
} from "../../lib/administration/acts/resend.ts";
import { ServiceError } from "../../lib/contract/errors.ts";
import { isoTime, type Instant } from "../../lib/entitlements/time.ts";
import { recordAct, type ActingOptions } from "./acting.ts";
import { counted, type Answer } from "../text/answer.ts";
import { resendingOn } from "../composition.ts";
import type { Confirmation } from "./confirmation.ts";
import { acting, APPLICATION, DESTINATION, type Frame } from "./frame.ts";
import { healthText } from "../text/destination.ts";
import { OperatorError } from "../operator-error.ts";
import { findApplication, findDestination, readApplicationIdentifier, type Session } from "../session.ts";

export interface ResendOptions extends ActingOptions {
  /** A cursor of the feed, or a time. */
  readonly since: string;
}

const INSTEAD =
  "changes are kept for 30 days. If more was missed, read each account once, then resend what has changed since.";

const readStart = (text: string, moment: Instant): ResendStart => {
  if (!z.iso.datetime({ offset: true }).safeParse(text).success) return { cursor: text };
  const time = Date.parse(text);
  if (time < oldestKept(moment))
    throw new OperatorError(`--since is before ${isoTime(oldestKept(moment))}: ${INSTEAD}`);
  return { time };
};

const sentenceOf = (error: unknown): unknown => {
  if (!(error instanceof ServiceError)) return error;
  if (error.code === "CURSOR_EXPIRED")
    return new OperatorError(`The cursor is not kept any more: ${INSTEAD}`);
  if (error.code === "INVALID_REQUEST")
    return new OperatorError(
      "--since takes a cursor that the feed has answered, or a time such as 2027-01-31T00:00:00Z: this is neither.",
    );
  return error;
};

const progressText = ({ accounts, changes, cursor, part }: Resent): string =>
  [
    `${counted(accounts, "account")} of ${counted(changes, "change")}`,
    `${Math.floor(part * 100)} %`,
    ...(cursor === null ? [] : [`if this is interrupted, go on with --since ${cursor}`]),
  ].join("; ");

/** Redelivers to a destination the newest version of each account that has changed since. */
export const resend = async (
  session: Session,
  { progress }: Confirmation,
  applicationText: string,
  name: string,
  options: ResendOptions,
): Promise<Answer> => {
  const start = readStart(options.since, session.moment);
  const application = await findApplication(session, readApplicationIdentifier(applicationText));
  const reference = {
    application: application.identifier,
    destination: findDestination(application, name).name,
  };
  const { accounts, changes, cursor } = await resendChanges(
    {
      ...resendingOn(session.table, session.now),
      begin: () =>
        recordAct(session, application.identifier, options, "resend", {
          what: [`begun: destination ${name} gets what changed since ${options.since} once more`],
        }),
    },
    reference,
    start,
    (done) => progress(progressText(done)),
  ).catch((error: unknown) => {
    throw sentenceOf(error);
  });
  const health = await session.deliveries.healthOf(reference);
  return {
    json: {
      applicationIdentifier: application.identifier,
      destination: name,
      accounts,
      changes,
      cursor: cursor ?? ("cursor" in start ? start.cursor : null),
    },
    text: [
      `${counted(accounts, "account")} of ${application.name} ${accounts === 1 ? "is" : "are"} sent to ${name} again, each with its newest version (${counted(changes, "change")}).`,
      ...(health.failures > 0
        ? [`${name} is ${healthText(health)}; destination resume retries it at once.`]
        : []),
    ].join("\n"),
  };
};

/** Defines `destination resend`. */
export const addResend = (destination: Command, { answer, confirmation }: Frame): void => {
  acting(destination.command("resend"))
    .description("deliver the newest version of each account that has changed since once more")
    .argument(...APPLICATION)
    .argument(...DESTINATION)
    .requiredOption(
      "--since <cursor or time>",
      "a cursor of the feed, or a time such as 2027-01-31T00:00:00Z",
    )
    .action((application: string, name: string, options: ResendOptions) =>
      answer((session) => resend(session, confirmation, application, name, options)),
    );
};
