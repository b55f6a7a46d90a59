import { randomFrom } from "../../../testing/support/proof.ts";

/** Failures of a request to a store. The clients give up a request that hangs by themselves: here, at once. */
const FAILURES: readonly ((url: string) => Response)[] = [
  () => new Response("Service Unavailable", { status: 503 }),
  () => new Response("{}", { status: 429, headers: { "retry-after": "30" } }),
  (url) => {
    throw new DOMException(`No answer from ${url}.`, "TimeoutError");
  },
  () => {
    throw new TypeError("fetch failed");
  },
  () => new Response("<!DOCTYPE html><title>Sorry</title>", { headers: { "content-type": "text/html" } }),
  () => new Response('{"kind": "andr', { headers: { "content-type": "application/json" } }),
];

/** Questions that fail at random during an outage. */
export interface Outage {
  /** Milliseconds, below the 30 days for which Google lists what is voided. */
  readonly lasts: number;
  /** Share of the questions that fail. */
  readonly share: number;
  readonly seed: number;
}

/** `fetch` through an outage. */
export const failingFetch = (
  { share, seed }: Outage,
  isOn: () => boolean,
  inner: typeof fetch,
): typeof fetch => {
  const random = randomFrom(seed);
  return async (input, init) => {
    const failed = isOn() && random() < share ? FAILURES[Math.floor(random() * FAILURES.length)] : undefined;
    return failed === undefined ? inner(input, init) : failed(new Request(input).url);
  };
};
