import * as z from "zod";
import type { Session } from "../session.ts";
import type { AsJson } from "../text/answer.ts";
import { actRequest, runAct } from "./acts.ts";
import { readAccount, readApplication, readCustomer, search } from "./reading.ts";

export interface ConsoleSession {
  readonly session: Session;
  /** The local run's sandbox; null: the table is deployed. */
  readonly sandbox: ConsoleSandbox | null;
}

/** Paths and key of a local run, for buying in its stores and linking. */
export interface ConsoleSandbox {
  readonly applicationIdentifier: string;
  readonly apiKey: string;
  readonly iosStorePath: string;
  readonly androidStorePath: string;
  readonly clockPath: string;
}

const call = <Input, Output>(
  input: z.ZodType<Input>,
  run: (context: ConsoleSession, input: Input) => Promise<Output>,
) => ({ input, run });

const text = z.string().max(4096);
const application = { application: text };

/** Calls of the page by name. Each is a POST of its input to `api/<name>` below the page's path. */
const CALLS = {
  start: call(z.strictObject({}), async ({ session, sandbox }) => ({
    table: session.table.name,
    applications: await session.applications.list(),
    sandbox,
  })),
  application: call(z.strictObject(application), async ({ session }, asked) =>
    readApplication(session, asked.application),
  ),
  account: call(
    z.strictObject({ ...application, account: text, page: z.int().positive().default(1) }),
    async ({ session }, asked) => readAccount(session, asked),
  ),
  customer: call(z.strictObject({ ...application, customer: text }), async ({ session }, asked) =>
    readCustomer(session, asked),
  ),
  search: call(z.strictObject({ ...application, text }), async ({ session }, asked) =>
    search(session, asked),
  ),
  act: call(actRequest, async ({ session }, asked) => runAct(session, asked)),
};

export type Calls = typeof CALLS;
export type CallName = keyof Calls;
export type CallInput<Name extends CallName> = z.input<Calls[Name]["input"]>;
/** As the page reads it. */
export type CallOutput<Name extends CallName> = AsJson<Awaited<ReturnType<Calls[Name]["run"]>>>;

const isCall = (name: string): name is CallName => Object.hasOwn(CALLS, name);

/** Status and body that a call is answered with. */
export const runCall = async (context: ConsoleSession, name: string, body: unknown) => {
  if (!isCall(name)) return { status: 404, body: { message: "There is no such call." } };
  const { input, run } = CALLS[name] as ReturnType<typeof call<unknown, unknown>>;
  const parsed = input.safeParse(body);
  return parsed.success
    ? { status: 200, body: { answer: await run(context, parsed.data) } }
    : { status: 400, body: { message: z.prettifyError(parsed.error) } };
};
