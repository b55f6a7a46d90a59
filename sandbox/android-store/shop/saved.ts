import * as z from "zod";
import { isInstant } from "../../../lib/entitlements/time.ts";
import { period, type OneTimePurchase, type SubscriptionPurchase } from "./purchases.ts";

/** Purchases as the data folder keeps them. */

const isObject = (value: unknown): boolean => typeof value === "object" && value !== null;
const instant = z.number().refine(isInstant);

const oneTimeTerms = z.object({ acknowledgeBy: instant.nullable() });

export const soldPurchase = z.discriminatedUnion("productKind", [
  z.object({
    packageName: z.string(),
    productKind: z.literal("subscription"),
    answer: z.custom<SubscriptionPurchase>(isObject),
    terms: oneTimeTerms
      .extend({
        period,
        silentPeriod: period.nullable(),
        gracePeriod: period.nullable(),
        accountHold: period.nullable(),
        paymentFails: z.boolean(),
        pause: period.nullable(),
        paidUntil: instant.nullable(),
        stateUntil: instant.nullable(),
        orderedAt: instant.nullable(),
      })
      .nullable(),
  }),
  z.object({
    packageName: z.string(),
    productKind: z.literal("one_time_product"),
    answer: z.custom<OneTimePurchase>(isObject),
    terms: oneTimeTerms.nullable(),
  }),
]);
