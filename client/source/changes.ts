import type { AccountChange, ChangesPage } from "./contract.ts";
import type { CallOptions, Clock, Send } from "./transport.ts";

export interface FeedPosition {
  /** Cursor of the last change that was handled; unset: from the oldest change kept (30 days). */
  readonly after?: string | undefined;
  /** Maximum number of changes per page, 1 to 1,000. */
  readonly limit?: number;
}

export interface FollowOptions extends FeedPosition, CallOptions {
  /** Milliseconds between requests when nothing is new; unset: 5,000. */
  readonly interval?: number;
}

const INTERVAL = 5_000;

/** @throws EntitlementsError `CURSOR_EXPIRED`: start without a cursor, and read the accounts once */
export const readChanges = async (
  send: Send,
  { after, limit }: FeedPosition,
  options: CallOptions,
): Promise<ChangesPage> => {
  const query = new URLSearchParams({
    ...(after !== undefined && { after }),
    ...(limit !== undefined && { limit: String(limit) }),
  }).toString();
  const path = `/v1/changes${query === "" ? "" : `?${query}`}`;
  return (await send({ method: "GET", path, list: "changes" }, options)) as ChangesPage;
};

/**
 * The changes after a cursor, in the order in which they were told, and then each new one. Ends when the signal is
 * aborted. Store the cursor of a change once it is handled: the next run continues after it.
 */
export async function* followChanges(
  send: Send,
  wait: Clock["wait"],
  { after, limit, interval = INTERVAL, signal }: FollowOptions,
): AsyncGenerator<AccountChange, void, undefined> {
  const options = signal === undefined ? {} : { signal };
  let cursor = after;
  try {
    for (;;) {
      const { changes, next } = await readChanges(
        send,
        { after: cursor, ...(limit !== undefined && { limit }) },
        options,
      );
      for (const change of changes) {
        if (signal?.aborted === true) return;
        yield change;
      }
      cursor = next;
      if (changes.length === 0) await wait(interval, signal);
    }
  } catch (error) {
    if (signal?.aborted !== true) throw error;
  }
}
