import { createServer } from "node:http";
import { Semaphore } from "async-mutex";
import type { Mount } from "../sandbox/mount.ts";
import type { Gateway } from "./gateway/gateway.ts";
import { LocalError } from "./local-error.ts";
import { close, listen } from "./server.ts";

const REQUESTS_AT_ONCE = 10_000;

/**
 * Opens the service's port. It listens at once; requests wait for `serve`.
 *
 * @throws LocalError if the port cannot be used
 */
export const openFront = async (
  wantedPort: number,
  log: (line: string) => void,
  resources: AsyncDisposableStack,
) => {
  /** Handlers of a request: the first mount that knows its path, or the gateway. */
  const serving = Promise.withResolvers<{ mounts: readonly Mount[]; gateway: Gateway }>();
  serving.promise.catch(() => undefined);
  const requests = new Semaphore(REQUESTS_AT_ONCE);
  const server = createServer((request, response) => {
    void (async () => {
      const { mounts, gateway } = await serving.promise;
      for (const mount of mounts) if (await mount(request, response)) return;
      await requests.runExclusive(() => gateway.handle(request, response));
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
