import { validateHeaderName, validateHeaderValue } from "node:http";
import * as z from "zod";
import { GatewayError, type GatewayAnswer } from "./error.ts";

const headerValue = z.union([z.string(), z.number(), z.boolean()]).transform(String);

const proxyResponse = z.object({
  statusCode: z.coerce.number().int().min(100).max(599),
  headers: z.record(z.string(), headerValue).nullish(),
  multiValueHeaders: z.record(z.string(), z.array(headerValue)).nullish(),
  body: z.string().nullish(),
  isBase64Encoded: z.boolean().optional(),
});

/** Headers that the gateway sets itself. */
const NOT_TAKEN = new Set(["connection", "content-length", "transfer-encoding"]);

const requireValid = (name: string, value: string): void => {
  try {
    validateHeaderName(name);
    validateHeaderValue(name, value);
  } catch (cause) {
    throw new GatewayError("DEFAULT_5XX", { cause });
  }
};

/**
 * Parses a function's response as a REST API does.
 *
 * @throws GatewayError if it does not have the documented shape
 * @see https://docs.aws.amazon.com/apigateway/latest/developerguide/set-up-lambda-proxy-integrations.html
 */
export const readProxyResponse = (payload: unknown): GatewayAnswer => {
  const parsed = proxyResponse.safeParse(payload);
  if (!parsed.success) throw new GatewayError("DEFAULT_5XX", { cause: parsed.error });
  const { statusCode, headers, multiValueHeaders, body } = parsed.data;
  const several = Object.entries(multiValueHeaders ?? {});
  const severalNames = new Set(several.map(([name]) => name.toLowerCase()));
  const given = [
    ...Object.entries(headers ?? {}).filter(([name]) => !severalNames.has(name.toLowerCase())),
    ...several.flatMap(([name, values]) => values.map((value) => [name, value] as const)),
  ].filter(([name]) => !NOT_TAKEN.has(name.toLowerCase()));
  for (const [name, value] of given) requireValid(name, value);
  const isTyped = given.some(([name]) => name.toLowerCase() === "content-type");
  return {
    status: statusCode,
    headers: isTyped ? given : [...given, ["Content-Type", "application/json"]],
    body: Buffer.from(body ?? ""),
  };
};
