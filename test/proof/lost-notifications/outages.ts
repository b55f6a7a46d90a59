/** Failures of a request to a store. The clients give up a request that hangs by themselves: here, at once. */
const FAILURES: readonly ((url: string) => Response)[] = [
  () => new Response("Service Unavailable", { status: 503 }),
  () => new Response("{}", { status: 429, headers: { "retry-after": "30" } }),
  () => new Response('{"kind": "andr', { headers: { "content-type": "application/json" } }),
  (url) => {
    throw new DOMException(`No answer from ${url}.`, "TimeoutError");
  },
];

/** A store that fails at random while `isOn`. */
export interface Outage {
  isOn: boolean;
}

/**
 * `fetch` through an outage.
 *
 * @param share of the questions that fail
 * @param random numbers in [0, 1)
 */
export const failingFetch =
  (outage: Outage, share: number, random: () => number, inner: typeof fetch): typeof fetch =>
  async (input, init) => {
    if (!outage.isOn || random() >= share) return inner(input, init);
    const fails = FAILURES[Math.floor(random() * FAILURES.length)];
    return fails?.(new Request(input).url) ?? inner(input, init);
  };
