import type { IncomingMessage } from "node:http";
import * as z from "zod";
import { parsePeriod, plusPeriod, type Instant } from "../../lib/entitlements/time.ts";
import { answer, pathOf, type Mount } from "../mount.ts";
import type { JwsSigner } from "./signing.ts";
import { newIdentifier, PRODUCT_TYPES, signPurchases, type SandboxTransaction } from "./app-store.ts";

const LARGEST_BODY = 1024 * 1024;
const ENVIRONMENTS = { production: "Production", sandbox: "Sandbox" } as const;

const text = z.string().min(1);
const time = z.iso.datetime({ offset: true }).transform((value): Instant => Date.parse(value));
const period = z.string().transform((value, context) => {
  const parsed = parsePeriod(value);
  if (parsed !== null) return parsed;
  context.addIssue({ code: "custom", message: "must be an ISO 8601 duration, such as P1M" });
  return z.NEVER;
});

const boughtTransaction = z.strictObject({
  productIdentifier: text,
  type: z.enum(PRODUCT_TYPES).default("Auto-Renewable Subscription"),
  /** Unset: now. */
  purchaseDate: time.optional(),
  /** Subscriptions only: the end, or else the duration in `period`; default: one month. */
  expiresDate: time.optional(),
  period: period.optional(),
  transactionIdentifier: text.optional(),
  originalTransactionIdentifier: text.optional(),
  revocationDate: time.optional(),
  isUpgraded: z.boolean().optional(),
  inAppOwnershipType: z.enum(["PURCHASED", "FAMILY_SHARED"]).optional(),
});

const bought = z.strictObject({
  bundleIdentifier: text.optional(),
  /** The app's Apple ID, which is verified in production; unset: the demo application's. */
  appAppleIdentifier: z.int().positive().optional(),
  environment: z.enum(["production", "sandbox"]).default("sandbox"),
  /** The person: the same identifier is the same person. Null: an app from before these identifiers. Unset: a new person. */
  appTransactionIdentifier: text.nullable().optional(),
  transactions: z.array(boughtTransaction).default([]),
  /** Copied into the response. */
  applicationAccountIdentifier: z.string().nullable().optional(),
});

const toTransaction = (
  { period, purchaseDate, expiresDate, ...transaction }: z.output<typeof boughtTransaction>,
  now: Instant,
): SandboxTransaction => {
  const from = purchaseDate ?? now;
  const until = expiresDate ?? plusPeriod(from, period ?? { months: 1, milliseconds: 0 });
  return {
    productIdentifier: transaction.productIdentifier,
    type: transaction.type,
    purchaseDate: from,
    signedDate: now,
    ...(transaction.type === "Auto-Renewable Subscription" && { expiresDate: until }),
    ...(transaction.transactionIdentifier !== undefined && {
      transactionIdentifier: transaction.transactionIdentifier,
    }),
    ...(transaction.originalTransactionIdentifier !== undefined && {
      originalTransactionIdentifier: transaction.originalTransactionIdentifier,
    }),
    ...(transaction.revocationDate !== undefined && { revocationDate: transaction.revocationDate }),
    ...(transaction.isUpgraded !== undefined && { isUpgraded: transaction.isUpgraded }),
    ...(transaction.inAppOwnershipType !== undefined && {
      inAppOwnershipType: transaction.inAppOwnershipType,
    }),
  };
};

const readJson = async (request: IncomingMessage): Promise<unknown> => {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request.iterator({ destroyOnReturn: false })) {
    size += chunk.length;
    if (size > LARGEST_BODY) return undefined;
    chunks.push(chunk);
  }
  try {
    return JSON.parse(Buffer.concat(chunks).toString("utf8"));
  } catch {
    return undefined;
  }
};

export interface IosPurchasesOptions {
  readonly prefix: string;
  readonly signer: JwsSigner;
  /** Defaults for purchases that name no bundle or no Apple ID. */
  readonly bundleIdentifier: string;
  readonly appAppleIdentifier: number;
  readonly now: () => Instant;
}

/**
 * A sandbox iOS store. `POST <prefix>/purchases` takes purchases and returns them as an app would send them to the service:
 * signed, as the body of a synchronize or link request.
 *
 * ```sh
 * curl -s localhost:3000/sandbox/ios-store/purchases \
 *   -d '{ "transactions": [{ "productIdentifier": "com.example.demo.premium.monthly", "period": "P1M" }] }' |
 *   curl -s localhost:3000/v1/customers/ios-store/synchronize -H 'content-type: application/json' -d @-
 * ```
 */
export const createIosPurchases =
  ({ prefix, signer, bundleIdentifier, appAppleIdentifier, now }: IosPurchasesOptions): Mount =>
  async (request, response) => {
    if (request.method !== "POST" || pathOf(request) !== `${prefix}/purchases`) return false;
    const parsed = bought.safeParse(await readJson(request));
    request.resume();
    if (!parsed.success) {
      answer(response, 400, "application/json", JSON.stringify({ message: z.prettifyError(parsed.error) }));
      return true;
    }
    const { transactions, applicationAccountIdentifier, ...customer } = parsed.data;
    const environment = ENVIRONMENTS[customer.environment];
    const moment = now();
    const signed = signPurchases(
      {
        bundleIdentifier: customer.bundleIdentifier ?? bundleIdentifier,
        appAppleIdentifier: customer.appAppleIdentifier ?? appAppleIdentifier,
        environment,
        appTransactionIdentifier:
          customer.appTransactionIdentifier === undefined
            ? newIdentifier(environment)
            : customer.appTransactionIdentifier,
        receiptCreationDate: moment,
        transactions: transactions.map((transaction) => toTransaction(transaction, moment)),
      },
      signer,
    );
    answer(
      response,
      200,
      "application/json",
      JSON.stringify({
        ...signed,
        ...(applicationAccountIdentifier !== undefined && { applicationAccountIdentifier }),
      }),
    );
    return true;
  };
