import { readFile } from "node:fs/promises";
import { MalformedItemError, TableFormatError } from "../lib/table/dynamodb/table.ts";

/** Reason why a command cannot be done, in a sentence for the operator. */
export class OperatorError extends Error {
  override readonly name = "OperatorError";
}

const UNREACHABLE = new Set([
  "ECONNREFUSED",
  "ECONNRESET",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "ENOTFOUND",
  "EAI_AGAIN",
  "ETIMEDOUT",
]);
const REFUSED_CREDENTIALS = new Set([
  "UnrecognizedClientException",
  "InvalidSignatureException",
  "InvalidAccessKeyIdException",
  "ExpiredTokenException",
  "MissingAuthenticationTokenException",
]);

const isUnreachable = (error: Error): boolean =>
  error.name === "TimeoutError" ||
  ("code" in error && UNREACHABLE.has(String(error.code))) ||
  (error instanceof AggregateError &&
    error.errors.some((inner) => inner instanceof Error && isUnreachable(inner)));

/** @param where the table's endpoint or AWS region */
export const sentenceOf = (
  error: unknown,
  { table, where }: { readonly table: string; readonly where: string },
): string => {
  if (!(error instanceof Error)) return `The command failed: ${String(error)}`;
  if (error instanceof MalformedItemError) return error.toSentence();
  if (error instanceof OperatorError || error instanceof TableFormatError) return error.message;
  if (isUnreachable(error)) return `DynamoDB does not answer at ${where}.`;
  if (error.name === "ResourceNotFoundException")
    return `There is no table ${table} at ${where}: deploy the service first, or name its table with --table or TABLE_NAME.`;
  if (error.name === "CredentialsProviderError")
    return "There are no AWS credentials in this shell: log in, or set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.";
  if (REFUSED_CREDENTIALS.has(error.name))
    return "AWS does not accept the credentials of this shell: they are unknown, wrong or expired.";
  if (error.name === "AccessDeniedException")
    return `The AWS credentials of this shell do not give access to the table ${table} at ${where}.`;
  const [sentence = ""] = error.message.split("\n");
  return `The command failed: ${error.name}: ${sentence}`;
};

const PROBLEMS: Readonly<Record<string, string>> = {
  ENOENT: "does not exist",
  EISDIR: "is a folder",
  EACCES: "may not be read",
  ERR_ENCODING_INVALID_ENCODED_DATA: "is not UTF-8 text",
};

export const cannotRead = (file: string, cause: unknown): OperatorError => {
  const code = cause instanceof Error && "code" in cause ? String(cause.code) : "unknown";
  return new OperatorError(`The file ${file} ${PROBLEMS[code] ?? `cannot be read (${code})`}.`, { cause });
};

/** @throws OperatorError if the file cannot be read, or is not text */
export const readTextFile = async (file: string): Promise<string> => {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(await readFile(file));
  } catch (error) {
    throw cannotRead(file, error);
  }
};
