import { onceLoaded } from "../../lib/once.ts";
import { requiredVariable } from "./configuration.ts";
import { readSecret } from "./secrets.ts";

const MASTER_SECRET = requiredVariable("MASTER_SECRET");

/** Named for the log, which has only errors' names; the runbook lists it. */
class MasterSecretError extends Error {
  override readonly name = "MasterSecretError";
}

/**
 * The secret from which those of destinations are derived. It never changes. A failed reading is repeated at the next call.
 *
 * @throws MasterSecretError where there is no such secret, or the function may not read it
 */
export const masterSecret = onceLoaded(async (): Promise<Uint8Array> => {
  const text = await readSecret(MASTER_SECRET);
  if (text === null)
    throw new MasterSecretError(`There is no secret ${MASTER_SECRET}, or this function may not read it.`);
  return new TextEncoder().encode(text);
});
