import { MINUTE } from "../duration.ts";

/** Text of a secret; null where it does not exist or may not be read. Rejects where the lookup itself fails. */
export type ReadSecret = (name: string) => Promise<string | null>;

/** The operator's credential for a store cannot be used, for a one-word reason. No `cause`: it would quote the credential. */
export class UnusableCredentialError extends Error {
  readonly reason: string;

  constructor(reason: string) {
    super(`The credential of the store cannot be used: ${reason}.`);
    this.name = "UnusableCredentialError";
    this.reason = reason;
  }
}

/** The credential could not be read; a retry may succeed. No `cause`: it could quote the secret's name. */
export class CredentialUnavailableError extends Error {
  constructor() {
    super("The credential of the store could not be read.");
    this.name = "CredentialUnavailableError";
  }
}

export interface FromSecret<Made> {
  readonly text: string;
  readonly made: Made;
}

/** A secret is read again at this age, so that a rotated key is picked up within this time. */
export const SECRET_CACHE = { maximumAgeMilliseconds: 5 * MINUTE, maximumEntries: 100 } as const;

/**
 * Reads a secret, and keeps what was made of it before if its text is unchanged.
 *
 * @throws UnusableCredentialError, CredentialUnavailableError
 */
export const loadFromSecret = async <Made>(
  readSecret: ReadSecret,
  name: string,
  before: FromSecret<Made> | null | undefined,
  make: (text: string) => Made,
): Promise<FromSecret<Made>> => {
  const text = await readSecret(name).catch(() => {
    throw new CredentialUnavailableError();
  });
  if (text === null) throw new UnusableCredentialError("secretIsUnreadable");
  return before?.text === text ? before : { text, made: make(text) };
};
