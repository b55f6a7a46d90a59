import type { ScanPosition } from "../../lib/administration/acts/operation-table.ts";
import { reprojectApplication } from "../../lib/administration/acts/reproject.ts";
import { customerId } from "../../lib/identifiers.ts";
import { counted } from "../text/answer.ts";
import { ACTING, recordAct } from "./acting.ts";
import { APPLICATION } from "./arguments.ts";
import { command } from "./command.ts";
import { AFTER, interruptedText, readAfter, scanText } from "./scan.ts";

const positionText = ({ customer, scanned }: ScanPosition): string => `${customer}:${scanned}`;

const readPosition = (text: string): ScanPosition | null => {
  const [, customer = "", scanned] = /^([0-9a-f-]{36}):(\d{1,15})$/i.exec(text) ?? [];
  return scanned === undefined ? null : { customer: customerId(customer), scanned: Number(scanned) };
};

export const reproject = command({
  name: "application reproject",
  about: "recompute every customer's holdings from its purchases, after the catalog maps more products",
  takes: { application: APPLICATION },
  options: { ...ACTING, after: AFTER },
  run: async ({ session, application, options, progress }) => {
    const after = readAfter(options.after, readPosition);
    await recordAct(session, application.identifier, options, "reproject", {
      what: [`begun: the holdings of every customer are recomputed${interruptedText(after)}`],
    });
    const { customers, changed } = await reprojectApplication(
      session.operations,
      application,
      after,
      (done) =>
        progress(
          scanText(`${counted(done.customers, "customer")}, ${done.changed} changed`, done, positionText),
        ),
    );
    return {
      json: { applicationIdentifier: application.identifier, customers, changed },
      text: `${counted(customers, "customer")} of ${application.name}, ${changed} changed.`,
    };
  },
});
