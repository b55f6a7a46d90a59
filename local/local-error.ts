/** What keeps the local service from running, in one sentence that says what to do. */
export class LocalError extends Error {
  override readonly name: string = "LocalError";
}
