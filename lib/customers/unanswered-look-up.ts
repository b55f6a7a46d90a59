import { ServiceError } from "../contract/errors.ts";
import type { UnansweredLookUp } from "../stores/android-store/android-store.ts";

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
