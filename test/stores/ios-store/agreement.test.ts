import { disagreement } from "../../../lib/stores/ios-store/agreement.ts";
import { ACCOUNT, aVerifiedAppTransaction, aVerifiedTransaction } from "../../support/ios-store.ts";

const OTHER = "704000000000002";
const appTransaction = aVerifiedAppTransaction();
const good = aVerifiedTransaction();

describe("the payloads of one request", () => {
  test("agree", () => {
    expect(disagreement(appTransaction, [])).toBeNull();
    expect(disagreement(appTransaction, [good, good])).toBeNull();
  });
  test.each([
    ["bundleIdentifier", { bundleIdentifier: "com.example.other" }],
    ["environment", { environment: "sandbox" }],
    ["environment", { environment: "xcode" }],
    ["appTransactionIdentifier", { appTransactionIdentifier: OTHER }],
  ] as const)("must have the same %s", (field, difference) => {
    const bad = aVerifiedTransaction(difference);
    expect(disagreement(appTransaction, [good, good, bad, bad])).toEqual({ index: 2, field });
  });
  test("must have one environment, whichever it is", () => {
    for (const environment of ["production", "sandbox", "xcode"] as const)
      for (const other of ["production", "sandbox", "xcode"] as const)
        expect(
          disagreement(aVerifiedAppTransaction({ environment }), [
            aVerifiedTransaction({ environment: other }),
          ]) === null,
        ).toBe(environment === other);
  });
  test("may include transactions from before app transaction ids", () => {
    const old = aVerifiedTransaction({ appTransactionIdentifier: null });
    expect(disagreement(appTransaction, [old, good, old])).toBeNull();
    expect(disagreement(aVerifiedAppTransaction({ appTransactionIdentifier: null }), [old, good])).toBeNull();
  });
  test("must agree with each other when the app transaction has no id", () => {
    const old = aVerifiedAppTransaction({ appTransactionIdentifier: null });
    const other = aVerifiedTransaction({ appTransactionIdentifier: OTHER });
    expect(good.appTransactionIdentifier).toBe(ACCOUNT);
    expect(disagreement(old, [good, other])).toEqual({ index: 1, field: "appTransactionIdentifier" });
  });
});
