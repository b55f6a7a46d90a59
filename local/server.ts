import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { Semaphore } from "async-mutex";
import { boundedText } from "../lib/bounded-text.ts";
import type { Mount } from "../sandbox/routes.ts";

/** Why the local service cannot run, in one sentence that says what to do. */
export class LocalError extends Error {
  override readonly name: string = "LocalError";
}

/** An error's code, such as `EEXIST`; its text where it has none. */
export const codeOf = (error: unknown): string =>
  typeof error === "object" && error !== null && "code" in error ? String(error.code) : String(error);

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
): Promise<number> => {
  try {
    await once(server.listen({ port, ...(host !== null && { host: "127.0.0.1" }) }), "listening");
  } catch (cause) {
    const reason =
      codeOf(cause) === "EADDRINUSE"
        ? `is taken; stop what uses it${hint === undefined ? "" : ` (${hint})`}, or`
        : `cannot be used (${codeOf(cause)});`;
    throw new LocalError(`Port ${port} ${reason} choose another with ${variable}=<port>.`, { cause });
  }
  const address = server.address();
  return typeof address === "object" && address !== null ? address.port : port;
};

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

const REQUESTS_AT_ONCE = 10_000;

/** Opens the service's port. It listens at once; requests wait for `serve`. */
export const openFront = async (
  wantedPort: number,
  log: (line: string) => void,
  resources: AsyncDisposableStack,
) => {
  /** Handlers of a request: the first mount that knows its path, or the gateway's. */
  const serving = Promise.withResolvers<{
    readonly mounts: readonly Mount[];
    readonly handle: (request: IncomingMessage, response: ServerResponse) => Promise<void>;
  }>();
  serving.promise.catch(() => undefined);
  const requests = new Semaphore(REQUESTS_AT_ONCE);
  const server = createServer((request, response) => {
    void (async () => {
      const { mounts, handle } = await serving.promise;
      for (const mount of mounts) if (await mount(request, response)) return;
      await requests.runExclusive(() => handle(request, response));
    })().catch((error: unknown) => {
      // A LocalError is the reason of a failed start, which the caller reports.
      if (!(error instanceof LocalError)) log(String(error));
      response.destroy();
    });
  });
  const port = await listen(server, wantedPort);
  resources.defer(async () => {
    serving.reject(new LocalError("The service is stopping."));
    await close(server);
  });
  return {
    port,
    address: `http://127.0.0.1:${port}`,
    serve: serving.resolve,
    /** Runs the work when the gateway's requests have ended; those after it wait. */
    betweenRequests: async (work: () => Promise<void>): Promise<void> =>
      requests.runExclusive(work, REQUESTS_AT_ONCE),
  };
};
