import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { close, listen } from "../local/server.ts";

/** A server on a free port of 127.0.0.1. */
export interface Served {
  /** Such as `http://127.0.0.1:12345`. */
  readonly address: string;
  stop(): Promise<void>;
}

/** @param handle a request for which it throws is not answered: the connection ends */
export const serve = async (
  handle: (request: IncomingMessage, response: ServerResponse) => unknown,
): Promise<Served> => {
  const server = createServer((request, response) => {
    void (async () => handle(request, response))().catch(() => response.destroy());
  });
  // On a slow machine a connection idles for seconds: closed by the server as the client uses it again, it would be a fault.
  server.keepAliveTimeout = 0;
  const address = `http://127.0.0.1:${await listen(server, 0)}`;
  return { address, stop: () => close(server) };
};
