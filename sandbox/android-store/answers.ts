import type { IncomingMessage, ServerResponse } from "node:http";

/** Responses in the shapes of Google's APIs, and helpers to read requests. */

export interface Answer {
  readonly status: number;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Error response of Google's APIs. */
export const googleError = (status: number, reason: string, message: string, location?: string): Answer => ({
  status,
  body: {
    error: {
      code: status,
      message,
      errors: [
        {
          message,
          domain: "androidpublisher",
          reason,
          ...(location !== undefined && { location, locationType: "parameter" }),
        },
      ],
    },
  },
});

/** Error response of token endpoints (RFC 6749, 5.2). */
export const tokenError = (error: string, description: string): Answer => ({
  status: 400,
  body: { error, error_description: description },
});

export const controlError = (status: number, message: string): Answer => ({ status, body: { message } });

export const NO_APPLICATION = googleError(
  404,
  "applicationNotFound",
  "No application was found for the given package name.",
  "packageName",
);
export const NO_TOKEN = googleError(
  404,
  "purchaseTokenNotFound",
  "The purchase token was not found.",
  "token",
);
export const OVER_LIMIT = googleError(429, "rateLimitExceeded", "Rate limit exceeded.");
export const WRONG_PRODUCT = googleError(
  400,
  "purchaseTokenDoesNotMatchProductId",
  "The purchase token does not match the product ID.",
  "token",
);

export const readBody = async (request: IncomingMessage): Promise<string> => {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(Buffer.from(chunk));
  return Buffer.concat(chunks).toString("utf8");
};

/** Decodes a path segment; empty, which names nothing, if its escapes are invalid. */
export const decode = (encoded: string): string => {
  try {
    return decodeURIComponent(encoded);
  } catch {
    return "";
  }
};

export const send = (response: ServerResponse, { status, body, headers }: Answer): void => {
  if (body === undefined) {
    response.writeHead(status, headers).end();
    return;
  }
  const html = typeof body === "string";
  response
    .writeHead(status, {
      "content-type": html ? "text/html; charset=utf-8" : "application/json; charset=utf-8",
      ...headers,
    })
    .end(html ? body : JSON.stringify(body));
};
