import type { IncomingMessage } from "node:http";
import { promisify } from "node:util";
import { deflate, gunzip, gzip, inflate } from "node:zlib";
import { boundedBytes } from "../../lib/bounded-text.ts";
import { codeOf } from "../local-error.ts";
import { GatewayError, type GatewayAnswer } from "./error.ts";

/** API Gateway's limit for a request body, compressed and decompressed, in bytes. */
const LARGEST_BODY = 10 * 1024 * 1024;

/** Content codings of API Gateway, the preferred one first. */
const CODINGS = [
  { name: "gzip", compress: promisify(gzip), decompress: promisify(gunzip) },
  { name: "deflate", compress: promisify(deflate), decompress: promisify(inflate) },
];

/**
 * Reads a request's body as text; null if it is empty.
 *
 * @throws GatewayError if the body exceeds the limit or does not match Content-Encoding
 * @see https://docs.aws.amazon.com/apigateway/latest/developerguide/api-gateway-make-request-with-compressed-payload.html
 */
export const readBody = async (request: IncomingMessage): Promise<string | null> => {
  // Keeps the connection open after a refusal; otherwise the caller never sees it.
  const body = await boundedBytes(request.iterator({ destroyOnReturn: false }), LARGEST_BODY);
  if (body === null) throw new GatewayError("REQUEST_TOO_LARGE");
  if (body.length === 0) return null;
  const given = request.headers["content-encoding"]?.trim().toLowerCase() ?? "identity";
  if (given === "identity") return body.toString("utf8");
  const coding = CODINGS.find(({ name }) => name === given);
  if (coding === undefined) throw new GatewayError("UNSUPPORTED_MEDIA_TYPE");
  try {
    return (await coding.decompress(body, { maxOutputLength: LARGEST_BODY })).toString("utf8");
  } catch (cause) {
    const isTooLarge = codeOf(cause) === "ERR_BUFFER_TOO_LARGE";
    throw new GatewayError(isTooLarge ? "REQUEST_TOO_LARGE" : "BAD_REQUEST_BODY", { cause });
  }
};

const acceptedCoding = (acceptEncoding: string) => {
  const qualities = new Map(
    [...acceptEncoding.toLowerCase().matchAll(/([^\s,;]+)(?:\s*;\s*q=([\d.]+))?/g)].map(
      ([, coding = "", quality = "1"]) => [coding, Number(quality)],
    ),
  );
  return CODINGS.find(({ name }) => (qualities.get(name) ?? qualities.get("*") ?? 0) > 0);
};

/** Compresses a response of at least `minimumSize` bytes for a caller that accepts it. */
export const compressed = async (
  answer: GatewayAnswer,
  acceptEncoding: string | undefined,
  minimumSize: number,
): Promise<GatewayAnswer> => {
  const coding = acceptedCoding(acceptEncoding ?? "");
  if (answer.body.length < minimumSize || coding === undefined) return answer;
  return {
    ...answer,
    headers: [...answer.headers, ["Content-Encoding", coding.name]],
    body: await coding.compress(answer.body),
  };
};
