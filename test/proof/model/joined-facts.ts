import { statedPurchases } from "../../../lib/customers/storing/verified-facts.ts";
import type { Holding } from "../../../lib/entitlements/holding.ts";
import { joinAll } from "../../../lib/entitlements/join.ts";
import type { Purchase } from "../../../lib/entitlements/purchase.ts";
import { customerId } from "../../../lib/identifiers.ts";
import { toPurchases, toRenewal } from "./as-verified.ts";
import type { Fact, IosRenewal } from "./stated-facts.ts";

/** What the facts state, each purchase with those that it mentions. */
export const statedBy = (facts: readonly Fact[]): readonly Purchase[] =>
  statedPurchases({ purchases: toPurchases(facts), renewals: [] });

/** All facts joined at once. */
export const joinedFacts = (facts: readonly Fact[], renewals: readonly IosRenewal[] = []): Purchase[] =>
  joinAll([...statedBy(facts), ...renewals.map(toRenewal)]);

const SOMEBODY = customerId("00000000-0000-7000-8000-000000000001");

export const heldBySomebody = (purchases: readonly Purchase[]): readonly Holding[] =>
  purchases.map((purchase) => ({ customerIdentifier: SOMEBODY, assertedBy: null, purchase }));
