import { userInfo } from "node:os";
import type { Authority } from "../lib/administration/operations.ts";
import { ERASURE_BLOCKS_MILLISECONDS } from "../lib/customers/bury-remains.ts";
import type { ConfirmationOptions } from "./confirmation.ts";
import { OperatorError } from "./operator-error.ts";

/** Options of every command that takes something away: who runs it, and why. */
export interface DestructiveOptions extends ConfirmationOptions {
  readonly reason: string;
  readonly by?: string;
}

const TEXT_CHARACTERS = 256;

const readText = (name: string, text: string): string => {
  if (text === "" || [...text].length > TEXT_CHARACTERS || /\p{Cc}/u.test(text))
    throw new OperatorError(`${name} has 1 to ${TEXT_CHARACTERS} characters, and no control characters.`);
  return text;
};

/** @throws OperatorError if the reason or the name is not valid for the audit */
export const authorityOf = ({ reason, by }: DestructiveOptions): Authority => ({
  reason: readText("--reason", reason),
  by: readText("--by", by ?? userInfo().username),
});

/** Days for which an erased customer's identities and purchases are refused. */
export const TOMBSTONE_DAYS = ERASURE_BLOCKS_MILLISECONDS / (24 * 3600 * 1000);
