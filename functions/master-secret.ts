import { requiredVariable } from "./configuration.ts";
import { readSecret } from "./secrets.ts";

const MASTER_SECRET = requiredVariable("MASTER_SECRET");

/** Errors are logged by their names alone: this one's leads to the runbook. */
export class MasterSecretError extends Error {
  override readonly name = "MasterSecretError";
}

let reading: Promise<Uint8Array> | undefined;

const read = async (name: string): Promise<Uint8Array> => {
  const text = await readSecret(name);
  if (text === null)
    throw new MasterSecretError(`There is no secret ${name}, or this function may not read it.`);
  return new TextEncoder().encode(text);
};

/**
 * The service's master secret, from which destinations' secrets are derived. It never changes. A failed reading is
 * repeated at the next call.
 *
 * @throws MasterSecretError where there is no such secret, or the function may not read it
 */
export const masterSecret = async (): Promise<Uint8Array> => {
  reading ??= read(MASTER_SECRET).catch((error: unknown) => {
    reading = undefined;
    throw error;
  });
  return reading;
};
