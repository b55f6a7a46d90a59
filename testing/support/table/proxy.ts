import type { IncomingMessage, ServerResponse } from "node:http";
import { serve, type Served } from "../../server.ts";

/** A request for DynamoDB, before it is passed on. */
export interface ProxiedRequest {
  /** As DynamoDB names it: `TransactWriteItems`. */
  readonly operation: string;
  readonly incoming: IncomingMessage;
  readonly body: Buffer;
}

/**
 * A proxy in front of DynamoDB.
 *
 * @param target the database's address
 * @param handle answers a request by itself, or passes it on, which answers with the database's bytes
 */
export const startProxy = async (
  target: string,
  handle: (
    request: ProxiedRequest,
    response: ServerResponse,
    pass: () => Promise<() => void>,
  ) => Promise<void>,
): Promise<Served> =>
  serve(async (incoming, response) => {
    const body = Buffer.concat(await incoming.toArray());
    const operation = String(incoming.headers["x-amz-target"]).split(".").at(-1) ?? "";
    const pass = async (): Promise<() => void> => {
      const { host: _, connection: __, "content-length": ___, ...headers } = incoming.headers;
      const answer = await fetch(target, {
        method: incoming.method ?? "POST",
        headers: Object.entries(headers).map(([name, value]) => [name, String(value)]),
        body,
      });
      const bytes = Buffer.from(await answer.arrayBuffer());
      const type = answer.headers.get("content-type") ?? "application/x-amz-json-1.0";
      return () => void response.writeHead(answer.status, { "content-type": type }).end(bytes);
    };
    await handle({ operation, incoming, body }, response, pass);
  });
