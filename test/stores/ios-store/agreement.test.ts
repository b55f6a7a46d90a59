import fc from "fast-check";
import { disagreement, type Agreeing } from "../../../lib/stores/ios-store/agreement.ts";
import { appTransactionIdentityOf } from "../../../lib/stores/ios-store/purchases.ts";
import {
  ACCOUNT,
  aVerifiedAppTransaction,
  aVerifiedRenewalInfo,
  aVerifiedTransaction,
} from "../../../testing/support/stores/ios-store.ts";
import { cases } from "../../../testing/support/proof.ts";

const OTHER = "704000000000002";
const appTransaction = aVerifiedAppTransaction();
const good = aVerifiedTransaction();

test.each([
  ["bundleIdentifier", { bundleIdentifier: "com.example.other" }],
  ["environment", { environment: "sandbox" }],
  ["appTransactionIdentifier", { appTransactionIdentifier: OTHER }],
] as const)("the payloads of one request must have the same %s", (field, difference) => {
  const bad = aVerifiedTransaction({ originalTransactionIdentifier: "9", ...difference });
  expect(disagreement(appTransaction, [good, good, bad, bad])).toEqual({ index: 2, field });
});

describe("the app transaction ids of one lineage", () => {
  const of = (lineage: string, appTransactionIdentifier: string | null) =>
    aVerifiedTransaction({ originalTransactionIdentifier: lineage, appTransactionIdentifier });
  const none = aVerifiedAppTransaction({ appTransactionIdentifier: null });
  const field = "appTransactionIdentifier";

  test("stand for its renewal infos, too", () => {
    const info = (lineage: string, value: string) =>
      aVerifiedRenewalInfo({ originalTransactionIdentifier: lineage, appTransactionIdentifier: value });
    expect(disagreement(appTransaction, [info("1", OTHER)], [of("1", ACCOUNT)])).toBeNull();
    expect(disagreement(appTransaction, [info("1", OTHER)], [of("1", null)])).toEqual({ index: 0, field });
    expect(disagreement(appTransaction, [info("1", ACCOUNT), info("2", OTHER)], [of("1", ACCOUNT)])).toEqual({
      index: 1,
      field,
    });
    expect(disagreement(none, [info("2", OTHER)], [of("1", ACCOUNT)])).toEqual({ index: 0, field });
  });
  test("name the app transaction's, or the lineages' common one, or nobody", () => {
    const named = (payloads: Parameters<typeof appTransactionIdentityOf>[0]) =>
      appTransactionIdentityOf(payloads)?.value ?? null;
    expect(named([appTransaction, of("1", OTHER), of("1", ACCOUNT)])).toBe(ACCOUNT);
    expect(named([none, of("1", OTHER), of("1", ACCOUNT), of("2", ACCOUNT)])).toBe(ACCOUNT);
    expect(named([none, of("1", OTHER), of("1", ACCOUNT)])).toBeNull();
    expect(named([none, of("1", null)])).toBeNull();
  });

  test("are compared as the rule says, in any order of lineages", () => {
    const payload = fc.record({
      originalTransactionIdentifier: fc.constantFrom("1", "2", "3"),
      appTransactionIdentifier: fc.constantFrom(null, ACCOUNT, OTHER),
    });
    fc.assert(
      fc.property(fc.constantFrom(null, ACCOUNT), fc.array(payload, { maxLength: 6 }), (own, fields) => {
        const first = aVerifiedAppTransaction({ appTransactionIdentifier: own });
        const payloads: readonly Agreeing[] = fields.map(aVerifiedTransaction);
        const lineages = [...Map.groupBy(fields, (one) => one.originalTransactionIdentifier).values()]
          .map((some) => some.flatMap((one) => one.appTransactionIdentifier ?? []))
          .filter((carried) => carried.length > 0);
        const isOnes = (value: string): boolean =>
          lineages.every((carried: readonly string[]) => carried.includes(value));
        const agrees = own === null ? lineages.length === 0 || [ACCOUNT, OTHER].some(isOnes) : isOnes(own);
        expect(disagreement(first, payloads) === null).toBe(agrees);
        expect(disagreement(first, payloads.toReversed()) === null).toBe(agrees);
      }),
      cases(500, 20_000),
    );
  });
});
