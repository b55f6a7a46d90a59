import * as z from "zod/mini";
import type { CallInput, CallName, CallOutput } from "../operator/console/calls.ts";

export type Answer<Name extends CallName> = CallOutput<Name>;

const refusal = z.object({ message: z.string() });

/** JSON of the answer. Rejects with the server's sentence. */
const answered = async (response: Response): Promise<unknown> => {
  if (response.ok) return response.json();
  const text = await response.text();
  let message = text;
  try {
    message = refusal.parse(JSON.parse(text)).message;
  } catch {
    // The text is the sentence.
  }
  throw new Error(message || `The server answered ${response.status}.`);
};

export const sentenceOf = (error: unknown): string =>
  error instanceof Error ? error.message : String(error);

export const post = async (
  path: string,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): Promise<unknown> =>
  answered(
    await fetch(path, {
      method: "POST",
      headers: { "Content-Type": "application/json", ...headers },
      body: JSON.stringify(body),
    }),
  );

export const get = async (path: string): Promise<unknown> => answered(await fetch(path));

/** Calls the console's server by the call's name; `warnings` are the command's, such as that the audit has no name. */
export const callWithWarnings = async <Name extends CallName>(name: Name, input: CallInput<Name>) =>
  // The server's own answer: both are built from one source.
  (await post(`api/${name}`, input)) as {
    readonly answer: Answer<Name>;
    readonly warnings: readonly string[];
  };

export const call = async <Name extends CallName>(
  name: Name,
  input: CallInput<Name>,
): Promise<Answer<Name>> => (await callWithWarnings(name, input)).answer;
