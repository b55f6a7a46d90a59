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
  let listening = port;
  const guard = createTokenGuard(() => listening);
  const handle = createConsole({ connection, effects, guard, sandbox: null, requests: null, log });
  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const isAnswered = await handle(request, response);
    if (!isAnswered) response.writeHead(302, { Location: CONSOLE_PATH }).end();
  };
  const server = createServer((request, response) => {
    serve(request, response).catch((error: unknown) => {
      log(String(error));
      response.destroy();
    });
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", (error) =>
      reject(new OperatorError(`Port ${port} cannot be used: choose another with --port.`, { cause: error })),
    );
    server.listen(port, "127.0.0.1", resolve);
  });
  const bound = server.address();
  if (typeof bound === "object" && bound !== null) listening = bound.port;
  return {
    address: `http://127.0.0.1:${listening}${CONSOLE_PATH}?token=${guard.token}`,
    stop: async () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
};
