import type { Server } from "node:http";
import { LocalError } from "./local-error.ts";

/** Listens on 127.0.0.1, and resolves with the port. */
export const listen = async (server: Server, port: number): Promise<number> =>
  new Promise((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) =>
      reject(
        new LocalError(
          error.code === "EADDRINUSE"
            ? `Port ${port} is taken; stop what uses it, or choose another with PORT=<port>.`
            : `Port ${port} cannot be used (${error.code ?? error.message}); choose another with PORT=<port>.`,
        ),
      ),
    );
    server.listen(port, "127.0.0.1", () => {
      const address = server.address();
      resolve(typeof address === "object" && address !== null ? address.port : port);
    });
  });

export const close = async (server: Server): Promise<void> =>
  new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
