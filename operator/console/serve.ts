import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { Connection } from "../connection.ts";
import { OperatorError } from "../operator-error.ts";
import type { Effects } from "../session.ts";
import { CONSOLE_PATH, createTokenGuard } from "./guard.ts";
import { createConsole } from "./mount.ts";

/** Serves the console of a table on 127.0.0.1, to one browser. */
export const serveConsole = async (
  connection: Connection,
  effects: Effects,
  port: number,
  log: (line: string) => void,
) => {
  const server = createServer();
  server.listen(port, "127.0.0.1");
  await once(server, "listening").catch((cause: unknown) => {
    throw new OperatorError(`Port ${port} cannot be used: choose another with --port.`, { cause });
  });
  const bound = server.address();
  const listening = typeof bound === "object" && bound !== null ? bound.port : port;
  const guard = createTokenGuard(listening);
  const handle = createConsole({ connection, effects, guard, sandbox: null, requests: null, log });
  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const isAnswered = await handle(request, response);
    if (!isAnswered) response.writeHead(302, { Location: CONSOLE_PATH }).end();
  };
  server.on("request", (request: IncomingMessage, response: ServerResponse) => {
    serve(request, response).catch((error: unknown) => {
      log(String(error));
      response.destroy();
    });
  });
  return {
    address: `http://127.0.0.1:${listening}${CONSOLE_PATH}?token=${guard.token}`,
    stop: async (): Promise<void> => {
      server.close();
      server.closeAllConnections();
      await once(server, "close");
    },
  };
};
