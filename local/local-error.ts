/** Why the local service cannot run, in one sentence that says what to do. */
export class LocalError extends Error {
  override readonly name: string = "LocalError";
}

/** An error's code, such as `EEXIST`; its text where it has none. */
export const codeOf = (error: unknown): string =>
  typeof error === "object" && error !== null && "code" in error ? String(error.code) : String(error);
