import type { Command } from "commander";
import * as z from "zod";
import {
  retellApplication,
  type AccountPosition,
  type Retelling,
} from "../../lib/administration/acts/retell.ts";
import { tellsChanges } from "../../lib/applications/application.ts";
import { isoTime } from "../../lib/entitlements/time.ts";
import { accountId, customerId } from "../../lib/identifiers.ts";
import { recordAct, type ActingOptions } from "./acting.ts";
import { type Answer, counted, timeOrNull } from "../text/answer.ts";
import { retellTableOn } from "../composition.ts";
import type { Confirmation } from "./confirmation.ts";
import { OperatorError } from "../operator-error.ts";
import { findApplication, readApplicationIdentifier, type Session } from "../session.ts";
import { acting, APPLICATION, type Frame } from "./frame.ts";

export interface RetellOptions extends ActingOptions {
  /** Position that an interrupted run has shown. */
  readonly after?: string;
}

/** Encoded, because an account may contain any characters. */
const positionText = ({ account, customer, scanned }: AccountPosition): string =>
  Buffer.from(JSON.stringify([account, customer, scanned])).toString("base64url");

const positionShape = z.tuple([z.string().min(1), z.uuid(), z.int().min(0)]);

const readPosition = (text: string | undefined): AccountPosition | null => {
  if (text === undefined) return null;
  try {
    const written: unknown = JSON.parse(Buffer.from(text, "base64url").toString());
    const [account, customer, scanned] = positionShape.parse(written);
    return { account: accountId(account), customer: customerId(customer), scanned };
  } catch {
    throw new OperatorError("--after takes the position that an interrupted run has shown.");
  }
};

const progressText = ({ accounts, position, part }: Retelling): string =>
  [
    counted(accounts, "account"),
    ...(part === null ? [] : [`about ${Math.floor(part * 100)} % of the table`]),
    ...(position === null ? [] : [`if this is interrupted, go on with --after ${positionText(position)}`]),
  ].join("; ");

/** Queues every account of an application, so that the effects of a changed catalog are delivered. */
export const retell = async (
  session: Session,
  { progress }: Confirmation,
  applicationText: string,
  options: RetellOptions,
): Promise<Answer> => {
  const after = readPosition(options.after);
  const application = await findApplication(session, readApplicationIdentifier(applicationText));
  if (!tellsChanges(application))
    throw new OperatorError(
      `Changes of ${application.name} are not published: give it a destination, or keepsChanges: true, in its manifest.`,
    );
  await recordAct(session, application.identifier, options, "retell", {
    what: [`begun: every account is looked at${after === null ? "" : ", after an interruption"}`],
  });
  const { accounts, until } = await retellApplication(
    retellTableOn(session.table),
    application.identifier,
    after,
    session.now,
    (done) => progress(progressText(done)),
  );
  return {
    json: {
      applicationIdentifier: application.identifier,
      accounts,
      lookedAtUntil: timeOrNull(until),
    },
    text:
      until === null
        ? `No account of ${application.name} has a customer.`
        : `${counted(accounts, "account")} of ${application.name} queued. Changes are delivered from a minute from now until ${isoTime(until)}.`,
  };
};

/** Defines `application retell`. */
export const addRetell = (application: Command, { answer, confirmation }: Frame): void => {
  acting(application.command("retell"))
    .description("deliver every account's changes now, after the catalog or the destinations changed")
    .argument(...APPLICATION)
    .option("--after <position>", "go on after the position that an interrupted run has shown")
    .action((identifier: string, options: RetellOptions) =>
      answer((session) => retell(session, confirmation, identifier, options)),
    );
};
