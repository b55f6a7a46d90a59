import * as z from "zod";

/** Answer of the service, as far as the smoke test looks at it. */
export interface Answer {
  readonly status: number;
  readonly error: string | null;
  readonly customerIdentifier: string | null;
  readonly entitlements: readonly { readonly identifier: string; readonly status: string }[];
}

export interface Question {
  readonly method: "GET" | "POST";
  readonly path: string;
  readonly key?: string;
  readonly body?: object;
}

const ANSWERED_WITHIN_MILLISECONDS = 35_000;

const answerBody = z.object({
  error: z.string().nullish(),
  customerIdentifier: z.string().nullish(),
  entitlements: z.array(z.object({ identifier: z.string(), status: z.string() })).default([]),
});

/** Asks the deployed service. An answer that is not its own JSON has the error `NOT_THE_SERVICE`. */
export const ask = async (address: string, { method, path, key, body }: Question): Promise<Answer> => {
  const response = await fetch(`${address.replace(/\/$/, "")}${path}`, {
    method,
    headers: {
      ...(key !== undefined && { authorization: `Bearer ${key}` }),
      ...(body !== undefined && { "content-type": "application/json" }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(ANSWERED_WITHIN_MILLISECONDS),
  });
  const read = answerBody.safeParse(await response.json().catch(() => null));
  const {
    error = null,
    customerIdentifier = null,
    entitlements,
  } = read.data ?? {
    error: "NOT_THE_SERVICE",
    entitlements: [],
  };
  return { status: response.status, error, customerIdentifier, entitlements };
};
