import * as z from "zod";
import { retellApplication, type AccountPosition } from "../../lib/administration/acts/retell.ts";
import { tellsChanges } from "../../lib/applications/application.ts";
import { isoTime } from "../../lib/entitlements/time.ts";
import { accountId, customerId } from "../../lib/identifiers.ts";
import { pause } from "../../lib/pause.ts";
import { createRetellTable } from "../../lib/table/telling/retell.ts";
import { OperatorError } from "../operator-error.ts";
import { counted, timeOrNull } from "../text/answer.ts";
import { ACTING, recordAct } from "./acting.ts";
import { APPLICATION } from "./arguments.ts";
import { command } from "./command.ts";
import { AFTER, interruptedText, readAfter, scanText } from "./scan.ts";

/** Encoded, because an account may contain any characters. */
const positionText = ({ account, customer, scanned }: AccountPosition): string =>
  Buffer.from(JSON.stringify([account, customer, scanned])).toString("base64url");

const positionShape = z.tuple([z.string().min(1), z.uuid(), z.int().min(0)]);

const readPosition = (text: string): AccountPosition | null => {
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
    const after = readAfter(options.after, readPosition);
    const { identifier, name } = application;
    if (!tellsChanges(application))
      throw new OperatorError(
        `Changes of ${name} are not published: give it a destination, or keepsChanges: true, in its manifest.`,
      );
    await recordAct(session, identifier, options, "retell", {
      what: [`begun: every account is looked at${interruptedText(after)}`],
    });
    const table = createRetellTable(session.table, pause);
    const { accounts, until } = await retellApplication(table, identifier, after, session.now, (done) =>
      progress(scanText(counted(done.accounts, "account"), done, positionText)),
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
