/** Failures of a request to a store. */
const FAILURES = ["503", "429", "hangs", "disconnects", "malformed", "cut"] as const;
type FailureKind = (typeof FAILURES)[number];

const failed = (kind: FailureKind, url: string): Response => {
  switch (kind) {
    case "503":
      return new Response("Service Unavailable", { status: 503 });
    case "429":
      return new Response("{}", { status: 429, headers: { "retry-after": "30" } });
    case "malformed":
      return new Response("<!DOCTYPE html><title>Sorry</title>", {
        headers: { "content-type": "text/html" },
      });
    case "cut":
      return new Response('{"kind": "andr', { headers: { "content-type": "application/json" } });
    // The clients give up a request that hangs by themselves: here, at once.
    case "hangs":
      throw new DOMException(`No answer from ${url}.`, "TimeoutError");
    case "disconnects":
      throw new TypeError("fetch failed");
  }
};

/** A store that fails at random while `isOn`. */
export interface Outage {
  isOn: boolean;
  /** Questions that failed. */
  failures: number;
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
    outage.failures += 1;
    return failed(FAILURES[Math.floor(random() * FAILURES.length)] ?? "503", new Request(input).url);
  };
