import type { IncomingMessage } from "node:http";
import { promisify } from "node:util";
import { gunzip, inflate } from "node:zlib";
import { GatewayError } from "./error.ts";

/** API Gateway's limit for a request body, compressed and decompressed, in bytes. */
const LARGEST_BODY = 10 * 1024 * 1024;

const DECOMPRESS = { gzip: promisify(gunzip), deflate: promisify(inflate) };

const isDecompressed = (coding: string): coding is keyof typeof DECOMPRESS => coding in DECOMPRESS;

const received = async (request: IncomingMessage): Promise<Buffer> => {
  if (Number(request.headers["content-length"] ?? 0) > LARGEST_BODY)
    throw new GatewayError("REQUEST_TOO_LARGE");
  const chunks: Buffer[] = [];
  let size = 0;
  // Keeps the connection open after a refusal; otherwise the caller never sees it.
  for await (const chunk of request.iterator({ destroyOnReturn: false })) {
    size += chunk.length;
    if (size > LARGEST_BODY) throw new GatewayError("REQUEST_TOO_LARGE");
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
};

const isTooLarge = (error: unknown): boolean =>
  typeof error === "object" && error !== null && "code" in error && error.code === "ERR_BUFFER_TOO_LARGE";

/**
 * Reads a request's body as text; null if it is empty.
 *
 * @param decompresses whether the API has compression enabled and therefore accepts compressed requests
 * @throws GatewayError if the body exceeds the limit or does not match Content-Encoding
 * @see https://docs.aws.amazon.com/apigateway/latest/developerguide/api-gateway-make-request-with-compressed-payload.html
 */
export const readBody = async (request: IncomingMessage, decompresses: boolean): Promise<string | null> => {
  const body = await received(request);
  if (body.length === 0) return null;
  const coding = request.headers["content-encoding"]?.trim().toLowerCase() ?? "identity";
  if (!decompresses || coding === "identity") return body.toString("utf8");
  if (!isDecompressed(coding)) throw new GatewayError("UNSUPPORTED_MEDIA_TYPE");
  try {
    const decompressed = await DECOMPRESS[coding](body, { maxOutputLength: LARGEST_BODY });
    return decompressed.toString("utf8");
  } catch (cause) {
    throw new GatewayError(isTooLarge(cause) ? "REQUEST_TOO_LARGE" : "BAD_REQUEST_BODY", { cause });
  }
};
