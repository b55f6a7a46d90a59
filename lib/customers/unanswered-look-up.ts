import { ServiceError } from "../contract/errors.ts";
import type { UnansweredLookUp } from "../stores/android-store/android-store.ts";

/** HTTP status of an answer that came, whether or not it can be parsed. */
const ANSWERED = 200;

/** Whether the store's answer came and cannot be parsed: a fault of this one purchase, which may stay. */
export const isUnreadable = ({ status }: UnansweredLookUp): boolean => status === ANSWERED;

/** A look-up that gave no purchase: the Android store did not answer, or refused the credential. Fails the request. */
export class UnansweredLookUpError extends ServiceError {
  readonly answer: UnansweredLookUp;

  constructor(answer: UnansweredLookUp) {
    if (answer.outcome === "unavailable")
      super("STORE_UNAVAILABLE", { retryAfterSeconds: answer.retryAfterSeconds });
    else super("STORE_REJECTED_CREDENTIAL");
    this.answer = answer;
  }
}
