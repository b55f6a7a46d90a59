import fc from "fast-check";
import type { Environment } from "../../../lib/contract/schemas.ts";
import { DAY, NOW } from "../../../testing/support/stores/purchases.ts";
import type { ModelTerms } from "./reference-model.ts";
import {
  lineageKeyOf,
  selectingNothing,
  type AndroidFact,
  type AndroidOneTimeFact,
  type AndroidSubscriptionFact,
  type Fact,
  type IosFact,
  type IosRenewal,
  type ModelClaim,
  type ModelRequest,
} from "./stated-facts.ts";

/**
 * Histories of persons in both stores, as scripts of small choices, so that a failing one shrinks to the choices that
 * matter. Everything happens before {@link END}.
 */
export const END = NOW;
const BEGIN = END - 700 * DAY;
const MINUTE = 60_000;

const choice = <T>(...values: readonly T[]): fc.Arbitrary<T> => fc.constantFrom(...values);
const days = fc.integer({ min: 0, max: 40 });
const environment: fc.Arbitrary<Environment> = fc.oneof(
  { weight: 6, arbitrary: fc.constant<Environment>("production") },
  { weight: 1, arbitrary: fc.constant<Environment>("sandbox") },
);
const appleEnvironment: fc.Arbitrary<Environment> = fc.oneof(
  { weight: 6, arbitrary: environment },
  { weight: 1, arbitrary: fc.constant<Environment>("xcode") },
);

const at = <T>(values: readonly T[], index: number): T => {
  const value = values[index % values.length];
  if (value === undefined) throw new RangeError("There is nothing to choose from.");
  return value;
};

const SUBSCRIPTION_STEPS = [
  "renew",
  "renew-under-one-web-order",
  "renew-early",
  "upgrade-after-charge",
  "upgrade",
  "upgrade-unsaid",
  "upgrade-at-once",
  "crossgrade-at-renewal",
  "lapse-and-return",
  "refund",
  "refund-of-earlier",
  "refund-of-upgraded",
  "reversal",
  "reversal-of-earlier",
  "bought-after-refund",
  "given-back-beside-another",
  "return-unsaid",
  "said-again",
  "copy",
  "copy-of-earlier",
  "restore",
  "restore-of-earlier",
  "refund-of-copy",
  "extend",
  "another-part",
  "unheard",
] as const;

interface SubscriptionScript {
  readonly form: "subscription";
  readonly begins: number;
  readonly product: number;
  /** Whether its periods carry `webOrderLineItemId`. */
  readonly webOrders: boolean;
  readonly steps: readonly { readonly step: (typeof SUBSCRIPTION_STEPS)[number]; readonly days: number }[];
}

const ONE_TIME_STEPS = [
  "restore",
  "refund",
  "partial-refund",
  "reversal",
  "said-again",
  "first-said-again",
  "another-said-again",
  "bought-anew",
  "refund-told-with-the-next-purchase",
] as const;

type OneTimeStep = (typeof ONE_TIME_STEPS)[number];

/** Refunded, bought again, refunded again, and given back; then the first id is said again. */
const GIVEN_BACK: readonly OneTimeStep[] = [
  "refund",
  "bought-anew",
  "refund",
  "reversal",
  "another-said-again",
];

interface OneTimeScript {
  readonly form: "one-time";
  readonly begins: number;
  readonly product: number;
  readonly quantity: number;
  /** Refunds and reversals also cover a family organizer who withdraws and restores a shared purchase. */
  readonly steps: readonly {
    readonly step: OneTimeStep | "given-back";
    readonly days: number;
  }[];
}

type LineageScript = SubscriptionScript | OneTimeScript;

const lineageScript: fc.Arbitrary<LineageScript> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record<SubscriptionScript>({
      form: fc.constant("subscription"),
      begins: fc.integer({ min: 0, max: 600 }),
      product: fc.nat(2),
      webOrders: choice(true, true, false),
      steps: fc.array(fc.record({ step: choice(...SUBSCRIPTION_STEPS), days }), { maxLength: 7 }),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record<OneTimeScript>({
      form: fc.constant("one-time"),
      // Often close together, so that passes queue up.
      begins: fc.oneof(fc.integer({ min: 0, max: 690 }), fc.integer({ min: 100, max: 103 })),
      product: fc.nat(5),
      quantity: choice(1, 1, 3),
      steps: fc.array(
        fc.record({
          step: choice(...ONE_TIME_STEPS, "given-back" as const),
          days: fc.oneof(fc.integer({ min: 0, max: 20 }), fc.integer({ min: 0, max: 2 })),
        }),
        { maxLength: 4 },
      ),
    }),
  },
);

const SUBSCRIPTIONS = ["monthly", "yearly", "basic"] as const;
const LENGTH: Record<string, number> = { monthly: 30, yearly: 365, basic: 30 };
const ONE_TIME: readonly (readonly [string, IosFact["type"]])[] = [
  ["map", "non-consumable"],
  ["forever", "non-consumable"],
  ["season", "non-renewing"],
  ["day", "consumable"],
  ["coins", "consumable"],
  ["day", "consumable"],
];

/** The identifiers of one lineage of an Apple Account. */
interface Lineage {
  readonly environment: Environment;
  readonly original: string;
  readonly appTransaction: string | null;
  /** Another app transaction id that some of its transactions carry; null: none. */
  readonly otherAppTransaction: string | null;
  readonly certificate: string | null;
  /** The lineage that moved here, if any. */
  readonly previous: string | null;
}

/** In Xcode every id is "0". */
const idOf = ({ environment, original }: Lineage, suffix = ""): string =>
  environment === "xcode" ? "0" : `${original}${suffix}`;

/** In Xcode, where ids do not tell purchases apart, no two begin at the same moment. */
const beginOf = ({ environment, original }: Lineage, days: number): number =>
  BEGIN + days * DAY + (environment === "xcode" ? Number(original) % 10 : 0);

const commonOf = (lineage: Lineage) =>
  ({
    store: "ios-store",
    environment: lineage.environment,
    original: idOf(lineage),
    appTransaction: lineage.environment === "xcode" ? "0" : lineage.appTransaction,
    certificate: lineage.certificate,
    quantity: 1,
    revokedAt: null,
    revokedShare: null,
    upgraded: false,
  }) as const;

const subscriptionFacts = (
  { begins, product: first, webOrders, steps }: SubscriptionScript,
  lineage: Lineage,
): IosFact[] => {
  const facts: IosFact[] = [];
  let clock = beginOf(lineage, begins);
  const began = clock;
  let said = 0;
  let product = at(SUBSCRIPTIONS, first);
  let unheard = 0;
  const say = (fact: Omit<IosFact, "signedAt">): IosFact => {
    said += 10;
    // A lineage's first transaction has been seen with one app transaction id, and its renewals with another.
    const isOther = lineage.otherAppTransaction !== null && facts.length % 2 === 1;
    const spoken = {
      ...fact,
      signedAt: clock + said,
      appTransaction: isOther ? lineage.otherAppTransaction : commonOf(lineage).appTransaction,
    };
    facts.push(spoken);
    return spoken;
  };
  const newId = (): string => idOf(lineage, String(facts.length).padStart(2, "0"));
  const buy = (start: number, webOrderOf?: IosFact): IosFact =>
    say({
      ...commonOf(lineage),
      transaction: newId(),
      product,
      type: "subscription",
      group: "main",
      webOrder:
        lineage.environment === "xcode"
          ? "0"
          : webOrders
            ? (webOrderOf?.webOrder ?? `9${lineage.original}${facts.length}`)
            : null,
      start,
      originalStart: began,
      end: start + (LENGTH[product] ?? 30) * DAY,
      previous: lineage.previous,
    });
  const bought = [buy(clock)];
  for (const { step, days } of steps) {
    const current = bought.at(-1);
    if (current === undefined || current.end === null) continue;
    const replaceCurrent = (changes: Partial<IosFact>): void => {
      bought[bought.length - 1] = say({ ...current, ...changes });
    };
    const other = at(SUBSCRIPTIONS, SUBSCRIPTIONS.indexOf(product) + 1 + (days % 2));
    switch (step) {
      case "renew":
        clock = current.end;
        bought.push(buy(clock));
        break;
      case "renew-under-one-web-order":
        clock = current.end;
        bought.push(buy(clock, current));
        break;
      case "renew-early":
        clock = Math.max(clock, current.end - DAY);
        bought.push(buy(current.end));
        break;
      case "upgrade-after-charge": {
        // Between the charge of the next period and its start. The store may refund that one, mark it, or say nothing.
        if (clock >= current.end) break;
        clock = Math.max(clock, current.end - DAY);
        // Whether the running period is told; its start may differ by seconds from the end before it.
        if (days % 5 === 4) unheard = facts.length;
        bought.push(buy(current.end + at([0, 0, 1000, -1000], days)));
        clock = Math.min(clock + (1 + (days % 20)) * 3_600_000, current.end - 1);
        const said = [null, {}, { revokedAt: clock }, { upgraded: true }][days % 4] ?? null;
        if (said !== null) bought[bought.length - 1] = say({ ...at(bought, bought.length - 1), ...said });
        if (days % 3 === 1) bought[bought.length - 2] = say({ ...current, upgraded: true });
        product = other;
        bought.push(buy(clock));
        break;
      }
      case "upgrade":
      case "upgrade-unsaid":
        clock = Math.max(clock, Math.min(current.start + days * DAY + 1, current.end - 1));
        if (step === "upgrade") replaceCurrent({ upgraded: true });
        product = other;
        bought.push(buy(clock));
        break;
      case "upgrade-at-once":
        // Once only: the store does not sell three times in a millisecond.
        if (bought.at(-2)?.start === current.start) break;
        replaceCurrent({ upgraded: true });
        product = other;
        bought.push(buy(current.start));
        break;
      case "crossgrade-at-renewal":
        clock = current.end;
        product = other;
        bought.push(buy(clock));
        break;
      case "lapse-and-return":
        clock = current.end + days * DAY;
        bought.push(buy(clock));
        break;
      case "refund":
        clock += days * DAY;
        replaceCurrent({ revokedAt: clock });
        break;
      case "refund-of-earlier": {
        const earlier = at(bought, days);
        clock += DAY;
        bought[days % bought.length] = say({ ...earlier, revokedAt: clock });
        break;
      }
      case "refund-of-upgraded": {
        // The period that the current one took the place of: with its refund the store also marks it.
        const upgraded = bought.at(-2);
        if (upgraded === undefined) break;
        clock += DAY;
        bought[bought.length - 2] = say({ ...upgraded, revokedAt: clock, upgraded: true });
        break;
      }
      case "reversal":
        clock += days * DAY;
        replaceCurrent({ revokedAt: null });
        break;
      case "reversal-of-earlier": {
        const earlier = at(bought, days);
        clock += DAY;
        bought[days % bought.length] = say({ ...earlier, revokedAt: null });
        break;
      }
      case "bought-after-refund":
        // The same product or another, while the refunded period would still run.
        if (current.revokedAt === null) break;
        clock += days * 3_600_000 + 1;
        if (days % 3 > 0) product = other;
        bought.push(buy(clock));
        break;
      case "given-back-beside-another": {
        // Another product is bought after a refund, the refund is reversed, and the other product renews, with or without the
        // gap of a payment that failed at first, or dated at its charge.
        clock += DAY;
        let year = say({ ...current, revokedAt: clock });
        product = other;
        clock += DAY;
        const beside = [buy(clock)];
        clock += DAY;
        year = say({ ...year, revokedAt: null });
        for (let renewal = 0; renewal <= days % 6; renewal += 1) {
          const end = beside.at(-1)?.end ?? clock;
          clock = Math.max(clock, end - DAY);
          beside.push(buy(end + at([0, 0, 0, 3 * DAY, -DAY], days + renewal)));
        }
        if (days % 4 === 3)
          for (const revokedAt of [clock + DAY, null]) {
            clock += DAY;
            year = say({ ...year, revokedAt });
          }
        bought.splice(-1, 1, year, ...beside);
        break;
      }
      case "return-unsaid":
        // Back to the product after a change of which nobody tells anything.
        clock = Math.max(clock, Math.min(current.start + days * DAY + 1, current.end - 1));
        bought.push(buy(clock));
        break;
      case "said-again":
        clock += days * DAY;
        replaceCurrent({});
        break;
      case "copy":
        // Another device restores the period under an id of its own.
        clock += days * 3_600_000;
        say({ ...current, transaction: newId() });
        break;
      case "copy-of-earlier":
        clock += days * 3_600_000;
        say({ ...at(bought, days), transaction: newId() });
        break;
      case "restore":
        // Like some old copies, it has the time of the restore as its purchase date.
        clock = Math.max(clock, Math.min(current.start + days * 3_600_000, current.end - 1));
        say({ ...current, transaction: newId(), start: clock });
        break;
      case "restore-of-earlier": {
        const earlier = at(bought, days);
        clock += days * 3_600_000;
        say({ ...earlier, transaction: newId(), start: clock });
        break;
      }
      case "refund-of-copy":
        clock += days * 3_600_000;
        say({ ...current, transaction: newId(), revokedAt: clock });
        break;
      case "unheard":
        // Nobody tells the service what was signed so far.
        unheard = facts.length;
        break;
      case "another-part":
        // Another product of the same bundle, with the same dates.
        say({ ...current, product: other, transaction: newId() });
        break;
      case "extend":
        // Without a web order, a period is named by its end, so an extension makes another period. A refunded period is
        // not extended.
        if (
          !current.upgraded &&
          webOrders &&
          lineage.environment !== "xcode" &&
          !facts.some(
            ({ transaction, revokedAt }) => transaction === current.transaction && revokedAt !== null,
          )
        )
          replaceCurrent({ end: current.end + days * DAY });
    }
  }
  return facts.slice(Math.min(unheard, facts.length - 1));
};

const oneTimeFacts = (
  { begins, product: index, quantity, steps }: OneTimeScript,
  lineage: Lineage,
): IosFact[] => {
  const [product, type] = at(ONE_TIME, index);
  let clock = beginOf(lineage, begins);
  const first: IosFact = {
    ...commonOf(lineage),
    transaction: idOf(lineage),
    product,
    type,
    group: null,
    webOrder: null,
    start: clock,
    originalStart: clock,
    end: null,
    quantity: type === "non-consumable" ? 1 : quantity,
    previous: null,
    signedAt: clock + 1,
  };
  let last = first;
  const facts = [first];
  const single = steps.flatMap(({ step, days }) =>
    step === "given-back" ? GIVEN_BACK.map((one) => ({ step: one, days })) : [{ step, days }],
  );
  for (const { step, days } of single) {
    clock += days * DAY + 10;
    const copied = (step === "restore" && type !== "consumable") || step === "bought-anew";
    if (step === "bought-anew" && type !== "non-consumable") continue;
    if (step === "refund-told-with-the-next-purchase") {
      // In Xcode both would have one id, and contradict each other.
      if (type !== "non-consumable" || last.revokedAt !== null || lineage.environment === "xcode") continue;
      // One answer of the store's history has both, signed in one millisecond.
      const refund = { ...last, revokedAt: clock, revokedShare: null, signedAt: clock + DAY };
      clock += DAY;
      last = {
        ...last,
        transaction: idOf(lineage, String(facts.length).padStart(2, "0")),
        start: clock - 1,
        signedAt: clock,
      };
      facts.push(refund, last);
      continue;
    }
    // As it was said last, refunded or not.
    const another = facts.findLast(({ transaction }) => transaction !== last.transaction) ?? last;
    last = {
      ...(step === "first-said-again" ? first : step === "another-said-again" ? another : last),
      signedAt: clock,
      ...(copied && {
        transaction: idOf(lineage, String(facts.length).padStart(2, "0")),
        start: clock,
        revokedAt: null,
        revokedShare: null,
      }),
      ...(step === "refund" && { revokedAt: clock, revokedShare: days % 2 === 0 ? null : 100_000 }),
      ...(step === "partial-refund" && {
        revokedAt: clock,
        revokedShare: at([33_333, 50_000, 66_667], days),
      }),
      ...(step === "reversal" && { revokedAt: null, revokedShare: null }),
    };
    facts.push(last);
  }
  return facts;
};

/** Renewal info that the App Store signs around a period's end, whether it is true of that moment or not. */
interface RenewalScript {
  readonly fact: number;
  /** Days from the period's end to the signing, very near it, too; or with the period's own transaction. */
  readonly signed: number | "with the transaction";
  readonly date: "end" | "end" | "end" | "grace end" | "another end" | "absent";
  readonly renews: boolean;
  /** Days of grace after the end; null: none. */
  readonly grace: number | null;
  readonly inRetry: boolean;
  readonly intent: number | null;
  readonly inGrace: boolean | null;
}

const renewalScript: fc.Arbitrary<RenewalScript> = fc.record({
  fact: fc.nat(40),
  signed: fc.oneof(
    { weight: 2, arbitrary: fc.integer({ min: -35, max: 40 }) },
    { weight: 2, arbitrary: choice(-0.01, 0, 0.01) },
    { weight: 1, arbitrary: fc.constant("with the transaction" as const) },
  ),
  date: choice("end", "end", "end", "grace end", "another end", "absent"),
  renews: choice(true, true, false),
  grace: choice(null, null, 0.5, 6, 16),
  inRetry: choice(false, false, true),
  intent: choice(null, null, 2),
  inGrace: choice(null, false, true),
});

const renewalOf = (
  facts: readonly IosFact[],
  { fact, signed, date, renews, grace, inRetry, intent, inGrace }: RenewalScript,
  index: number,
): IosRenewal[] => {
  const periods = facts.filter(({ type }) => type === "subscription");
  if (periods.length === 0) return [];
  const period = at(periods, fact);
  const end = period.end ?? 0;
  const graceEnd = grace === null ? null : end + grace * DAY;
  return [
    {
      environment: period.environment,
      lineage: lineageKeyOf(period),
      renewalDate:
        date === "end"
          ? end
          : date === "grace end"
            ? (graceEnd ?? end)
            : date === "another end"
              ? at(periods, fact + 1).end
              : null,
      renews,
      graceEnd,
      inRetry,
      intent,
      inGrace,
      // No two of one lineage are signed at one moment.
      signedAt:
        Math.floor((signed === "with the transaction" ? period.signedAt : end + signed * DAY) / 10) * 10 +
        index,
    },
  ];
};

/** Apple has been seen to move a transaction into another lineage of the same person, under the same id. */
const moved = (facts: readonly IosFact[], { from, to, later, isReissued, names }: MoveScript): IosFact[] => {
  const transaction = facts.length === 0 ? undefined : at(facts, from);
  const target = facts.length === 0 ? undefined : at(facts, to);
  // Under one lineage, two purchases of a product at one moment could not be told from copies of one.
  const hasTwin = ({ type, product, start, original }: IosFact): boolean =>
    type !== "subscription" &&
    facts.some((other) => other.product === product && other.start === start && other.original !== original);
  if (
    transaction === undefined ||
    target === undefined ||
    transaction.environment === "xcode" ||
    transaction.original === target.original ||
    hasTwin(transaction)
  )
    return [];
  return [
    {
      ...transaction,
      ...(isReissued && { transaction: `${transaction.transaction}9` }),
      original: target.original,
      // It is the same person's there, too.
      appTransaction: target.appTransaction,
      signedAt: transaction.signedAt + (later ? 3 : -3),
      previous: names ? transaction.original : null,
    },
  ];
};

interface MoveScript {
  readonly from: number;
  readonly to: number;
  readonly later: boolean;
  /** Whether the copy has another id of the same web order. */
  readonly isReissued: boolean;
  /** Whether the transaction names its former lineage. */
  readonly names: boolean;
}

/** One Apple Account in one environment, with everything ever signed for it. */
interface AppleAccount {
  readonly environment: Environment;
  readonly appTransaction: string;
  readonly facts: readonly IosFact[];
  readonly renewals: readonly IosRenewal[];
}

const appleAccounts = (most: number): fc.Arbitrary<readonly AppleAccount[]> =>
  fc
    .array(
      fc.record({
        environment: appleEnvironment,
        lineages: fc.array(
          fc.record({
            script: lineageScript,
            isNext: choice(false, false, true),
            otherId: choice("none", "none", "the person's", "another's" as const),
          }),
          { maxLength: 4 },
        ),
        moves: fc.array(
          fc.record<MoveScript>({
            from: fc.nat(40),
            to: fc.nat(40),
            later: fc.boolean(),
            isReissued: fc.boolean(),
            names: choice(false, false, true),
          }),
          { maxLength: 3 },
        ),
        renewals: fc.array(renewalScript, { maxLength: 4 }),
      }),
      { minLength: 1, maxLength: most },
    )
    .map((accounts) =>
      accounts.map(({ environment, lineages, moves, renewals }, index) => {
        // Counted per environment, so that sandbox and production share identifiers.
        const account = accounts.slice(0, index).filter((other) => other.environment === environment).length;
        const appTransaction = environment === "xcode" ? "0" : `70${account}`;
        const originalOf = (lineage: number): string => `7${account}${String(lineage).padStart(2, "0")}`;
        const facts = lineages.flatMap(({ script, isNext, otherId }, lineage) => {
          const described: Lineage = {
            environment,
            original: originalOf(lineage),
            // Older transactions have none.
            appTransaction: lineage % 2 === 0 ? appTransaction : null,
            otherAppTransaction:
              environment === "xcode" || lineage % 2 === 1 || otherId === "none"
                ? null
                : otherId === "the person's"
                  ? `71${account}`
                  : `70${account + 1}`,
            certificate: environment === "xcode" ? `c${account}` : null,
            previous: isNext && lineage > 0 ? originalOf(lineage - 1) : null,
          };
          return script.form === "subscription"
            ? subscriptionFacts(script, described)
            : oneTimeFacts(script, described);
        });
        return {
          environment,
          appTransaction,
          facts: [...facts, ...moves.flatMap((move) => moved(facts, move))],
          renewals: renewals.flatMap((renewal, index) => renewalOf(facts, renewal, index)),
        };
      }),
    );

const SUBSCRIPTION_STATES = [
  "ACTIVE",
  "ACTIVE",
  "CANCELED",
  "IN_GRACE_PERIOD",
  "ON_HOLD",
  "PAUSED",
  "EXPIRED",
  "PENDING",
  "PENDING_PURCHASE_CANCELED",
] as const;

/** Place of `CANCELLED` among the states of a one-time purchase. */
const REFUNDED = 2;

const PERSONS = [null, null, "o1", "o2"] as const;

interface AndroidScript {
  readonly environment: Environment;
  readonly form: "subscription" | "one-time";
  readonly begins: number;
  readonly product: number;
  readonly person: number;
  /** Selects the earlier purchase that this one replaces or resubscribes to. */
  readonly before: number;
  readonly relation: "none" | "none" | "replaces" | "resubscribes";
  readonly crossesAnEnd: boolean;
  readonly answers: readonly {
    readonly state: number;
    readonly days: number;
    readonly ends: number;
    readonly variant: number;
  }[];
}

const androidScript: fc.Arbitrary<AndroidScript> = fc.record({
  environment,
  form: choice("subscription", "subscription", "one-time" as const),
  begins: fc.oneof(fc.integer({ min: 0, max: 600 }), fc.integer({ min: 100, max: 103 })),
  product: fc.nat(6),
  person: fc.nat(PERSONS.length - 1),
  before: fc.nat(4),
  relation: choice("none", "none", "replaces", "resubscribes" as const),
  crossesAnEnd: choice(false, false, true),
  answers: fc.array(
    fc.record({
      state: fc.nat(SUBSCRIPTION_STATES.length - 1),
      days: fc.integer({ min: 1, max: 40 }),
      // Also two minutes before the answer.
      ends: fc.oneof(fc.integer({ min: -20, max: 60 }), choice(-1.5, -1, -0.25, -2 / 1440)),
      variant: fc.nat(11),
    }),
    { minLength: 1, maxLength: 4 },
  ),
});

/** Passes of one product that queue up. Some are first heard of long after they were refunded. */
const passScript: fc.Arbitrary<AndroidScript> = fc
  .record({
    script: androidScript,
    begins: fc.integer({ min: 100, max: 130 }),
    product: choice(1, 5),
    isRefunded: choice(false, false, true),
  })
  .map(({ script, begins, product, isRefunded }) => ({
    ...script,
    form: "one-time",
    begins,
    product,
    relation: "none",
    answers: isRefunded ? script.answers.map((answer) => ({ ...answer, state: REFUNDED })) : script.answers,
  }));

/** Subscriptions of which each replaces the one before, or is bought again after it. */
const chainScript: fc.Arbitrary<readonly AndroidScript[]> = fc
  .array(
    fc.tuple(androidScript, choice<"replaces" | "resubscribes">("replaces", "replaces", "resubscribes")),
    {
      minLength: 3,
      maxLength: 5,
    },
  )
  .map((scripts) =>
    scripts.map(([script, relation], index): AndroidScript => ({
      ...script,
      form: "subscription",
      relation: index === 0 ? "none" : relation,
      before: index - 1,
    })),
  );

const ANDROID_SUBSCRIPTIONS = [
  ["premium", "monthly"],
  ["premium", "yearly"],
  ["basic", null],
  ["unmapped", "x"],
] as const;
const ANDROID_ONE_TIME = [
  ["maps"],
  ["hint"],
  ["maps", "hint"],
  ["coins"],
  ["day", "maps"],
  ["day"],
  ["film"],
] as const;

/** Two answers within a minute, just before and just after an end. Only the second is in Google's silent day. */
const askedAcrossAnEnd = (last: AndroidFact | undefined): AndroidFact[] => {
  if (last?.kind !== "subscription" || last.state.startsWith("PENDING")) return [];
  const end = last.lines.find(({ paid }) => paid)?.expiry ?? 0;
  const [before, after] = [end - 10_000, end + 40_000];
  return before <= last.answeredAt + MINUTE
    ? []
    : [before, after].map((answeredAt) => ({ ...last, answeredAt }));
};

const androidFacts = (script: AndroidScript, index: number): AndroidFact[] => {
  const answered = answersOf(script, index);
  return script.crossesAnEnd ? [...answered, ...askedAcrossAnEnd(answered.at(-1))] : answered;
};

const answersOf = (script: AndroidScript, index: number): AndroidFact[] => {
  const { environment, form, begins, product, person, before, relation, answers } = script;
  const start = BEGIN + begins * DAY + index;
  const neverPaid = person === 3 && relation === "resubscribes";
  let clock = start;
  const earlier = index === 0 || relation === "none" ? null : `token-${before % index}`;
  return answers.map(({ state, days, ends, variant }, place) => {
    // More than a minute lies between two answers, because an answer repeated within a minute is a replay.
    clock += days * DAY;
    const common = {
      store: "android-store",
      environment,
      token: `token-${index}`,
      obfuscated: at(PERSONS, person),
      answeredAt: clock,
    } as const;
    if (form === "one-time")
      return {
        ...common,
        kind: "one-time",
        // An answer may be older than the one before it, and show a paid purchase as pending. An unpaid one has no time of
        // completion.
        state: neverPaid
          ? at(["PENDING", "CANCELLED"] as const, state)
          : at(["PURCHASED", "PURCHASED", "CANCELLED", place < 2 ? "PENDING" : "PURCHASED"] as const, state),
        completedAt: neverPaid ? null : start,
        products: at(ANDROID_ONE_TIME, product).map((name) => ({
          product: name,
          purchaseOption: at(["buy", "rent", null], person),
          rented: name === "film" && person % 3 !== 0,
          consumed: name !== "maps" && variant % 2 === 1,
          quantity: name === "maps" ? 1 : 1 + (product % 3),
          unrefunded: variant % 6 === 5 ? 0 : variant % 4 === 3 ? 1 : null,
        })),
        asked: variant % 3 === 0 ? null : [at(at(ANDROID_ONE_TIME, product), variant)],
      } satisfies AndroidOneTimeFact;
    const [name, basePlan] = at(ANDROID_SUBSCRIPTIONS, product);
    const [addOn, addOnPlan] = at(ANDROID_SUBSCRIPTIONS, product + 1);
    const [incoming, incomingPlan] = at(ANDROID_SUBSCRIPTIONS, product + 2);
    const line = { product: name, basePlan, expiry: clock + ends * DAY, paid: variant % 6 !== 5 };
    return {
      ...common,
      kind: "subscription",
      state: at(SUBSCRIPTION_STATES, state),
      start: variant % 4 === 3 ? null : start,
      lines: [
        {
          ...line,
          renews: variant % 2 === 0,
          leaves: variant % 8 === 6 ? "replaced" : variant % 8 === 4 ? "removed" : null,
          replacement: incoming,
        },
        // The answer may list what is to take its place, before it is paid and after.
        ...(variant % 8 === 6 && days % 3 > 0
          ? [
              {
                product: incoming,
                basePlan: incomingPlan,
                expiry: line.expiry + at([-1, 30], days) * DAY,
                paid: days % 3 === 1,
                renews: true,
                leaves: null,
              },
            ]
          : []),
        ...((variant % 3 === 2 || (variant % 8 === 6 && days % 2 === 0)) && addOn !== name
          ? [
              {
                product: addOn,
                basePlan: addOnPlan,
                // Google may charge each line at a date of its own.
                expiry: line.expiry + at([1, -12, 12], days) * DAY,
                paid: true,
                renews: true,
                leaves: null,
              },
            ]
          : []),
      ],
      replaces: relation === "replaces" ? earlier : null,
      expired: relation === "resubscribes" ? earlier : null,
    } satisfies AndroidSubscriptionFact;
  });
};

/** Everything the stores say about a few persons. */
export interface History {
  readonly apple: readonly AppleAccount[];
  readonly android: readonly AndroidFact[];
}

const historiesOf = (people: number): fc.Arbitrary<History> =>
  fc.record({
    apple: appleAccounts(people),
    android: fc
      .oneof(
        { weight: 4, arbitrary: fc.array(androidScript, { maxLength: people + 1 }) },
        { weight: 1, arbitrary: fc.array(passScript, { minLength: 2, maxLength: people + 1 }) },
        { weight: 1, arbitrary: chainScript },
      )
      .map((scripts) =>
        // A token and the tokens it names are of one environment.
        scripts.flatMap((script, index) =>
          androidFacts({ ...script, environment: scripts[0]?.environment ?? "production" }, index),
        ),
      ),
  });

export const histories = historiesOf(3);

export const factsOf = ({ apple, android }: History): Fact[] => [
  ...apple.flatMap(({ facts }) => facts),
  ...android,
];

export const renewalsIn = ({ apple }: History): IosRenewal[] => apple.flatMap(({ renewals }) => renewals);

const KINDS = ["ios", "ios", "ios", "android", "ios-notification", "android-notification"] as const;

interface RequestScript {
  readonly kind: (typeof KINDS)[number];
  readonly account: number;
  /**
   * `modern`: with an app transaction id; `by-transactions`: only the transactions carry one; `older`: without; `mixed`:
   * without, with facts of several Apple Accounts.
   */
  readonly client: "modern" | "by-transactions" | "older" | "mixed";
  readonly picks: readonly number[];
  readonly renewals: readonly number[];
  readonly claim: number;
  /** Whether Google has dropped every purchase that an answer names. */
  readonly isDropped: boolean;
  /** The place of the customer to unlink afterwards; none when there are fewer customers. */
  readonly unlinks: number;
}

export const ACCOUNTS = ["a", "b", "c"] as const;
const CLAIMS: readonly (ModelClaim | null)[] = [
  null,
  null,
  null,
  null,
  null,
  null,
  ...ACCOUNTS.flatMap((account): ModelClaim[] => [
    { account, by: "credential" },
    { account, by: "client" },
  ]),
  { account: "a", by: "credential" },
  { account: "a", by: "client" },
];

const requestScript = (kinds: readonly RequestScript["kind"][]): fc.Arbitrary<RequestScript> =>
  fc.record({
    kind: choice(...kinds),
    account: fc.nat(2),
    client: fc.oneof(
      { weight: 4, arbitrary: fc.constant("modern" as const) },
      { weight: 1, arbitrary: fc.constant("by-transactions" as const) },
      { weight: 3, arbitrary: fc.constant("older" as const) },
      { weight: 2, arbitrary: fc.constant("mixed" as const) },
    ),
    picks: fc.oneof(
      { weight: 1, arbitrary: fc.constant([]) },
      { weight: 3, arbitrary: fc.array(fc.nat(63), { maxLength: 6 }) },
    ),
    renewals: fc.oneof(fc.constant([]), fc.array(fc.nat(12), { maxLength: 2 })),
    claim: fc.nat(CLAIMS.length - 1),
    isDropped: choice(false, false, true),
    unlinks: fc.nat(7),
  });

/** Google's answers about the other subscriptions' tokens, for look-ups while a request about `fact` is processed. */
const answersBeside = (
  fact: AndroidFact,
  android: readonly AndroidFact[],
  { isDropped }: RequestScript,
): AndroidSubscriptionFact[] => {
  // Another subscription goes on if this one was never paid; it is told by itself.
  if (isDropped || fact.state === "PENDING_PURCHASE_CANCELED") return [];
  const latest = new Map(
    android.flatMap((other) => (other.kind === "subscription" ? [[other.token, other] as const] : [])),
  );
  return [...latest.values()].filter(({ token }) => token !== fact.token);
};

/** A link of one of Google's answers, by a credential. */
const androidRequestOf = (android: readonly AndroidFact[], script: RequestScript): ModelRequest => {
  const { picks, claim: claimIndex } = script;
  const fact = at(android, picks[0] ?? 0);
  return {
    isNotification: false,
    environment: fact.environment,
    appTransaction: null,
    facts: [fact],
    renewals: [],
    answers: answersBeside(fact, android, script),
    claim: { account: at(CLAIMS, claimIndex)?.account ?? at(ACCOUNTS, claimIndex), by: "credential" },
  };
};

/** The facts of lineages that have an app transaction id in common, or carry none; a request with others is refused. */
const ofOneAppTransaction = (facts: readonly IosFact[], appTransaction: string | null): IosFact[] => {
  let common = appTransaction === null ? null : [appTransaction];
  return [...Map.groupBy(facts, lineageKeyOf).values()].flatMap((lineage) => {
    const carried = lineage.flatMap((fact) => fact.appTransaction ?? []);
    const agreed = carried.filter((value) => common?.includes(value) ?? true);
    if (carried.length === 0) return lineage;
    if (agreed.length === 0) return [];
    common = agreed;
    return lineage;
  });
};

const iosRequestOf = (
  apple: readonly AppleAccount[],
  { account: index, client, picks, renewals, claim }: RequestScript,
): ModelRequest => {
  const account = at(apple, index);
  const { environment, appTransaction } = account;
  const pool =
    client === "mixed"
      ? apple.filter((other) => other.environment === environment).flatMap(({ facts }) => facts)
      : account.facts;
  const picked = pool.length === 0 ? [] : [...new Set(picks.map((pick) => at(pool, pick)))];
  const named = client === "modern" ? appTransaction : null;
  const hasIds = client === "modern" || client === "by-transactions" || environment === "xcode";
  return {
    isNotification: false,
    environment,
    appTransaction: named,
    facts:
      environment === "xcode"
        ? picked
        : hasIds
          ? ofOneAppTransaction(picked, named)
          : picked.map((fact) => ({ ...fact, appTransaction: null })),
    renewals:
      account.renewals.length === 0
        ? []
        : [...new Set(renewals.map((pick) => at(account.renewals, pick)))].map((renewal) => ({
            ...renewal,
            inGrace: null,
          })),
    answers: [],
    claim: at(CLAIMS, claim),
  };
};

const notificationWith = (
  parts: Pick<ModelRequest, "environment" | "facts" | "renewals"> & Partial<ModelRequest>,
): ModelRequest => ({
  isNotification: true,
  appTransaction: null,
  answers: [],
  claim: null,
  ...parts,
});

/** App Store notification about one lineage: a transaction, a renewal info or both. */
const iosNotificationOf = (
  { environment, facts, renewals }: AppleAccount,
  { picks: [pick], renewals: [renewal] }: RequestScript,
): ModelRequest => {
  const fact = pick === undefined || facts.length === 0 ? null : at(facts, pick);
  const ofLineage = renewals.filter(({ lineage }) => fact === null || lineage === lineageKeyOf(fact));
  return notificationWith({
    environment,
    facts: fact === null ? [] : [fact],
    renewals:
      renewal === undefined || ofLineage.length === 0
        ? []
        : [at(ofLineage, renewal)].map((one) => ({ ...one, inGrace: one.inGrace ?? false })),
  });
};

/** Google's answer when a notification makes the service ask. */
const androidNotificationOf = (android: readonly AndroidFact[], script: RequestScript): ModelRequest => {
  const fact = at(android, script.picks[0] ?? 0);
  return notificationWith({
    environment: fact.environment,
    facts: selectingNothing([fact]),
    renewals: [],
    answers: answersBeside(fact, android, script),
  });
};

const requestOf = ({ apple, android }: History, script: RequestScript): ModelRequest => {
  const { kind, account } = script;
  // StoreKit testing in Xcode sends no notifications.
  const notified = apple.filter(({ environment }) => environment !== "xcode");
  if (kind === "android" && android.length > 0) return androidRequestOf(android, script);
  if (kind === "android-notification" && android.length > 0) return androidNotificationOf(android, script);
  if (kind === "ios-notification" && notified.length > 0)
    return iosNotificationOf(at(notified, account), script);
  return iosRequestOf(apple, script);
};

export const LEEWAYS = [0, 15 * MINUTE, DAY] as const;

export interface Traffic {
  readonly history: History;
  readonly terms: ModelTerms;
  readonly requests: readonly ModelRequest[];
  /** For each request, the place of the customer that an operator unlinks afterwards, among the customers so far. */
  readonly unlinks: readonly number[];
  /**
   * Time of the first request: when all is said, a minute after the last word, or some time after an end that follows, and of which nobody
   * has heard.
   */
  readonly from: number;
}

/** Ends of the history's subscriptions later than its last word. */
const endsAhead = (history: History): number[] =>
  factsOf(history)
    .flatMap((fact) => {
      if (fact.store === "ios-store") return fact.end ?? [];
      return fact.kind === "one-time" ? [] : fact.lines.map(({ expiry }) => expiry);
    })
    .filter((end) => end > END);

/** A minute after the last word of a store. */
const afterLastWord = (history: History): number =>
  MINUTE +
  Math.max(
    0,
    ...factsOf(history).map((fact) => (fact.store === "ios-store" ? fact.signedAt : fact.answeredAt)),
    ...renewalsIn(history).map(({ signedAt }) => signedAt),
  );

/** So long after one of these ends; {@link END}: there is none. */
const fromEnd = (ends: readonly number[], { which, by }: { which: number; by: number }): number => {
  const end = ends[which % Math.max(1, ends.length)];
  return end === undefined ? END : end + by;
};

/** Mostly what the stores say by themselves, with a link now and then. */
export const MOSTLY_NOTIFICATIONS: readonly RequestScript["kind"][] = [
  ...KINDS.slice(2),
  "ios-notification",
  "android-notification",
];

/** Links and notifications of Google's purchases alone, so that most purchases are linked more than once. */
export const LINKS_OF_GOOGLE: readonly RequestScript["kind"][] = [
  "android",
  "android",
  "android-notification",
];

/** Requests with parts of a history of up to `people` persons, in any order, some facts more than once. */
export const trafficOf = (
  length: { readonly minLength: number; readonly maxLength: number },
  people = 3,
  kinds: readonly RequestScript["kind"][] = KINDS,
): fc.Arbitrary<Traffic> =>
  fc
    .record({
      history: historiesOf(people),
      terms: fc.record<ModelTerms>({
        transfers: choice("refuse", "refuse", "when_inactive", "always"),
        claims: choice(20, 1, 2),
        leeway: choice(...LEEWAYS),
      }),
      scripts: fc.array(requestScript(kinds), length),
      after: fc.oneof(
        fc.constant("all" as const),
        fc.constant("the last word" as const),
        fc.record({ which: fc.nat(20), by: choice(MINUTE, DAY / 12, DAY + MINUTE) }),
      ),
    })
    .map(({ history, terms, scripts, after }) => ({
      history,
      terms,
      requests: scripts.map((script) => requestOf(history, script)),
      unlinks: scripts.map(({ unlinks }) => unlinks),
      from:
        after === "all"
          ? END
          : after === "the last word"
            ? afterLastWord(history)
            : fromEnd(endsAhead(history), after),
    }));

/**
 * Moments at which an answer could change, and those just before and after: about `limit` of them at most, different
 * ones for different facts.
 */
export const moments = (
  facts: readonly Fact[],
  limit: number,
  renewals: readonly IosRenewal[] = [],
): number[] => {
  const ofRenewals = renewals.flatMap(({ graceEnd, renewalDate }) => [
    graceEnd,
    ...(renewalDate === null ? [] : [0, ...LEEWAYS, 28 * DAY, 60 * DAY].map((later) => renewalDate + later)),
  ]);
  const boundaries: readonly (number | null)[] = facts.flatMap((fact) =>
    fact.store === "ios-store"
      ? [
          fact.start,
          fact.start - MINUTE,
          ...(fact.signedAt < fact.start ? [fact.signedAt, fact.signedAt - MINUTE] : []),
          fact.end,
          fact.revokedAt,
          fact.originalStart + DAY,
          fact.start + 3 * DAY,
          fact.revokedAt === null ? null : fact.revokedAt + DAY,
        ]
      : fact.kind === "one-time"
        ? [0, 2, 4].map((days) => (fact.completedAt === null ? null : fact.completedAt + days * DAY))
        : [
            fact.start,
            ...fact.lines.flatMap(({ expiry }) => [...LEEWAYS, 2 * DAY].map((later) => expiry + later)),
          ],
  );
  const all = [
    ...new Set(
      [...boundaries, ...ofRenewals].flatMap((moment) =>
        moment === null ? [] : [moment - 1, moment, moment + 1],
      ),
    ),
  ].sort((a, b) => a - b);
  const step = Math.max(1, all.length / limit);
  const first = all.reduce((sum, moment) => sum + moment, 0) % step;
  const some = Array.from(
    { length: Math.ceil(all.length / step) },
    (_, index) => all[Math.floor(first + index * step)],
  );
  return [...some.filter((moment) => moment !== undefined), END, END + 400 * DAY];
};
