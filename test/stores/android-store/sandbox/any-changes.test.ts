import fc from "fast-check";
import {
  type AndroidChange,
  type SandboxPurchase,
  CHANGES,
} from "../../../../sandbox/android-store/shop/requests.ts";
import { ImpossibleChange } from "../../../../sandbox/routes.ts";
import { createAndroidPublisherSandbox } from "../../../../sandbox/android-store/publisher.ts";
import type { StoredPurchase, SubscriptionLine } from "../../../../sandbox/android-store/shop/purchases.ts";
import { readOneTimeProduct } from "../../../../lib/stores/android-store/one-time-product.ts";
import { readSubscription } from "../../../../lib/stores/android-store/subscription.ts";
import { DAY, NOW, PACKAGE_NAME } from "../../../../testing/support/stores/android-store.ts";
import { cases, TIMEOUT } from "../../../../testing/support/proof.ts";

const duration = fc.constantFrom("PT1H", "P1D", "P3D", "P1W", "P1M", "P1Y");

const purchase: fc.Arbitrary<SandboxPurchase> = fc.record(
  {
    packageName: fc.constant(PACKAGE_NAME),
    productKind: fc.constantFrom("subscription" as const, "one_time_product" as const),
    productIdentifier: fc.constantFrom("premium", "pro"),
    period: duration,
    pending: fc.boolean(),
    prepaid: fc.boolean(),
    test: fc.boolean(),
    quantity: fc.integer({ min: 1, max: 4 }),
    silentPeriod: fc.constantFrom(null, "P1D"),
    gracePeriod: fc.constantFrom(null, "P3D"),
    accountHold: fc.constantFrom(null, "P30D"),
  },
  { requiredKeys: ["packageName", "productKind", "productIdentifier"] },
);

/** Most purchases are acknowledged at once, so that they live on. */
const acknowledged = fc.integer({ min: 0, max: 3 }).map((of) => of > 0);

const step = fc.oneof(
  fc.record({
    kind: fc.constant("buy" as const),
    purchase,
    replaces: fc.option(fc.nat(), { nil: undefined }),
    deferred: fc.boolean(),
    acknowledged,
  }),
  fc.record({
    kind: fc.constant("change" as const),
    of: fc.nat(),
    change: fc.record(
      {
        change: fc.constantFrom(...(Object.keys(CHANGES) as AndroidChange[])),
        period: duration,
        quantity: fc.integer({ min: 1, max: 2 }),
        productIdentifier: fc.constantFrom("premium", "pro"),
        deferred: fc.boolean(),
        pending: fc.boolean(),
        adds: fc.constantFrom("maps", "music"),
        removes: fc.constantFrom("maps", "music", "premium"),
      },
      { requiredKeys: ["change"] },
    ),
  }),
  fc.record({ kind: fc.constant("wait" as const), milliseconds: fc.integer({ min: 0, max: 100 * DAY }) }),
);

const timeOf = ({ expiryTime }: SubscriptionLine): number =>
  expiryTime == null ? 0 : Date.parse(expiryTime);

type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never;

/** What the service reads of an answer. */
const readingOf = (purchaseToken: string, stored: StoredPurchase, answeredAt: number) => {
  const question = { packageName: stored.packageName, purchaseToken, productIdentifier: null, answeredAt };
  // Through JSON, as it is sent.
  const body: unknown = JSON.parse(JSON.stringify(stored.answer));
  return stored.productKind === "subscription"
    ? readSubscription(body, question)
    : readOneTimeProduct(body, question);
};

/** A sandbox to which steps happen. */
const createWorld = () => {
  const clock = { now: NOW };
  const sandbox = createAndroidPublisherSandbox({ now: () => clock.now });
  const tokens: string[] = [];

  const pick = (index: number): string => tokens.at(index % Math.max(1, tokens.length)) ?? "none";

  const attempt = (change: () => string): void => {
    try {
      const token = change();
      if (!tokens.includes(token)) tokens.push(token);
    } catch (error) {
      if (!(error instanceof ImpossibleChange)) throw error;
    }
  };

  const expectReadable = (): void => {
    for (const token of tokens) {
      const stored = sandbox.read(token);
      if (stored !== undefined)
        expect([null, "product-not-in-purchase"]).not.toContain(readingOf(token, stored, clock.now));
    }
  };

  /** End of a subscription that is active; null: it is none. */
  const activeEnd = (token: string): number | null => {
    const stored = sandbox.read(token);
    return stored?.productKind === "subscription" &&
      stored.answer.subscriptionState === "SUBSCRIPTION_STATE_ACTIVE"
      ? Math.max(...(stored.answer.lineItems ?? []).map(timeOf))
      : null;
  };

  const wait = async (until: number): Promise<void> => {
    for (let next = sandbox.nextEventAt(); next !== null && next <= until; next = sandbox.nextEventAt()) {
      clock.now = Math.max(clock.now, next);
      const before = tokens.map(activeEnd);
      await sandbox.runUntil(next);
      for (const [index, token] of tokens.entries())
        expect(activeEnd(token) ?? Infinity).toBeGreaterThanOrEqual(before[index] ?? 0);
      expectReadable();
    }
    clock.now = until;
    await sandbox.runUntil(until);
    expect(sandbox.nextEventAt() ?? Infinity).toBeGreaterThan(until);
  };

  const make = async (step: Step): Promise<void> => {
    if (step.kind === "wait") await wait(clock.now + step.milliseconds);
    else if (step.kind === "change") attempt(() => sandbox.change(pick(step.of), step.change));
    else {
      const { purchase, replaces, deferred } = step;
      const replacing = replaces === undefined ? {} : { replaces: pick(replaces), deferred };
      attempt(() => sandbox.buy({ ...purchase, ...replacing }));
      if (step.acknowledged)
        attempt(() => sandbox.change(pick(tokens.length - 1), { change: "acknowledge" }));
    }
    expectReadable();
  };
  return { clock, sandbox, tokens, make };
};

test(
  "after any changes, answers stay readable and a saved store continues",
  async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 25 }), async (steps) => {
        const { make, sandbox, tokens, clock } = createWorld();
        for (const step of steps) await make(step);
        const restored = createAndroidPublisherSandbox({ now: () => clock.now, saved: sandbox.save() });
        expect(restored.nextEventAt()).toBe(sandbox.nextEventAt());
        expect(tokens.map(restored.read)).toEqual(tokens.map(sandbox.read));
      }),
      cases(300, 20_000),
    );
  },
  TIMEOUT,
);
