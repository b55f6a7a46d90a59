import * as z from "zod";
import type { Instant } from "../lib/entitlements/time.ts";

export interface ClockAccess {
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Whether the table is on this machine: a deployed service has AWS's time. */
  readonly isLocal: boolean;
  /** Whether a host is this machine. */
  readonly isOfThisMachine: (origin: string) => boolean;
}

const CLOCK_PATH = "/sandbox/clock";
const ANSWERS_WITHIN_MILLISECONDS = 2000;

const clockAnswer = z.object({ now: z.iso.datetime().transform((text): Instant => Date.parse(text)) });

/** Address of the local run, taken from the endpoints of its other services in the shell. */
const addressOf = ({ environment, isLocal, isOfThisMachine }: ClockAccess): string | null => {
  const address =
    environment["AWS_ENDPOINT_URL_STS"] ||
    environment["AWS_ENDPOINT_URL_SECRETS_MANAGER"] ||
    environment["AWS_ENDPOINT_URL"];
  const origin = isLocal && address ? URL.parse(address)?.origin : undefined;
  return origin !== undefined && isOfThisMachine(origin) ? origin : null;
};

const askTime = async (address: string): Promise<Instant | null> => {
  try {
    const response = await fetch(address + CLOCK_PATH, {
      signal: AbortSignal.timeout(ANSWERS_WITHIN_MILLISECONDS),
    });
    return clockAnswer.safeParse(await response.json()).data?.now ?? null;
  } catch {
    return null;
  }
};

/**
 * The clock of the table's service: this machine's, or that of a local run, which may have been moved. Never rejects:
 * if no local run answers, it is this machine's.
 */
export const serviceClock = async (access: ClockAccess, now: () => Instant): Promise<() => Instant> => {
  const address = addressOf(access);
  if (address === null) return now;
  const asked = now();
  const time = await askTime(address);
  if (time === null) return now;
  const ahead = time - asked;
  return () => now() + ahead;
};
