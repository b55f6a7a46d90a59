import type { Command } from "commander";
import * as z from "zod";
import type { ScanPosition } from "../../lib/administration/acts/operation-table.ts";
import type { Reprojection } from "../../lib/administration/acts/reproject.ts";
import { customerId } from "../../lib/identifiers.ts";
import { recordAct, type ActingOptions } from "./acting.ts";
import { counted, type Answer } from "../text/answer.ts";
import type { Confirmation } from "./confirmation.ts";
import { OperatorError } from "../operator-error.ts";
import { findApplication, operationsOf, readApplicationIdentifier, type Session } from "../session.ts";
import { acting, APPLICATION, type Frame } from "./frame.ts";

export interface ReprojectOptions extends ActingOptions {
  /** Position that an interrupted run has shown. */
  readonly after?: string;
}

const positionText = ({ customer, scanned }: ScanPosition): string => `${customer}:${scanned}`;

const readPosition = (text: string | undefined): ScanPosition | null => {
  if (text === undefined) return null;
  const [customer, scanned, ...rest] = text.split(":");
  if (rest.length > 0 || !z.uuid().safeParse(customer).success || !/^\d{1,15}$/.test(scanned ?? ""))
    throw new OperatorError("--after takes the position that an interrupted run has shown.");
  return { customer: customerId(customer ?? ""), scanned: Number(scanned) };
};

const progressText = ({ customers, changed, position, part }: Reprojection): string =>
  [
    `${counted(customers, "customer")}, ${changed} changed`,
    ...(part === null ? [] : [`about ${Math.floor(part * 100)} % of the table`]),
    ...(position === null ? [] : [`if this is interrupted, go on with --after ${positionText(position)}`]),
  ].join("; ");

/** Recomputes the holdings of all customers of an application from their purchases. */
export const reproject = async (
  session: Session,
  { progress }: Confirmation,
  applicationText: string,
  options: ReprojectOptions,
): Promise<Answer> => {
  const after = readPosition(options.after);
  const application = await findApplication(session, readApplicationIdentifier(applicationText));
  await recordAct(session, application.identifier, options, "reproject", {
    what: [
      `begun: the holdings of every customer are recomputed${after === null ? "" : ", after an interruption"}`,
    ],
  });
  const { customers, changed } = await operationsOf(session).reproject(application, after, (done) =>
    progress(progressText(done)),
  );
  return {
    json: { applicationIdentifier: application.identifier, customers, changed },
    text: `${counted(customers, "customer")} of ${application.name}, ${changed} changed.`,
  };
};

/** Defines `application reproject`. */
export const addReproject = (application: Command, { answer, confirmation }: Frame): void => {
  acting(application.command("reproject"))
    .description(
      "recompute every customer's holdings from its purchases, after the catalog maps more products",
    )
    .argument(...APPLICATION)
    .option("--after <position>", "go on after the position that an interrupted run has shown")
    .action((identifier: string, options: ReprojectOptions) =>
      answer((session) => reproject(session, confirmation, identifier, options)),
    );
};
