import fc from "fast-check";
import { ImpossibleChange } from "../../../../sandbox/routes.ts";
import { changeSchema, type RequestedChange } from "../../../../sandbox/ios-store/shop/requests.ts";
import { DAY, NOW } from "../../../../testing/support/stores/purchases.ts";
import {
  decodedRenewalInfos,
  decodedTransactions,
  storeForEachTest,
  type Pushed,
} from "./store-under-test.ts";
import { cases } from "../../../../testing/support/proof.ts";

const under = storeForEachTest();

/** Changes that are made with details of their own, and the one that is about no lineage. */
const OTHERS = new Set(["upgrade", "downgrade", "price-increase", "refund-partly", "rescind-consent"]);
const SIMPLE = changeSchema.options
  .map(({ shape }) => shape.change.value)
  .filter((name) => !OTHERS.has(name));

const product = fc.constantFrom("monthly", "yearly", "lite");
const change: fc.Arbitrary<RequestedChange> = fc.oneof(
  fc.constantFrom(...SIMPLE).map((name) => ({ change: name }) as RequestedChange),
  fc.record({ change: fc.constant("upgrade"), productIdentifier: product, period: fc.constant("P1Y") }),
  fc.record({ change: fc.constant("downgrade"), productIdentifier: product, period: fc.constant("P1W") }),
  fc.record({ change: fc.constant("price-increase"), consent: fc.constantFrom("pending", "agreed") }),
  fc.record({ change: fc.constant("refund-partly"), percentage: fc.integer({ min: 1, max: 99 }) }),
);

/** A change of one of the lineages, or time that passes. */
type Step = { readonly of: number; readonly change: RequestedChange } | { readonly days: number };
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ of: fc.nat(), change }) },
  { weight: 1, arbitrary: fc.record({ days: fc.integer({ min: 1, max: 70 }) }) },
);
const goods = fc.record(
  {
    productIdentifier: product,
    type: fc.constantFrom("Auto-Renewable Subscription", "Auto-Renewable Subscription", "Non-Consumable"),
    period: fc.constantFrom("P1W", "P1M", "P1Y"),
    gracePeriod: fc.constantFrom("P3D", "P28D", null),
    renews: fc.boolean(),
  },
  { requiredKeys: ["productIdentifier", "type"] },
);

/** Expectations of every notification, whatever happened before it. */
const expectSound = ({ body, transaction, renewalInfo }: Pushed, latest: number): void => {
  expect(transaction?.signedDate).toBe(body.signedDate);
  expect(body.signedDate).toBeGreaterThan(latest);
  expect(transaction?.purchaseDate).toBeGreaterThanOrEqual(transaction?.originalPurchaseDate ?? Infinity);
  if (renewalInfo === null) return;
  const { originalTransactionId } = transaction ?? {};
  expect(renewalInfo).toMatchObject({ originalTransactionId, signedDate: body.signedDate });
  // Active, expired, in billing retry, in a grace period, revoked.
  expect([1, 2, 3, 4, 5]).toContain(body.data?.status);
  expect(transaction?.expiresDate).toBeGreaterThanOrEqual(transaction?.purchaseDate ?? Infinity);
  const { isInBillingRetryPeriod: retries, gracePeriodExpiresDate: graceEnd } = renewalInfo;
  expect(retries === true).toBe(body.data?.status === 3 || body.data?.status === 4);
  expect(graceEnd !== undefined).toBe(body.data?.status === 4);
  if (graceEnd !== undefined) expect(graceEnd).toBeGreaterThan(renewalInfo.renewalDate ?? Infinity);
};

const lineagesOf = async (): Promise<string[]> =>
  (await under.store.readAll()).flatMap((person) => person.originalTransactionIdentifiers);

/** Takes a step, which is taken wholly or not at all. */
const expectWhole = async (step: Step): Promise<void> => {
  if ("days" in step) return under.moveTo(under.now + step.days * DAY);
  const lineages = await lineagesOf();
  const before = under.store.save();
  try {
    await under.store.change(lineages[step.of % lineages.length] ?? "", step.change);
  } catch (error) {
    if (!(error instanceof ImpossibleChange)) throw error;
    expect(under.store.save()).toBe(before);
  }
};

test("any changes keep payloads valid, and later states are signed later", async () => {
  await fc.assert(
    fc.asyncProperty(goods, fc.array(step, { maxLength: 25 }), async (goods, steps) => {
      under.store.reset();
      under.now = NOW;
      await under.store.buy({ appTransactionIdentifier: "704", transactions: [goods] });
      for (const each of steps) await expectWhole(each);
      const signedAt = new Map<string, number>();
      for (const pushed of await under.pushed()) {
        const lineage = pushed.transaction?.originalTransactionId ?? "";
        expectSound(pushed, signedAt.get(lineage) ?? 0);
        signedAt.set(lineage, pushed.body.signedDate ?? 0);
      }
      for (const person of await under.store.readAll()) {
        const transactions = await decodedTransactions(person.signedTransactions);
        const renewalInfos = await decodedRenewalInfos(person.signedRenewalInfos);
        for (const { originalTransactionId, renewalDate, signedDate = 0 } of renewalInfos) {
          const own = transactions.filter((each) => each.originalTransactionId === originalTransactionId);
          expect(own.at(-1)?.expiresDate).toBe(renewalDate);
          expect(signedDate).toBeGreaterThanOrEqual(signedAt.get(originalTransactionId ?? "") ?? 0);
        }
      }
      expect(under.store.nextEventAt() ?? Infinity).toBeGreaterThanOrEqual(under.now);
      expect(under.opened().save()).toBe(under.store.save());
    }),
    cases(60, 2_000),
  );
});
