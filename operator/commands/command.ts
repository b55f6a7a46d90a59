import { Option } from "commander";
import * as z from "zod";
import type { Application, Destination } from "../../lib/applications/application.ts";
import { accountIdentifier } from "../../lib/contract/schemas.ts";
import type { Instant } from "../../lib/entitlements/time.ts";
import {
  type AccountId,
  accountId,
  applicationId,
  type ApplicationId,
  customerId,
  type CustomerId,
} from "../../lib/identifiers.ts";
import { OperatorError } from "../operator-error.ts";
import type { Session } from "../session.ts";
import type { Answer } from "../text/answer.ts";

export interface Dialogue {
  readonly confirm: (what: string) => Promise<void>;
  readonly progress: (line: string) => void;
  /** A terminal, whose last line is overwritten; null: there is none. */
  readonly terminal: ((text: string) => void) | null;
}

export interface Context extends Dialogue {
  readonly session: Session;
}

type Connected = (act: (session: Session) => Promise<Answer>) => Promise<Answer>;

/** `given` comes from the command line, or from the console's page. */
export interface Argument<Value> {
  readonly name: string;
  readonly about: string;
  /** @throws OperatorError */
  readonly read: (given: unknown, session: Session) => Value | Promise<Value>;
}

interface Choice<Value> {
  readonly option: Option;
  /** @throws OperatorError */
  readonly read: (given: unknown) => Value;
}

const isText = (given: unknown): given is string => typeof given === "string";

/** An absent argument is empty text, which each reader refuses. */
export const argument = <Value>(
  name: string,
  about: string,
  read: (text: string, session: Session) => Value | Promise<Value>,
): Argument<Value> => ({
  name,
  about,
  read: (given, session) => read(isText(given) ? given : "", session),
});

/** Reads an option's text. @throws OperatorError that begins with the option's name */
type Read<Value> = (text: string, name: string) => Value;

export const asText: Read<string> = (text) => text;

export const oneOf =
  <Word extends string>(words: readonly Word[]): Read<Word> =>
  (text, name) => {
    const word = words.find((one) => one === text);
    if (word === undefined) throw new OperatorError(`${name} must be ${words.join(" or ")}.`);
    return word;
  };

export const numberFrom =
  (least: number, most: number): Read<number> =>
  (text, name) => {
    const number = Number(text);
    if (!/^\d+(?:\.\d+)?$/.test(text) || number < least || number > most)
      throw new OperatorError(`${name} must be a number from ${least} to ${most}.`);
    return number;
  };

/** Null where it is not given. */
export const optional = <Value>(flags: string, about: string, read: Read<Value>): Choice<Value | null> => {
  const option = new Option(flags, about);
  return { option, read: (given) => (isText(given) ? read(given, option.long ?? "") : null) };
};

/** @param preset text where none is given; unset: the option must be given */
export const required = <Value>(
  flags: string,
  about: string,
  read: Read<Value>,
  preset?: string,
): Choice<Value> => {
  const option = new Option(flags, about);
  return {
    option: preset === undefined ? option.makeOptionMandatory() : option.default(preset),
    read: (given) => {
      const text = isText(given) ? given : preset;
      if (text === undefined) throw new OperatorError(`${option.long} is required.`);
      return read(text, option.long ?? "");
    },
  };
};

export const repeated = <Value>(
  flags: string,
  about: string,
  read: (texts: readonly string[]) => Value,
): Choice<Value> => ({
  option: new Option(flags, `${about}; may be repeated`).argParser(
    (value, values: readonly string[] = []) => [...values, value],
  ),
  read: (given) => read([given].flat().filter(isText)),
});

export const flag = (flags: string, about: string): Choice<boolean> => ({
  option: new Option(flags, about),
  read: (given) => given === true,
});

type Arguments = Readonly<Record<string, Argument<unknown>>>;
type Choices = Readonly<Record<string, Choice<unknown>>>;
export type ValuesOf<Readers extends Arguments | Choices> = {
  readonly [Name in keyof Readers]: Awaited<ReturnType<Readers[Name]["read"]>>;
};
type Texts = Readonly<Record<string, unknown>>;

interface Definition<Takes extends Arguments, Has extends Choices> {
  /** Group and verb, such as `customer show`. */
  readonly name: string;
  readonly about: string;
  readonly takes: Takes;
  readonly options: Has;
  readonly run: (asked: Context & ValuesOf<Takes> & { readonly options: ValuesOf<Has> }) => Promise<Answer>;
}

export interface Command extends Omit<Definition<Arguments, Choices>, "run"> {
  readonly run: (dialogue: Dialogue, texts: Texts, connected: Connected) => Promise<Answer>;
}

export const optionsIn = <Has extends Choices>(choices: Has, texts: Texts): ValuesOf<Has> =>
  Object.fromEntries(
    Object.entries(choices).map(([name, { read }]) => [name, read(texts[name])]),
  ) as ValuesOf<Has>;

/** Defines a command of the program, which the console may run too. */
export const command = <Takes extends Arguments, Has extends Choices>({
  run,
  ...definition
}: Definition<Takes, Has>): Command => ({
  ...definition,
  run: async (dialogue, texts, connected) =>
    connected(async (session) => {
      const options = optionsIn(definition.options, texts);
      const values: [string, unknown][] = [];
      // The application comes first and is read last: it alone is looked up.
      for (const [name, { read }] of Object.entries(definition.takes).toReversed())
        values.push([name, await read(texts[name], session)]);
      const taken = Object.fromEntries(values) as ValuesOf<Takes>;
      return run({ ...dialogue, session, ...taken, options });
    }),
});

export const readApplicationIdentifier = (text: string): ApplicationId => {
  if (!z.uuid().safeParse(text).success)
    throw new OperatorError(
      "An application's identifier must be a UUID: application list shows all, and application find <bundle or package> that of one.",
    );
  return applicationId(text.toLowerCase());
};

export const readCustomerIdentifier = (text: string): CustomerId => {
  if (!z.uuid().safeParse(text).success) throw new OperatorError("A customer's identifier must be a UUID.");
  return customerId(text.toLowerCase());
};

export const readAccountIdentifier = (text: string): AccountId => {
  const account = accountIdentifier().safeParse(text);
  if (account.success) return accountId(account.data);
  throw new OperatorError(
    `An account's identifier ${account.error.issues[0]?.message ?? "is of another form"}.`,
  );
};

export const findApplication = async (
  text: string,
  { applications, store }: Session,
): Promise<Application> => {
  const identifier = readApplicationIdentifier(text);
  const application = await applications.load(identifier);
  if (application === null)
    throw new OperatorError(`There is no application ${identifier} in the table ${store.name}.`);
  return application;
};

export const findDestination = ({ name: of, destinations }: Application, name: string): Destination => {
  const destination = destinations.find((one) => one.name === name);
  if (destination !== undefined) return destination;
  const names = destinations.map((one) => one.name).join(", ");
  throw new OperatorError(
    `${of} has no destination ${name}: ${names === "" ? "it has none" : `it has ${names}`}.`,
  );
};

/** Time in ISO 8601; null: the text is none. */
export const readTime = (text: string): Instant | null =>
  z.iso.datetime({ offset: true }).safeParse(text).success ? Date.parse(text) : null;

export const APPLICATION = argument("<application>", "the application's identifier", findApplication);

export const APPLICATION_OPTION = required(
  "--application <identifier>",
  "the application's identifier",
  readApplicationIdentifier,
);

export const ACCOUNT = argument(
  "<account>",
  "the account's identifier, as the application gives it",
  readAccountIdentifier,
);

export const CUSTOMER = argument("<customer>", "the customer's identifier", readCustomerIdentifier);

export const text = (name: string, about: string): Argument<string> =>
  argument(name, about, (given) => given);

export const DESTINATION = text("<name>", "the destination's name in the manifest");
