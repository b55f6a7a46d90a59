import { promisify } from "node:util";
import { deflate, gzip } from "node:zlib";
import { validateHeaderName, validateHeaderValue } from "node:http";
import * as z from "zod";
import { GatewayError } from "./error.ts";

const headerValue = z.union([z.string(), z.number(), z.boolean()]).transform(String);

/** Shape of a function's response. */
const proxyResponse = z.object({
  statusCode: z.coerce.number().int().min(100).max(599),
  headers: z.record(z.string(), headerValue).nullish(),
  multiValueHeaders: z.record(z.string(), z.array(headerValue)).nullish(),
  body: z.string().nullish(),
  isBase64Encoded: z.boolean().optional(),
});

export interface ProxyAnswer {
  readonly status: number;
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: Buffer;
}

/** Headers that the gateway sets itself. */
const NOT_TAKEN = new Set(["connection", "content-length", "transfer-encoding"]);

const validated = (name: string, value: string): readonly [string, string] => {
  try {
    validateHeaderName(name);
    validateHeaderValue(name, value);
  } catch (cause) {
    throw new GatewayError("DEFAULT_5XX", { cause });
  }
  return [name, value];
};

/**
 * Parses a function's response as a REST API does.
 *
 * @throws GatewayError if it does not have the documented shape
 * @see https://docs.aws.amazon.com/apigateway/latest/developerguide/set-up-lambda-proxy-integrations.html
 */
export const readProxyResponse = (payload: unknown): ProxyAnswer => {
  const parsed = proxyResponse.safeParse(payload);
  if (!parsed.success) throw new GatewayError("DEFAULT_5XX", { cause: parsed.error });
  const { statusCode, headers, multiValueHeaders, body } = parsed.data;
  const several = Object.entries(multiValueHeaders ?? {});
  const severalNames = new Set(several.map(([name]) => name.toLowerCase()));
  const given = [
    ...Object.entries(headers ?? {}).filter(([name]) => !severalNames.has(name.toLowerCase())),
    ...several.flatMap(([name, values]) => values.map((value) => [name, value] as const)),
  ]
    .filter(([name]) => !NOT_TAKEN.has(name.toLowerCase()))
    .map(([name, value]) => validated(name, value));
  const typed = given.some(([name]) => name.toLowerCase() === "content-type");
  return {
    status: statusCode,
    headers: typed ? given : [...given, ["Content-Type", "application/json"]],
    body: Buffer.from(body ?? ""),
  };
};

const COMPRESS = { gzip: promisify(gzip), deflate: promisify(deflate) };

const acceptedCoding = (acceptEncoding: string): keyof typeof COMPRESS | null => {
  const accepted = new Map(
    acceptEncoding.split(",").map((entry) => {
      const [coding = "", ...parameters] = entry.split(";").map((part) => part.trim().toLowerCase());
      const quality = parameters.find((parameter) => parameter.startsWith("q="))?.slice(2) ?? "1";
      return [coding, Number(quality)];
    }),
  );
  const accepts = (coding: string): boolean => (accepted.get(coding) ?? accepted.get("*") ?? 0) > 0;
  if (accepts("gzip")) return "gzip";
  return accepts("deflate") ? "deflate" : null;
};

/** Compresses a response of at least `minimumSize` bytes for a caller that accepts it. */
export const compressed = async (
  answer: ProxyAnswer,
  acceptEncoding: string | undefined,
  minimumSize: number | undefined,
): Promise<ProxyAnswer> => {
  const coding = acceptedCoding(acceptEncoding ?? "");
  const alreadyCoded = answer.headers.some(([name]) => name.toLowerCase() === "content-encoding");
  if (minimumSize === undefined || answer.body.length < minimumSize || coding === null || alreadyCoded)
    return answer;
  return {
    ...answer,
    headers: [...answer.headers, ["Content-Encoding", coding]],
    body: await COMPRESS[coding](answer.body),
  };
};
