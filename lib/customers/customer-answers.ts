import type { Application } from "../applications/application.ts";
import type { LinkResponse, SynchronizeResponse } from "../contract/schemas.ts";
import { entitlementsAt } from "../entitlements/entitlements.ts";
import type { Instant } from "../entitlements/time.ts";
import type { ResolvedCustomer } from "./storing/store-facts.ts";

export const presentCustomer = (
  application: Application,
  customer: ResolvedCustomer | null,
  moment: Instant,
): SynchronizeResponse => {
  if (customer === null) return { customerIdentifier: null, entitlements: [] };
  const held = [customer, ...(customer.others ?? [])].flatMap(({ identifier, holdings }) =>
    holdings.map((purchase) => ({ customerIdentifier: identifier, assertedBy: null, purchase })),
  );
  return {
    customerIdentifier: customer.identifier,
    entitlements: entitlementsAt(moment, held, application),
  };
};

export const presentLink = (
  application: Application,
  customer: ResolvedCustomer | null,
  moment: Instant,
): LinkResponse => {
  const { customerIdentifier, entitlements } = presentCustomer(application, customer, moment);
  return { customerIdentifier, applicationIdentifier: application.identifier, entitlements };
};
