import type { IncomingMessage, ServerResponse } from "node:http";

/** Handler served beside the API. Answers its own requests; returns false, without side effects, for others. */
export type Mount = (request: IncomingMessage, response: ServerResponse) => Promise<boolean>;

export const pathOf = (request: IncomingMessage): string => request.url?.split("?", 1)[0] ?? "";

export const answer = (
  response: ServerResponse,
  status: number,
  contentType: string,
  body: string | Buffer,
  headers: Readonly<Record<string, string>> = {},
): void => {
  response.writeHead(status, {
    "Content-Type": contentType,
    "Content-Length": Buffer.byteLength(body),
    ...headers,
  });
  response.end(body);
};
