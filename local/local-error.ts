/** Reason why the local service cannot run, in one sentence that says what to do. */
export class LocalError extends Error {
  override readonly name: string = "LocalError";
}
