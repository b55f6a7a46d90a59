import type { Instant } from "../../../lib/entitlements/time.ts";
import { createRate } from "../../rate.ts";
import { aroundEach, type Call, type Reply, type Routes } from "../../routes.ts";
import { googleError } from "../answers.ts";

/** Endpoints whose requests are counted, and may meet faults. */
export type SandboxEndpoint = "token" | "impersonation" | "publisher";

/** A request received, including one that met a fault. Its path is without the prefix; percent-encoded, as sent. */
type SandboxCall = Pick<Call, "method" | "path"> & { readonly endpoint: SandboxEndpoint };

/** A fault: a given response, no response at all, or a closed connection. */
export type Fault = Reply;

/** Counts requests, limits their rate, and makes them fail. */
export const createFaults = (now: () => Instant) => {
  const rate = createRate();
  const faults: Record<SandboxEndpoint, Fault[]> = { token: [], impersonation: [], publisher: [] };
  const calls: SandboxCall[] = [];
  return {
    /** Routes whose requests are counted, and meet the faults of their endpoint. */
    faulty: (endpoint: SandboxEndpoint, routes: Routes): Routes =>
      aroundEach(routes, (route) => (call, ...named) => {
        calls.push({ endpoint, method: call.method, path: call.path });
        return faults[endpoint].shift() ?? route(call, ...named);
      }),
    limited: (routes: Routes): Routes =>
      aroundEach(
        routes,
        (route) =>
          (...called) =>
            rate.countedUntil(now()) === null
              ? route(...called)
              : googleError(429, "rateLimitExceeded", "Rate limit exceeded."),
      ),
    /** Makes the next requests to an endpoint fail, one per fault. */
    failNext: (endpoint: SandboxEndpoint, ...next: Fault[]): void => {
      faults[endpoint].push(...next);
    },
    /** Discards the faults that no request has met yet. */
    clearFaults: (): void => {
      for (const waiting of Object.values(faults)) waiting.length = 0;
    },
    /** Requests of a second that are answered; null: all. */
    limitPublisher: rate.limit,
    calls,
  };
};
