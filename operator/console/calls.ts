import * as z from "zod";
import { COMMANDS } from "../commands/all.ts";
import type { Command, Dialogue } from "../commands/command.ts";
import type { Session } from "../session.ts";
import { type AsJson, linesText } from "../text/answer.ts";
import { readAccount, readApplication, readCustomer, search } from "./reading.ts";

const text = z.string().max(4096);

const ACTS = [
  "customer unlink",
  "customer erase",
  "customer refresh",
  "account unlink",
  "account erase",
  "application refresh",
  "application retell",
  "credential issue",
  "credential revoke",
  "destination rotate",
  "destination resume",
  "destination resend",
] as const;

const commandOf = (name: (typeof ACTS)[number]): Command => {
  const command = COMMANDS.find((one) => one.name === name);
  if (command === undefined) throw new Error(`There is no command ${name}.`);
  return command;
};

/** A command as the page offers it. Its fields are the options that take a text. */
const shown = (name: (typeof ACTS)[number]) => {
  const { about, options } = commandOf(name);
  const fields = Object.entries(options).flatMap(([name, { option }]) =>
    option.required
      ? [
          {
            name,
            label: option.description,
            isRequired: option.mandatory,
            isList: option.parseArg !== undefined,
          },
        ]
      : [],
  );
  return { name, about, fields };
};

/** A command with its arguments and options by name, and the question that was shown and confirmed. */
const actRequest = z.strictObject({
  act: z.object({ act: z.enum(ACTS) }).catchall(z.union([text, z.array(text)])),
  confirmed: text.optional(),
});
export type ActRequest = z.output<typeof actRequest>;

/** Ends a command at its question, which is still to be confirmed. */
class Unanswered extends Error {}

/**
 * Runs a command as the command line does, with its checks and its audit. A command that asks returns its question and
 * does nothing; repeated with that question as confirmed, it is done. A question that has changed meanwhile is asked
 * again, so that only what was shown is done.
 */
const runAct = async (session: Session, { act: { act: name, ...texts }, confirmed }: ActRequest) => {
  const progress: string[] = [];
  const dialogue: Dialogue = {
    confirm: async (question) => {
      if (question !== confirmed) throw new Unanswered(question);
    },
    progress: (line) => void progress.push(line),
    terminal: null,
  };
  try {
    const { text } = await commandOf(name).run(dialogue, texts, (run) => run(session));
    return { outcome: "done" as const, text: linesText(text), progress };
  } catch (error) {
    if (error instanceof Unanswered) return { outcome: "asked" as const, question: error.message };
    throw error;
  }
};

/** Paths and key of a local run, for buying in its stores and linking. */
export interface ConsoleSandbox {
  readonly applicationIdentifier: string;
  readonly apiKey: string;
  readonly iosStorePath: string;
  readonly androidStorePath: string;
  readonly clockPath: string;
  /** Changes of a purchase in each store, each with its meaning. */
  readonly changes: Readonly<Record<"ios-store" | "android-store", Readonly<Record<string, string>>>>;
}

const call = <Input, Output>(
  input: z.ZodType<Input>,
  run: (session: Session, input: Input, sandbox: ConsoleSandbox | null) => Promise<Output>,
) => ({ input, run });

const application = { application: text };

/** Calls of the page by name. Each is a POST of its input to `api/<name>` below the page's path. */
const CALLS = {
  start: call(z.strictObject({}), async ({ store, applications }, _, sandbox) => ({
    table: store.name,
    applications: await applications.list(),
    sandbox,
    acts: ACTS.map(shown),
  })),
  application: call(z.strictObject(application), readApplication),
  account: call(
    z.strictObject({ ...application, account: text, page: z.int().positive().default(1) }),
    readAccount,
  ),
  customer: call(z.strictObject({ ...application, customer: text }), readCustomer),
  search: call(z.strictObject({ ...application, text }), search),
  act: call(actRequest, runAct),
};

type Calls = typeof CALLS;
export type CallName = keyof Calls;
export type CallInput<Name extends CallName> = z.input<Calls[Name]["input"]>;
export type CallOutput<Name extends CallName> = AsJson<Awaited<ReturnType<Calls[Name]["run"]>>>;

const isCall = (name: string): name is CallName => Object.hasOwn(CALLS, name);

/** Status and body that a call is answered with. */
export const runCall = async (
  session: Session,
  sandbox: ConsoleSandbox | null,
  name: string,
  body: unknown,
) => {
  if (!isCall(name)) return { status: 404, body: { message: "There is no such call." } };
  const { input, run } = CALLS[name] as ReturnType<typeof call<unknown, unknown>>;
  const parsed = input.safeParse(body);
  return parsed.success
    ? { status: 200, body: { answer: await run(session, parsed.data, sandbox) } }
    : { status: 400, body: { message: z.prettifyError(parsed.error) } };
};
