import * as z from "zod/mini";
import { once } from "../../once.ts";
import { parseJsonObject } from "./signatures/encoding.ts";
import { splitJws } from "./signatures/jws.ts";

/** Identifiers of a signed transaction, and the account that the app gave to the store with it. */
export interface TransactionNames {
  readonly transactionIdentifier: string;
  readonly originalTransactionIdentifier: string;
  /** As the payload writes it, in lower case. */
  readonly environment: string;
  /** The account token that the app chose; null: none. It proves nothing. */
  readonly accountToken: string | null;
}

const payload = once(() =>
  z.object({
    transactionId: z.string(),
    originalTransactionId: z.string(),
    environment: z.string(),
    appAccountToken: z.nullish(z.string()),
  }),
);

/** Names in a transaction's JWS, without verifying it: for a report only. Null: it has none. */
export const transactionNamesIn = (compact: string): TransactionNames | null => {
  const jws = splitJws(compact);
  if (jws.outcome === "rejected") return null;
  const { data } = payload().safeParse(parseJsonObject(jws.payload.payload));
  return data === undefined
    ? null
    : {
        transactionIdentifier: data.transactionId,
        originalTransactionIdentifier: data.originalTransactionId,
        environment: data.environment.toLowerCase(),
        accountToken: data.appAccountToken ?? null,
      };
};
