import { ServiceError } from "../contract/errors.ts";
import type { UnansweredLookUp } from "../stores/android-store/android-store.ts";
import { isTransient } from "../stores/android-store/failure.ts";

/** HTTP status of an answer that arrived, whether or not it can be parsed. */
const ANSWERED = 200;

/** Whether an answer arrived that cannot be parsed: a fault of this one purchase, which may be permanent. */
export const isUnreadable = ({ status }: UnansweredLookUp): boolean => status === ANSWERED;

/**
 * Whether the fault may be this one purchase's and permanent: its answer cannot be parsed, or refuses the request for a
 * reason that is unknown here. Without a reason, it may be a proxy's own answer.
 */
export const isOfThisPurchase = (answer: UnansweredLookUp): boolean => {
  if (isUnreadable(answer)) return true;
  const { outcome, status, reason } = answer;
  return (
    outcome === "unavailable" &&
    status !== null &&
    status >= 400 &&
    reason !== null &&
    !isTransient({ status, reason })
  );
};

/** A look-up without a result: the Android store did not answer, or refused the credential. Fails the request. */
export class UnansweredLookUpError extends ServiceError {
  readonly answer: UnansweredLookUp;

  constructor(answer: UnansweredLookUp) {
    if (answer.outcome === "unavailable")
      super("STORE_UNAVAILABLE", { retryAfterSeconds: answer.retryAfterSeconds });
    else super("STORE_REJECTED_CREDENTIAL");
    this.answer = answer;
  }
}
