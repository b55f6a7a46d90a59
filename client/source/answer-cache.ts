import type { AccountEntitlements, CustomerEntitlement } from "./contract.ts";
import { EntitlementsError } from "./transport.ts";

export interface CacheOptions {
  /**
   * Milliseconds for which an answer is reused without asking, unless something in it has ended since; unset: 30,000. 0:
   * every read asks.
   */
  readonly fresh?: number;
  /** Milliseconds after which an answer is never reused, even if the service cannot be reached; unset: one hour. */
  readonly stale?: number;
  /** Maximum number of accounts kept; unset: 10,000. The least recently read one is dropped first. */
  readonly accounts?: number;
}

const FRESH = 30_000;
const STALE = 3_600_000;
const ACCOUNTS = 10_000;

const hasEnded = ({ expiresAt }: CustomerEntitlement, moment: number): boolean =>
  expiresAt !== null && Date.parse(expiresAt) <= moment;

/**
 * An entitlement of an earlier answer, projected to a later moment. What was to end has ended; only a subscription that
 * will renew stays active, because the service itself grants a leeway while a store is silent.
 */
const laterOn = (entitlement: CustomerEntitlement, moment: number): CustomerEntitlement => {
  if (!entitlement.active || !hasEnded(entitlement, moment)) return entitlement;
  if (entitlement.status === "grace_period")
    return { ...entitlement, active: false, status: "billing_retry" };
  return entitlement.willRenew === true ? entitlement : { ...entitlement, active: false, status: "expired" };
};

/**
 * Whether an entitlement of an answer has ended since it was read. What had ended by then does not count: this clock
 * may be ahead of the service's.
 */
const hasEndedSince = ({ entitlements }: AccountEntitlements, readAt: number, moment: number): boolean =>
  entitlements.some(
    (entitlement) => !hasEnded(entitlement, readAt) && laterOn(entitlement, moment) !== entitlement,
  );

interface Kept {
  readonly answer: AccountEntitlements;
  readonly readAt: number;
  readonly isOutdated: boolean;
}

/** Answers by account. */
export const createAnswerCache = (
  load: (account: string) => Promise<AccountEntitlements>,
  now: () => number,
  { fresh = FRESH, stale = STALE, accounts = ACCOUNTS }: CacheOptions,
) => {
  const kept = new Map<string, Kept>();
  const loading = new Map<string, Promise<AccountEntitlements>>();

  const keep = (account: string, entry: Kept): void => {
    kept.delete(account);
    kept.set(account, entry);
    const [oldest] = kept.keys();
    if (kept.size > accounts && oldest !== undefined) kept.delete(oldest);
  };

  const isYounger = ({ readAt }: Kept, age: number): boolean => {
    const passed = now() - readAt;
    return passed >= 0 && passed < age;
  };
  const isFresh = (entry: Kept): boolean =>
    !entry.isOutdated && isYounger(entry, fresh) && !hasEndedSince(entry.answer, entry.readAt, now());

  const loadOnce = (account: string): Promise<AccountEntitlements> => {
    const running = loading.get(account);
    if (running !== undefined) return running;
    const askedAt = now();
    const isCurrent = (): boolean => loading.get(account) === started;
    const started: Promise<AccountEntitlements> = load(account)
      .then((answer) => {
        // Not kept if the account was forgotten meanwhile.
        if (isCurrent()) keep(account, { answer, readAt: askedAt, isOutdated: false });
        return answer;
      })
      .finally(() => {
        if (isCurrent()) loading.delete(account);
      });
    loading.set(account, started);
    return started;
  };

  return {
    /**
     * The fresh answer, or a new one; if the service cannot answer, the kept one, projected to now, unless it is stale.
     * An answer of which something has ended is not fresh: another pass may have begun. Concurrent reads of one account
     * share a request.
     */
    read: async (account: string): Promise<AccountEntitlements> => {
      const entry = kept.get(account);
      if (entry !== undefined && isFresh(entry)) {
        // Now it is the one that was read last.
        keep(account, entry);
        return entry.answer;
      }
      try {
        return await loadOnce(account);
      } catch (error) {
        const before = kept.get(account);
        if (!(error instanceof EntitlementsError && error.isTemporary)) throw error;
        if (before === undefined || !isYounger(before, stale)) throw error;
        const { answer } = before;
        return { ...answer, entitlements: answer.entitlements.map((one) => laterOn(one, now())) };
      }
    },
    /** Makes the next read ask the service. The kept answer remains as a fallback. */
    outdate: (account: string): void => {
      const entry = kept.get(account);
      if (entry !== undefined) kept.set(account, { ...entry, isOutdated: true });
      loading.delete(account);
    },
    /** Makes the next read ask the service, and drops the kept answer. */
    forget: (account: string): void => {
      kept.delete(account);
      loading.delete(account);
    },
  };
};
