import fc from "fast-check";
import { disagreement, type Agreeing } from "../../../lib/stores/ios-store/claims.ts";
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
const none = aVerifiedAppTransaction({ appTransactionId: null });
const good = aVerifiedTransaction();
const of = (originalTransactionId: string, appTransactionId: string | null) =>
  aVerifiedTransaction({ originalTransactionId, appTransactionId });
const info = (originalTransactionId: string, appTransactionId: string) =>
  aVerifiedRenewalInfo({ originalTransactionId, appTransactionId });

test.each([
  ["bundleId", { bundleId: "com.example.other" }],
  ["environment", { environment: "sandbox" }],
  ["appTransactionId", { appTransactionId: OTHER }],
] as const)("the payloads of one request must have the same %s", (field, difference) => {
  const bad = aVerifiedTransaction({ originalTransactionId: "9", ...difference });
  expect(disagreement(appTransaction, [good, good, bad, bad])).toEqual({ index: 2, field });
});

test.each([
  ["one of its transactions has it", appTransaction, [info("1", OTHER)], of("1", ACCOUNT), null],
  ["none of them has an id", appTransaction, [info("1", OTHER)], of("1", null), 0],
  ["none is of its lineage", appTransaction, [info("1", ACCOUNT), info("2", OTHER)], of("1", ACCOUNT), 1],
  ["two lineages differ", none, [info("2", OTHER)], of("1", ACCOUNT), 0],
])("a renewal info agrees by its lineage's ids: %s", (_, first, infos, transaction, index) => {
  const expected = index === null ? null : { index, field: "appTransactionId" };
  expect(disagreement(first, infos, [transaction])).toEqual(expected);
});

test.each<[string, Parameters<typeof appTransactionIdentityOf>[0], string | null]>([
  ["the app transaction's", [appTransaction, of("1", OTHER), of("1", ACCOUNT)], ACCOUNT],
  ["the lineages' common one", [none, of("1", OTHER), of("1", ACCOUNT), of("2", ACCOUNT)], ACCOUNT],
  ["nobody, where two are possible", [none, of("1", OTHER), of("1", ACCOUNT)], null],
  ["nobody, where there is no id", [none, of("1", null)], null],
])("the payloads of a request name %s", (_, payloads, expected) => {
  expect(appTransactionIdentityOf(payloads)?.value ?? null).toBe(expected);
});

test("app transaction ids are compared as the rule says, in any order of lineages", () => {
  const payload = fc.record({
    originalTransactionId: fc.constantFrom("1", "2", "3"),
    appTransactionId: fc.constantFrom(null, ACCOUNT, OTHER),
  });
  fc.assert(
    fc.property(fc.constantFrom(null, ACCOUNT), fc.array(payload, { maxLength: 6 }), (own, fields) => {
      const first = aVerifiedAppTransaction({ appTransactionId: own });
      const payloads: readonly Agreeing[] = fields.map(aVerifiedTransaction);
      const lineages = [...Map.groupBy(fields, (one) => one.originalTransactionId).values()]
        .map((some) => some.flatMap((one) => one.appTransactionId ?? []))
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
