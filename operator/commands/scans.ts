import * as z from "zod";
import type { Scan, ScanPosition } from "../../lib/administration/acts/operation-table.ts";
import { reprojectApplication } from "../../lib/administration/acts/reproject.ts";
import { retellApplication, type AccountPosition } from "../../lib/administration/acts/retell.ts";
import { tellsChanges } from "../../lib/applications/application.ts";
import { isoTime } from "../../lib/entitlements/time.ts";
import { accountId, customerId } from "../../lib/identifiers.ts";
import { createRetellTable } from "../../lib/table/telling/looks.ts";
import { OperatorError } from "../operator-error.ts";
import { counted, timeOrNull } from "../text/answer.ts";
import { ACTING, recordAct } from "./acting.ts";
import { APPLICATION } from "./arguments.ts";
import { command, optional } from "./command.ts";

const AFTER = optional("--after <position>", "go on after the position that an interrupted run has shown");

/** @throws OperatorError if the text is no position */
const readAfter = <Position>(
  text: string | undefined,
  read: (text: string) => Position | null,
): Position | null => {
  if (text === undefined) return null;
  const position = read(text);
  if (position === null)
    throw new OperatorError("--after takes the position that an interrupted run has shown.");
  return position;
};

/** For the audit. */
const interruptedText = (after: unknown): string => (after === null ? "" : ", after an interruption");

const scanText = <Position>(
  counts: string,
  { position, part }: Scan<Position>,
  positionText: (position: Position) => string,
): string =>
  [
    counts,
    ...(part === null ? [] : [`about ${Math.floor(part * 100)} % of the table`]),
    ...(position === null ? [] : [`if this is interrupted, go on with --after ${positionText(position)}`]),
  ].join("; ");

const customerPositionText = ({ customer, scanned }: ScanPosition): string => `${customer}:${scanned}`;

const readCustomerPosition = (text: string): ScanPosition | null => {
  const [, customer = "", scanned] = /^([0-9a-f-]{36}):(\d{1,15})$/i.exec(text) ?? [];
  return scanned === undefined ? null : { customer: customerId(customer), scanned: Number(scanned) };
};

export const reproject = command({
  name: "application reproject",
  about: "recompute every customer's holdings from its purchases, after the catalog maps more products",
  takes: { application: APPLICATION },
  options: { ...ACTING, after: AFTER },
  run: async ({ session, application, options, progress }) => {
    const after = readAfter(options.after, readCustomerPosition);
    await recordAct(session, application.identifier, options, "reproject", {
      what: [`begun: the holdings of every customer are recomputed${interruptedText(after)}`],
    });
    const { customers, changed } = await reprojectApplication(
      session.operations,
      application,
      after,
      (done) =>
        progress(
          scanText(
            `${counted(done.customers, "customer")}, ${done.changed} changed`,
            done,
            customerPositionText,
          ),
        ),
    );
    return {
      json: { applicationIdentifier: application.identifier, customers, changed },
      text: `${counted(customers, "customer")} of ${application.name}, ${changed} changed.`,
    };
  },
});

/** Encoded, because an account may contain any characters. */
const accountPositionText = ({ account, customer, scanned }: AccountPosition): string =>
  Buffer.from(JSON.stringify([account, customer, scanned])).toString("base64url");

const positionShape = z.tuple([z.string().min(1), z.uuid(), z.int().min(0)]);

const readAccountPosition = (text: string): AccountPosition | null => {
  try {
    const written: unknown = JSON.parse(Buffer.from(text, "base64url").toString());
    const [account, customer, scanned] = positionShape.parse(written);
    return { account: accountId(account), customer: customerId(customer), scanned };
  } catch {
    return null;
  }
};

export const retell = command({
  name: "application retell",
  about: "deliver every account's changes now, after the catalog or the destinations changed",
  takes: { application: APPLICATION },
  options: { ...ACTING, after: AFTER },
  run: async ({ session, application, options, progress }) => {
    const after = readAfter(options.after, readAccountPosition);
    const { identifier, name } = application;
    if (!tellsChanges(application))
      throw new OperatorError(
        `Changes of ${name} are not published: give it a destination, or keepsChanges: true, in its manifest.`,
      );
    await recordAct(session, identifier, options, "retell", {
      what: [`begun: every account is looked at${interruptedText(after)}`],
    });
    const table = createRetellTable(session.table);
    const { accounts, until } = await retellApplication(table, identifier, after, session.now, (done) =>
      progress(scanText(counted(done.accounts, "account"), done, accountPositionText)),
    );
    return {
      json: { applicationIdentifier: identifier, accounts, lookedAtUntil: timeOrNull(until) },
      text:
        until === null
          ? `No account of ${name} has a customer.`
          : `${counted(accounts, "account")} of ${name} queued. Changes are delivered from a minute from now until ${isoTime(until)}.`,
    };
  },
});
