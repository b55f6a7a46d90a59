import { createAnswerCache, type CacheOptions } from "./answer-cache.ts";
import type {
  AccountChange,
  AccountEntitlements,
  AndroidStoreLinkRequest,
  ChangesPage,
  IosStoreLinkRequest,
  LinkResponse,
} from "./contract.ts";
import {
  EntitlementsError,
  createTransport,
  realClock,
  type CallOptions,
  type Clock,
  type TransportOptions,
} from "./transport.ts";

export interface EntitlementsClientOptions extends TransportOptions {
  /** Caches answers of reads; unset: every read asks the service. */
  readonly cache?: CacheOptions;
}

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

/**
 * The service's client for a backend. Each call retries while the request may succeed, and honours `Retry-After`.
 *
 * Every method rejects with an {@link EntitlementsError}: the service's code, or `UNREACHABLE`.
 */
export interface EntitlementsClient {
  /** Whether an account has an entitlement now. Needs a key with `entitlements:read`. */
  hasEntitlement(account: string, entitlement: string, options?: CallOptions): Promise<boolean>;
  /** Entitlements of an account; none for an unknown one. Needs a key with `entitlements:read`. */
  readAccountEntitlements(account: string, options?: CallOptions): Promise<AccountEntitlements>;
  /** Links an Android purchase. The service acknowledges it. Needs a key with `customers:write`. */
  linkAndroidStoreCustomer(request: AndroidStoreLinkRequest, options?: CallOptions): Promise<LinkResponse>;
  /**
   * Links the signed data of an iOS app, in several requests where needed. Needs a key with `customers:write`.
   *
   * After a 409, the rest is sent without the account: it links nothing, but the service learns of every refund. A
   * temporary failure ends the call: send all of it again.
   *
   * @returns the last answer, which covers all requests
   * @throws EntitlementsError the 409 once the rest was sent; a temporary failure, or any before the 409, at once
   */
  linkIosStoreCustomer(request: IosStoreLinkRequest, options?: CallOptions): Promise<LinkResponse>;
  /**
   * A page of the changes of all accounts. Needs a key with `changes:read`.
   *
   * @throws EntitlementsError `CURSOR_EXPIRED`: start without a cursor, and read the accounts once
   */
  readChanges(position?: FeedPosition, options?: CallOptions): Promise<ChangesPage>;
  /**
   * The changes of all accounts after a cursor, in the order in which they were told, and then each new one, until the
   * signal is aborted. Store the cursor of a change once it is handled: the next run continues after it.
   */
  followChanges(options?: FollowOptions): AsyncGenerator<AccountChange, void, undefined>;
  /** Makes the account's next read ask the service; call it when a message announces a change. */
  forget(account: string): void;
}

/** Milliseconds between requests for changes when nothing is new. */
const INTERVAL = 5_000;
/** Transactions per request: about 3 MB of the 6 MB allowed. */
const TRANSACTIONS_AT_ONCE = 500;
/** Renewal infos that one request takes. */
const RENEWAL_INFOS_AT_ONCE = 100;

const slices = <Value>(values: readonly Value[], length: number): Value[][] =>
  Array.from({ length: Math.ceil(values.length / length) }, (_, index) =>
    values.slice(index * length, (index + 1) * length),
  );

/** Requests of one link: all transactions first, as the service ignores a renewal info of an unknown purchase. */
const linkRequests = ({
  signedTransactions = [],
  signedRenewalInfos = [],
  ...request
}: IosStoreLinkRequest): IosStoreLinkRequest[] => {
  const transactions = slices(signedTransactions, TRANSACTIONS_AT_ONCE);
  const [renewalInfos = [], ...further] = slices(signedRenewalInfos, RENEWAL_INFOS_AT_ONCE);
  const last = transactions.pop() ?? [];
  return [
    ...transactions.map((some) => ({ ...request, signedTransactions: some })),
    { ...request, signedTransactions: last, signedRenewalInfos: renewalInfos },
    ...further.map((some) => ({ ...request, signedRenewalInfos: some })),
  ];
};

/** Whether a link is refused because of other accounts. Facts of purchases with an owner are stored all the same. */
const refusesLink = (error: unknown): boolean =>
  error instanceof EntitlementsError &&
  (error.code === "CUSTOMER_ALREADY_LINKED" || error.code === "IDENTITY_CONFLICT");

/** The promise, or the signal's reason. A shared read continues. */
const unlessAborted = async <Value>(
  promise: Promise<Value>,
  signal: AbortSignal | undefined,
): Promise<Value> => {
  if (signal === undefined) return promise;
  const over = new AbortController();
  const aborted = new Promise<never>((_, reject) => {
    const end = (): void => reject(signal.reason);
    if (signal.aborted) end();
    else signal.addEventListener("abort", end, { once: true, signal: over.signal });
  });
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    over.abort();
  }
};

/** The path of an account. `.` and `..` would be resolved as path segments, and no account has these names. */
const accountPath = (account: string): string => {
  if (account === "" || account === "." || account === "..")
    throw new EntitlementsError("INVALID_REQUEST", "This is no identifier of an account.");
  return `/v1/customers/${encodeURIComponent(account)}/entitlements`;
};

async function* followChanges(
  read: EntitlementsClient["readChanges"],
  wait: Clock["wait"],
  { after, limit, interval = INTERVAL, signal }: FollowOptions,
): AsyncGenerator<AccountChange, void, undefined> {
  const [size, call] = [limit !== undefined && { limit }, signal !== undefined && { signal }];
  let cursor = after;
  try {
    for (;;) {
      const { changes, next } = await read({ after: cursor, ...size }, { ...call });
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

/** @throws TypeError if a key must not be sent to the address */
export const createEntitlementsClient = (options: EntitlementsClientOptions): EntitlementsClient => {
  const { cache: cacheOptions, clock = realClock } = options;
  const send = createTransport(options);

  const read = async (account: string, call: CallOptions = {}): Promise<AccountEntitlements> =>
    (await send(
      { method: "GET", path: accountPath(account), list: "entitlements" },
      call,
    )) as AccountEntitlements;
  const cache = cacheOptions === undefined ? null : createAnswerCache(read, clock.now, cacheOptions);

  const readAccountEntitlements: EntitlementsClient["readAccountEntitlements"] = async (account, call) =>
    cache === null ? read(account, call) : unlessAborted(cache.read(account), call?.signal);

  /** Sends purchases of an account. Also what is refused, or sent without the account, can change its answer. */
  const sendPurchases = async (
    path: string,
    body: AndroidStoreLinkRequest | IosStoreLinkRequest,
    call: CallOptions | undefined,
    sent: object = body,
  ): Promise<LinkResponse> => {
    try {
      return (await send({ method: "POST", path, body: sent, list: "entitlements" }, call)) as LinkResponse;
    } finally {
      cache?.outdate(body.applicationAccountIdentifier);
    }
  };

  /** Sends signed data without its account, which links nothing. What cannot succeed is left out. */
  const synchronize = async (request: IosStoreLinkRequest, call?: CallOptions): Promise<void> => {
    const body = { ...request, applicationAccountIdentifier: null };
    try {
      await sendPurchases("/v1/customers/ios-store/synchronize", request, call, body);
    } catch (error) {
      if (!(error instanceof EntitlementsError) || error.isTemporary) throw error;
    }
  };

  /** Links the parts in turn. After a refusal the rest is synchronized, and the refusal thrown. */
  const linkParts = async (
    [part, ...rest]: readonly [IosStoreLinkRequest, ...IosStoreLinkRequest[]],
    call?: CallOptions,
  ): Promise<LinkResponse> => {
    const linking = sendPurchases("/v1/customers/ios-store/link", part, call);
    const answer = await linking.catch(async (error: unknown) => {
      if (refusesLink(error)) for (const unsent of rest) await synchronize(unsent, call);
      throw error;
    });
    const [next, ...others] = rest;
    return next === undefined ? answer : linkParts([next, ...others], call);
  };

  const readChanges: EntitlementsClient["readChanges"] = async ({ after, limit } = {}, call = {}) => {
    const query = new URLSearchParams({
      ...(after !== undefined && { after }),
      ...(limit !== undefined && { limit: String(limit) }),
    }).toString();
    const path = `/v1/changes${query === "" ? "" : `?${query}`}`;
    return (await send({ method: "GET", path, list: "changes" }, call)) as ChangesPage;
  };

  return {
    readAccountEntitlements,
    hasEntitlement: async (account, entitlement, call) => {
      const { entitlements } = await readAccountEntitlements(account, call);
      return entitlements.some(({ identifier, active }) => identifier === entitlement && active);
    },
    linkAndroidStoreCustomer: async (request, call) =>
      sendPurchases("/v1/customers/android-store/link", request, call),
    linkIosStoreCustomer: async (request, call) => {
      const [first = request, ...others] = linkRequests(request);
      return linkParts([first, ...others], call);
    },
    readChanges,
    followChanges: (following = {}) => followChanges(readChanges, clock.wait, following),
    forget: (account) => cache?.forget(account),
  };
};
