import { createServer, type IncomingMessage, type Server } from "node:http";
import { boundedText } from "../lib/bounded-text.ts";
import { LocalError } from "./local-error.ts";

interface PortUse {
  /** Unset: 127.0.0.1; null: all addresses. */
  readonly host?: null;
  /** Variable that chooses another port; unset: `PORT`. */
  readonly variable?: string;
  /** What may hold a taken port. */
  readonly hint?: string;
}

/** @throws LocalError if the port cannot be used */
export const listen = async (
  server: Server,
  port: number,
  { host, variable = "PORT", hint }: PortUse = {},
): Promise<number> =>
  new Promise((resolve, reject) => {
    server.once("error", ({ code, message }: NodeJS.ErrnoException) => {
      const reason =
        code === "EADDRINUSE"
          ? `is taken; stop what uses it${hint === undefined ? "" : ` (${hint})`}, or`
          : `cannot be used (${code ?? message});`;
      reject(new LocalError(`Port ${port} ${reason} choose another with ${variable}=<port>.`));
    });
    server.listen({ port, ...(host !== null && { host: "127.0.0.1" }) }, () => {
      const address = server.address();
      resolve(typeof address === "object" && address !== null ? address.port : port);
    });
  });

export const close = async (server: Server): Promise<void> =>
  new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });

/** @throws LocalError if the port is in use on any address, so that nothing is started on it */
export const requireFreePort = async (port: number, use: Omit<PortUse, "host"> = {}): Promise<void> => {
  const server = createServer();
  await listen(server, port, { ...use, host: null });
  await close(server);
};

const LARGEST_BODY = 64 * 1024;

/** Reads a command's body. Null if it is larger than 64 KiB. */
export const readText = async (request: IncomingMessage): Promise<string | null> => {
  const text = await boundedText(request.iterator({ destroyOnReturn: false }), LARGEST_BODY);
  request.resume();
  return text;
};
