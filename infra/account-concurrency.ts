import { endpoints, type Endpoint, type EndpointName } from "../lib/contract/endpoints.ts";

interface OpenEndpoint {
  /** Limits of its route while the account's concurrency is unknown, and may be ten. */
  readonly rate: number;
  readonly burst: number;
  /** Maximum share of a known concurrency, in per cent. */
  readonly share: number;
}

/**
 * Endpoints whose body is the only proof: anybody can flood them, and a flood must leave executions for reads and
 * links. A request takes 30 ms, so with the small limits a lasting flood occupies one or two executions, and eight for
 * a moment. The App Store retries a notification after an hour, so a few may come at once.
 */
const OPEN = {
  synchronizeIosStorePurchases: { rate: 20, burst: 3, share: 30 },
  receiveIosStoreNotification: { rate: 10, burst: 3, share: 10 },
  receiveAndroidStoreNotification: { rate: 10, burst: 1, share: 10 },
} as const satisfies Partial<Record<EndpointName, OpenEndpoint>>;

/** Executions that Lambda keeps for functions without a reservation. */
const UNRESERVED = 100;

/** Concurrency from which half of it can be reserved. */
const RESERVABLE = 2 * UNRESERVED;

const openEndpoint = (name: string): OpenEndpoint | null =>
  Object.hasOwn(OPEN, name) ? OPEN[name as keyof typeof OPEN] : null;

/** Limits of a route of a permanent stage. */
export const routeLimits = (
  name: EndpointName,
  accountConcurrency: number | null,
): { readonly rate: number; readonly burst: number } => {
  const { requestsPerSecond: rate, burst }: Endpoint["defaults"] = endpoints[name].defaults;
  const open = openEndpoint(name);
  return open !== null && (accountConcurrency ?? 0) < RESERVABLE
    ? { rate: open.rate, burst: open.burst }
    : { rate, burst };
};

/** Maximum concurrent executions of a function of a permanent stage; null: unlimited. */
export const concurrencyLimit = (name: string, accountConcurrency: number | null): number | null => {
  const open = openEndpoint(name);
  return open === null || accountConcurrency === null || accountConcurrency < RESERVABLE
    ? null
    : Math.floor((accountConcurrency * open.share) / 100);
};

/** A sentence about reservations that Lambda would refuse; null: it accepts them. */
export const reservationProblem = (
  reserved: readonly (number | null)[],
  accountConcurrency: number | null,
): string | null => {
  const sum = reserved.reduce<number>((total, one) => total + (one ?? 0), 0);
  return accountConcurrency === null || sum === 0 || sum + UNRESERVED <= accountConcurrency
    ? null
    : `The functions reserve ${sum} executions; of an accountConcurrency of ${accountConcurrency}, Lambda keeps ${UNRESERVED} for the others.`;
};
