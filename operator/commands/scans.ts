import * as z from "zod";
import {
  reprojectApplication,
  retellApplication,
  type RetellTable,
  type Scan,
} from "../../lib/administration/acts/scans.ts";
import { tellsChanges } from "../../lib/applications/application.ts";
import { isoTime } from "../../lib/entitlements/time.ts";
import { customerId, type CustomerId } from "../../lib/identifiers.ts";
import { makeLooksDue } from "../../lib/table/telling/looks.ts";
import { OperatorError } from "../operator-error.ts";
import { counted } from "../text/answer.ts";
import { ACTING, recordAct } from "./acting.ts";
import { APPLICATION } from "./arguments.ts";
import { command, optional } from "./command.ts";

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
  about: "recompute every customer's holdings from its purchases, after the catalog maps more products",
  takes: { application: APPLICATION },
  options: { ...ACTING, after: AFTER },
  run: async ({ session, application, options, progress }) => {
    await recordAct(session, application, options, "reproject", {
      what: [`begun: the holdings of every customer are recomputed${interruptedText(options)}`],
    });
    const { customers, changed } = await reprojectApplication(
      session.operations,
      application,
      options,
      (done) => progress(scanText(`${counted(done.customers, "customer")}, ${done.changed} changed`, done)),
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
      ...session.operations.table,
      makeDue: (...due) => makeLooksDue(session.table, ...due),
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
