import fc from "fast-check";
import type { Environment } from "../../../../lib/contract/schemas.ts";
import { DAY } from "../../../../testing/support/stores/purchases.ts";
import type { StatedRenewalInfo } from "../../../../lib/stores/ios-store/payloads.ts";
import { aVerifiedRenewalInfo } from "../../../../testing/support/stores/ios-store.ts";
import type { IosFact } from "../stated-facts.ts";
import { at, choice, environment, type Made } from "./choices.ts";
import { factsOfLineage, lineageScript, type Lineage } from "./lineages.ts";

/** Renewal info that the App Store signs around a period's end, whether it is true of that moment or not. */
const renewalScript = fc.record({
  fact: fc.nat(40),
  /** Days from the period's end to the signing, very near it, too; or with the period's own transaction. */
  signed: fc.oneof(
    { weight: 2, arbitrary: fc.integer({ min: -35, max: 40 }) },
    { weight: 2, arbitrary: choice(-0.01, 0, 0.01) },
    { weight: 1, arbitrary: choice("with the transaction") },
  ),
  date: choice("end", "end", "end", "grace end", "another end", "absent"),
  autoRenewStatus: choice(1, 1, 0),
  /** Days of grace after the end; null: none. */
  grace: choice(null, null, 0.5, 6, 16),
  isInBillingRetryPeriod: choice(false, false, true),
  expirationIntent: choice(null, null, 2),
  inGrace: choice(null, false, true),
});

const renewalOf = (
  facts: readonly IosFact[],
  { fact, signed, date, grace, inGrace, ...script }: Made<typeof renewalScript>,
  index: number,
): StatedRenewalInfo[] => {
  const periods = facts.filter(({ type }) => type === "Auto-Renewable Subscription");
  if (periods.length === 0) return [];
  const period = at(periods, fact);
  const end = period.expiresDate ?? 0;
  const graceEnd = grace === null ? null : end + grace * DAY;
  const dates = {
    end,
    "grace end": graceEnd ?? end,
    "another end": at(periods, fact + 1).expiresDate,
    absent: null,
  };
  const signedAt = signed === "with the transaction" ? period.signedAt : end + signed * DAY;
  return [
    {
      ...aVerifiedRenewalInfo(script),
      environment: period.environment,
      originalTransactionId: period.originalTransactionId,
      autoRenewProductId: null,
      renewalDate: dates[date],
      gracePeriodExpiresDate: graceEnd,
      ...(inGrace !== null && { isInGrace: inGrace }),
      // No two of one lineage are signed at one moment.
      signedAt: Math.floor(signedAt / 10) * 10 + index,
    },
  ];
};

const moveScript = fc.record({
  from: fc.nat(40),
  to: fc.nat(40),
  later: fc.boolean(),
  /** Whether the copy has another id of the same web order. */
  isReissued: fc.boolean(),
  /** Whether the transaction names its former lineage. */
  names: choice(false, false, true),
});

/** Apple has been seen to move a transaction into another lineage of the same person, under the same id. */
const moved = (
  facts: readonly IosFact[],
  { from, to, later, isReissued, names }: Made<typeof moveScript>,
): IosFact[] => {
  if (facts.length === 0) return [];
  const [fact, target] = [at(facts, from), at(facts, to)];
  const { type, transactionId, originalTransactionId: original } = fact;
  // Under one lineage, two purchases of a product at one moment could not be told from copies of one.
  const hasTwin =
    type !== "Auto-Renewable Subscription" &&
    facts.some(
      (other) =>
        other.productId === fact.productId &&
        other.purchaseDate === fact.purchaseDate &&
        other.originalTransactionId !== original,
    );
  if (original === target.originalTransactionId || hasTwin) return [];
  return [
    {
      ...fact,
      transactionId: isReissued ? `${transactionId}9` : transactionId,
      originalTransactionId: target.originalTransactionId,
      // It is the same person's there, too.
      appTransactionId: target.appTransactionId,
      signedAt: fact.signedAt + (later ? 3 : -3),
      previousOriginalTransactionId: names ? original : null,
    },
  ];
};

/** One Apple Account in one environment, with everything ever signed for it. */
export interface AppleAccount {
  readonly environment: Environment;
  readonly appTransaction: string;
  readonly facts: readonly IosFact[];
  readonly renewals: readonly StatedRenewalInfo[];
}

const accountScript = fc.record({
  environment,
  lineages: fc.array(
    fc.record({
      script: lineageScript,
      isNext: choice(false, false, true),
      otherId: choice("none", "none", "the person's", "another's"),
    }),
    { maxLength: 4 },
  ),
  moves: fc.array(moveScript, { maxLength: 3 }),
  renewals: fc.array(renewalScript, { maxLength: 4 }),
});

/** @param account the account's number among those of its environment: sandbox and production share identifiers */
const accountOf = (
  { environment, lineages, moves, renewals }: Made<typeof accountScript>,
  account: number,
): AppleAccount => {
  const appTransaction = `70${account}`;
  const originalOf = (lineage: number): string => `7${account}${String(lineage).padStart(2, "0")}`;
  const facts = lineages.flatMap(({ script, isNext, otherId }, lineage) => {
    const otherAppTransaction = {
      none: null,
      "the person's": `71${account}`,
      "another's": `70${account + 1}`,
    };
    // Older transactions have no app transaction id.
    const isOlder = lineage % 2 === 1;
    const described: Lineage = {
      environment,
      original: originalOf(lineage),
      appTransaction: isOlder ? null : appTransaction,
      otherAppTransaction: isOlder ? null : otherAppTransaction[otherId],
      previous: isNext && lineage > 0 ? originalOf(lineage - 1) : null,
    };
    return factsOfLineage(script, described);
  });
  return {
    environment,
    appTransaction,
    facts: [...facts, ...moves.flatMap((move) => moved(facts, move))],
    renewals: renewals.flatMap((renewal, index) => renewalOf(facts, renewal, index)),
  };
};

export const appleAccounts = (most: number): fc.Arbitrary<readonly AppleAccount[]> =>
  fc
    .array(accountScript, { minLength: 1, maxLength: most })
    .map((scripts) =>
      scripts.map((script, index) =>
        accountOf(
          script,
          scripts.slice(0, index).filter(({ environment }) => environment === script.environment).length,
        ),
      ),
    );
