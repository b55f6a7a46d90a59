import type { IncomingMessage, ServerResponse } from "node:http";

/** What is served beside the API. Answers the requests that are its own; false, and nothing is done, for others. */
export type Mount = (request: IncomingMessage, response: ServerResponse) => Promise<boolean>;

export const pathOf = (request: IncomingMessage): string => request.url?.split("?", 1)[0] ?? "";

/** Sends a whole answer. */
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
