import * as z from "zod";
import { parseJson } from "../../lib/bounded-text.ts";
import type { GatewayAnswer, GatewayError } from "./answer.ts";

export interface AnsweredRequest {
  readonly method: string;
  readonly path: string;
  readonly milliseconds: number;
  /** The gateway's own refusal; null: a function has answered. */
  readonly error: GatewayError | null;
  readonly answered: GatewayAnswer;
  /** The answering function's line; null: there is none. */
  readonly line: FunctionLine | null;
}

/** A function's log line, as far as it gives reasons. Metrics have no message. */
const functionLine = z.object({
  outcome: z.string(),
  message: z.string(),
  because: z.string().optional(),
  refusedBecause: z.string().optional(),
  storeStatus: z.number().optional(),
  storeReason: z.string().optional(),
  grantsNothing: z
    .array(
      z.object({
        store: z.string(),
        productIdentifier: z.string(),
        basePlanIdentifier: z.string().nullable(),
        purchaseOptionIdentifier: z.string().nullable(),
        because: z.string(),
      }),
    )
    .optional(),
});
export type FunctionLine = z.infer<typeof functionLine>;

/** The line that gives reasons; null: the text is another one. */
export const functionLineIn = (text: string): FunctionLine | null =>
  functionLine.safeParse(parseJson(text.slice(text.indexOf("{")))).data ?? null;

const refusalBody = z.object({
  error: z.string(),
  message: z.string(),
  issues: z.array(z.object({ path: z.string(), message: z.string() })).optional(),
});

/** The functions' one-word reasons of a refusal, and of a product that grants nothing. */
const BECAUSE: Readonly<Record<string, string>> = {
  malformed: "the API key is malformed",
  unknown: "the API key is unknown",
  expired: "the API key has expired",
  revoked: "the API key is revoked",
  unmapped: "the catalog does not map it",
  "no-access-duration": "it is rented, and its product has no accessDuration",
};

/** Why an authorizer refuses a key, from what it writes; undefined: the text does not say. */
export const becauseIn = (text: string): string | undefined => {
  const because = functionLineIn(text)?.because;
  return because && (BECAUSE[because] ?? because);
};

const nothingText = ({ grantsNothing = [] }: FunctionLine): readonly string[] =>
  grantsNothing.map(
    ({ store, productIdentifier, basePlanIdentifier, purchaseOptionIdentifier, because }) =>
      `${[
        `${store} ${productIdentifier}`,
        ...(basePlanIdentifier === null ? [] : [`base plan ${basePlanIdentifier}`]),
        ...(purchaseOptionIdentifier === null ? [] : [`purchase option ${purchaseOptionIdentifier}`]),
      ].join(", ")} grants nothing: ${BECAUSE[because] ?? because}`,
  );

/** The functions' one-word reasons not to ask a store. */
const UNASKED_BECAUSE: Readonly<Record<string, string>> = {
  secretIsUnreadable:
    "there is no secret of the manifest's name: begin it with customer-entitlements/, or start with --secrets and a file of that name",
  secretIsNoServiceAccount: "the manifest's secret is no service account's key",
  secretIsNoPrivateKey: "the manifest's secret is not the text of a .p8 file",
  workloadIdentityIsNoExternalAccount: "the manifest's workload identity is no external account",
};

/** The most specific known reason. */
const reasonText = (
  line: FunctionLine | null,
  error: GatewayError | null,
  { message, issues = [] }: z.infer<typeof refusalBody>,
): string => {
  if (error?.options.because !== undefined) return error.options.because;
  if (issues.length > 0)
    return issues
      .slice(0, 3)
      .map(({ path, message }) => (path === "" ? message : `${path} ${message}`))
      .join(", ");
  const { because, refusedBecause, storeStatus, storeReason } = line ?? {};
  if (because !== undefined) return BECAUSE[because] ?? because;
  if (refusedBecause !== undefined) return `${message} (${refusedBecause.replaceAll("_", " ")})`;
  const unasked = UNASKED_BECAUSE[storeReason ?? ""];
  if (unasked !== undefined) return unasked;
  const answered = [storeStatus, storeReason].filter((part) => part !== undefined);
  return answered.length > 0 ? `the store answered ${answered.join(" ")}` : message;
};

/** `POST /v1/customers/ios-store/link 400 12 ms INVALID_APP_TRANSACTION: the app's Apple ID is 12, the manifest says 34`. */
export const requestText = (request: AnsweredRequest): string => {
  const { method, path, milliseconds, error, answered, line } = request;
  const { status, body } = answered;
  const refused = status < 400 ? undefined : refusalBody.safeParse(parseJson(body.toString("utf8"))).data;
  return [
    `${method} ${path} ${status} ${Math.round(milliseconds)} ms`,
    refused === undefined ? "" : ` ${refused.error}: ${reasonText(line, error, refused)}`,
    ...(line === null ? [] : nothingText(line)).map((text) => `; ${text}`),
  ].join("");
};
