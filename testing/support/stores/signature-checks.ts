import {
  checkSignature,
  type CheckKind,
  type SignatureCheck,
} from "../../../lib/stores/ios-store/signatures/jws.ts";

/** The real check, and the number of checks of each kind so far. */
export const watchChecks = () => {
  const done: Record<CheckKind, number> = { first: 0, alone: 0, together: 0 };
  const checks: SignatureCheck = (kind, jws, key) => {
    done[kind] += 1;
    return checkSignature(kind, jws, key);
  };
  return { checks, done };
};
