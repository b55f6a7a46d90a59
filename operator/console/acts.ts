import * as z from "zod";
import { SCOPES, STORES } from "../../lib/contract/schemas.ts";
import type { ActingOptions, DestructiveOptions } from "../commands/acting.ts";
import { eraseAccount, unlinkAccount } from "../commands/account.ts";
import type { Answer } from "../text/answer.ts";
import type { Confirmation } from "../commands/confirmation.ts";
import { issueApiKey, revokeCredential } from "../commands/credential.ts";
import { eraseCustomer, unlinkCustomer } from "../commands/customer.ts";
import { resumeDestination, rotateDestination } from "../commands/destination.ts";
import { refreshApplication, refreshCustomer } from "../commands/refresh.ts";
import { resend } from "../commands/resend.ts";
import { retell } from "../commands/retell.ts";
import type { Session } from "../session.ts";

const text = z.string().max(4096);
const acting = { by: text.optional() };
const destructive = { ...acting, reason: text };

const of = <Name extends string, Fields extends z.ZodRawShape>(act: Name, fields: Fields) =>
  z.strictObject({ act: z.literal(act), application: text, ...fields });

/** Acts of the page: commands of the command line, by their names and options. */
const act = z.discriminatedUnion("act", [
  // An empty account would turn a move into an unlink.
  of("customer unlink", { ...destructive, customer: text, to: text.min(1).optional() }),
  of("customer erase", { ...destructive, customer: text }),
  of("customer refresh", { ...acting, customer: text }),
  of("account unlink", { ...destructive, account: text }),
  of("account erase", { ...destructive, account: text }),
  of("application refresh", { ...acting, store: z.enum(STORES).optional() }),
  of("application retell", acting),
  of("credential issue", {
    ...acting,
    scope: z.array(z.enum(SCOPES)).min(1),
    expires: text.optional(),
    label: text.optional(),
  }),
  of("credential revoke", { ...acting, keyIdentifier: text }),
  of("destination rotate", { ...acting, name: text }),
  of("destination resume", { ...acting, name: text }),
  of("destination resend", { ...acting, name: text, since: text }),
]);

export const actRequest = z.strictObject({
  act,
  /** The question that was shown and confirmed; unset: none was shown yet. */
  confirmed: z.string().max(4096).optional(),
});
export type ActRequest = z.output<typeof actRequest>;

export type ActOutcome =
  | { readonly outcome: "asked"; readonly question: string }
  | { readonly outcome: "done"; readonly text: string; readonly progress: readonly string[] };

/** Ends a command at its question, which is still to be confirmed. */
class Unanswered extends Error {
  readonly question: string;
  constructor(question: string) {
    super(question);
    this.question = question;
  }
}

const perform = async (
  session: Session,
  confirmation: Confirmation,
  asked: ActRequest["act"],
): Promise<Answer> => {
  const { application } = asked;
  const actor: ActingOptions = asked.by ? { by: asked.by } : {};
  const authority = (reason: string): DestructiveOptions => ({ ...actor, reason });
  switch (asked.act) {
    case "customer unlink": {
      const to = asked.to ? { to: asked.to } : {};
      const options = { ...authority(asked.reason), ...to };
      return unlinkCustomer(session, confirmation, application, asked.customer, options);
    }
    case "customer erase":
      return eraseCustomer(session, confirmation, application, asked.customer, authority(asked.reason));
    case "customer refresh":
      return refreshCustomer(session, confirmation, application, asked.customer, { ...actor, wait: false });
    case "account unlink": {
      const options = { ...authority(asked.reason), assertedBy: "client" };
      return unlinkAccount(session, confirmation, application, asked.account, options);
    }
    case "account erase": {
      const options = authority(asked.reason);
      return eraseAccount(session, confirmation, application, asked.account, options);
    }
    case "application refresh":
      return refreshApplication(session, confirmation, application, {
        ...actor,
        ...(asked.store && { store: asked.store }),
      });
    case "application retell":
      return retell(session, confirmation, application, actor);
    case "credential issue": {
      const { scope, expires, label } = asked;
      const optional = { ...(expires && { expires }), ...(label && { label }) };
      return issueApiKey(session, { ...actor, ...optional, application, scope });
    }
    case "credential revoke":
      return revokeCredential(session, asked.keyIdentifier, { ...actor, application });
    case "destination rotate":
      return rotateDestination(session, confirmation, application, asked.name, actor);
    case "destination resume":
      return resumeDestination(session, confirmation, application, asked.name, actor);
    case "destination resend": {
      const options = { ...actor, since: asked.since };
      return resend(session, confirmation, application, asked.name, options);
    }
  }
};

/**
 * Runs a command as the command line does, with its checks, its audit and its question. A command that asks returns the
 * question and does nothing; repeated with that question as confirmed, it is done. If the question has changed
 * meanwhile, it is asked again, so that only what was shown is done.
 *
 * @throws OperatorError
 */
export const runAct = async (
  session: Session,
  { act: asked, confirmed }: ActRequest,
): Promise<ActOutcome> => {
  const progress: string[] = [];
  const confirmation: Confirmation = {
    // The command reports what it will do, and then asks.
    ask: async () => {
      const question = progress.pop() ?? "";
      if (question === confirmed) return true;
      throw new Unanswered(question);
    },
    progress: (line) => void progress.push(line),
  };
  try {
    const { text } = await perform(session, confirmation, asked);
    return { outcome: "done", text, progress };
  } catch (error) {
    if (error instanceof Unanswered) return { outcome: "asked", question: error.question };
    throw error;
  }
};
