import { createHash } from "node:crypto";
import type { Store } from "../../lib/contract/schemas.ts";
import { DAY, SECOND } from "../../lib/duration.ts";
import { plusPeriod, type Instant } from "../../lib/entitlements/time.ts";
import { LIE_NAMES, LIES, plantOf, type Lie, type Person, type PlanOptions, type State } from "./persons.ts";

export type Random = ReturnType<typeof randomFrom>;

/** Chance that a seed decides (Mulberry32): the same seed makes the same choices and identifiers. */
export const randomFrom = (seed: number) => {
  let state = seed >>> 0;
  /** From 0 to below 1. */
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  /** From 0 to below the limit. */
  const below = (limit: number): number => Math.floor(next() * limit);
  /** Chunks of one number each, cut to the length. */
  const text = (length: number, chunk: () => string): string => {
    let made = "";
    while (made.length < length) made += chunk();
    return made.slice(0, length);
  };
  const hexadecimal = (): string =>
    below(2 ** 32)
      .toString(16)
      .padStart(8, "0");
  const hex = (digits: number): string => text(digits, hexadecimal);
  return {
    next,
    below,
    chance: (share: number): boolean => next() < share,
    hex,
    digits: (count: number): string => text(count, () => String(below(1e9)).padStart(9, "0")),
    /** A UUID of version 4. */
    uuid: (): string => `${hex(8)}-${hex(4)}-4${hex(3)}-${"89ab".charAt(below(4))}${hex(3)}-${hex(12)}`,
    shuffled: <Value>(values: readonly Value[]): Value[] => {
      const list = [...values];
      for (let index = list.length - 1; index > 0; index -= 1) {
        const other = below(index + 1);
        const moved = list.splice(index, 1, ...list.slice(other, other + 1));
        list.splice(other, 1, ...moved);
      }
      return list;
    },
  };
};

const MONTH = { months: 1, milliseconds: 0 };
/** Grace period of the iOS subscriptions. */
const IOS_GRACE = 16 * DAY;
const ANDROID_GRACE = 3 * DAY;

const stateOf = (lie: Lie | null, random: Random): State => {
  const { state } = plantOf(lie);
  if (state !== undefined) return state;
  const share = random.next();
  if (share < 0.65) return "active";
  if (share < 0.7) return "cancelled";
  if (share < 0.87) return "ended";
  return share < 0.89 ? "refunded" : "lifetime";
};

/** Ends are whole seconds, because some exports know no milliseconds. */
const moment = (at: Instant, offset: number): Instant => Math.floor((at + offset) / SECOND) * SECOND;

const endOf = (state: State, store: Store, at: Instant, random: Random): Instant | null => {
  const isIos = store === "ios-store";
  switch (state) {
    case "active":
    case "cancelled":
      return isIos ? moment(at, 2 * DAY + random.below(24 * DAY)) : plusPeriod(at, MONTH);
    case "ended":
      return moment(at, -DAY - random.below(40 * DAY));
    case "renewed":
      return plusPeriod(isIos ? moment(at, -3 * DAY) : at, MONTH);
    case "grace":
      return isIos ? moment(at, -2 * DAY) + IOS_GRACE : at + ANDROID_GRACE;
    case "retry":
      return isIos ? moment(at, -5 * DAY) : at;
    case "refunded":
      return at;
    case "lifetime":
    case "unknown":
      return null;
  }
};

const ACTIVE: ReadonlySet<State> = new Set(["active", "cancelled", "lifetime", "renewed", "grace"]);

/** Whether the old service believes in an access that the store has ended. */
const isOverUnseen = (state: State, lie: Lie | null): boolean =>
  state === "retry" || state === "unknown" || lie === "refund-unseen" || lie === "wrong-end";

/** When access ended for the old service, after the time of the export; unset: as in the store. */
const CLAIMED_ENDS: Partial<Record<State, number>> = { renewed: -3 * DAY, grace: -2 * DAY, refunded: 0 };

const claimOf = (
  { state, lie, endsAt, kind }: Pick<Person, "state" | "lie" | "endsAt" | "kind">,
  at: Instant,
): Person["claim"] => {
  if (isOverUnseen(state, lie)) {
    const runsUntil = kind === "subscription" ? moment(at, 20 * DAY) : null;
    return { isActive: true, endsAt: runsUntil, refundedAt: null };
  }
  const offset = CLAIMED_ENDS[state];
  const end = offset === undefined ? endsAt : moment(at, offset);
  const isActive = offset === undefined && state !== "ended";
  return { isActive, endsAt: end, refundedAt: state === "refunded" ? end : null };
};

const aliasesOf = (account: string, lie: Lie | null, random: Random): Person["aliases"] => {
  const anonymous = (): string => `$RCAnonymousID:${random.hex(32)}`;
  const first = random.chance(0.5) || lie === "anonymous" ? anonymous() : account;
  return {
    original: lie === "alias-chain" ? `visitor-${random.digits(8)}` : first,
    lastSeen: lie === "anonymous" ? anonymous() : account,
  };
};

const echoOf = (account: string, store: Store, lie: Lie | null, random: Random): string | null => {
  if (lie === "anonymous" || (lie !== "swapped-account" && !random.chance(0.6))) return null;
  return store === "android-store" && random.chance(0.5)
    ? createHash("sha256").update(account).digest("hex")
    : account;
};

const iosIdentifiers = (number: number, lie: Lie | null, seed: number, random: Random): Person["ios"] => {
  const first = lie === "sandbox" ? "20" : "7";
  const identifier = (kind: number): string =>
    `${first}${kind}${String(seed % 10_000).padStart(4, "0")}${String(number).padStart(9, "0")}`;
  const isRenewal = random.chance(0.5) || lie === "two-accounts";
  return {
    originalTransactionIdentifier: identifier(1),
    transactionIdentifier: identifier(isRenewal ? 2 : 1),
    appTransactionIdentifier: random.chance(0.02) ? null : identifier(3),
  };
};

const androidIdentifiers = (random: Random): Person["android"] => ({
  purchaseToken: `${random.hex(24)}.AO-J1O${random.hex(64)}`,
  orderIdentifier: `GPA.${random.digits(4)}-${random.digits(4)}-${random.digits(4)}-${random.digits(5)}`,
});

/** A lie for each of as many persons; the rest have none. */
const liesOf = ({ count, lies = {} }: PlanOptions, random: Random): readonly (Lie | null)[] => {
  const planted = LIE_NAMES.flatMap((lie) => {
    const share = lies[lie] ?? LIES[lie].share;
    const wanted = share === 0 ? 0 : Math.max(1, Math.round(share * count));
    const persons = lie === "swapped-account" ? wanted + (wanted % 2) : wanted;
    return Array.from({ length: persons }, () => lie);
  });
  const honest = Array.from({ length: Math.max(0, count - planted.length) }, () => null);
  return random.shuffled([...planted, ...honest]).slice(0, count);
};

const storeOf = (lie: Lie | null, nth: number, random: Random): Store => {
  const either = random.chance(0.5) ? "ios-store" : "android-store";
  // The two of a swap have one store, and so one file.
  if (lie === "swapped-account") return nth % 4 < 2 ? "ios-store" : "android-store";
  return plantOf(lie).store ?? either;
};

interface Plan {
  readonly number: number;
  readonly lie: Lie | null;
  /** Number of earlier persons with the same lie. */
  readonly nth: number;
  readonly account: string;
}

const planned = (
  { number, lie, nth, account }: Plan,
  { at, seed, catalogs }: PlanOptions,
  random: Random,
): Person => {
  const store = storeOf(lie, nth, random);
  const state = stateOf(lie, random);
  const catalog = catalogs[store];
  const endsAt = endOf(state, store, at, random);
  // Google shows a refund of a one-time product only.
  const isOneTime = state === "lifetime" || (state === "refunded" && store === "android-store");
  const kind = isOneTime ? "one_time_product" : "subscription";
  const product = isOneTime ? catalog.oneTimeProduct : catalog.subscription;
  return {
    number,
    account: lie === "anonymous" ? null : account,
    store,
    environment: lie === "sandbox" ? "sandbox" : "production",
    app: catalog.app,
    product: lie === "product-not-mapped" ? catalog.notMapped : product,
    basePlan: isOneTime ? undefined : catalog.basePlan,
    kind,
    state,
    endsAt,
    isActive: ACTIVE.has(state),
    echo: echoOf(account, store, lie, random),
    ios: store === "ios-store" ? iosIdentifiers(number, lie, seed, random) : null,
    android: store === "android-store" ? androidIdentifiers(random) : null,
    lie,
    otherAccount: lie === "two-accounts" ? random.uuid() : null,
    aliases: aliasesOf(account, lie, random),
    claim: claimOf({ state, lie, endsAt, kind }, at),
  };
};

/** Gives each of a pair the other's account. */
const swapped = (persons: readonly Person[]): Person[] => {
  const pair = persons.filter(({ lie }) => lie === "swapped-account");
  const others = new Map(
    pair.map((person, index) => [person.number, pair[index % 2 === 0 ? index + 1 : index - 1]?.account]),
  );
  return persons.map((person) => ({
    ...person,
    otherAccount: others.get(person.number) ?? person.otherAccount,
  }));
};

/** Every fortieth honest purchase is the second of its account. */
const SECOND_PURCHASES = 40;

export const planPersons = (options: PlanOptions): readonly Person[] => {
  const random = randomFrom(options.seed);
  const counts = new Map<Lie | null, number>();
  let honest = "";
  const persons = liesOf(options, random).map((lie, number) => {
    const nth = counts.get(lie) ?? 0;
    counts.set(lie, nth + 1);
    const isSecond = lie === null && nth % SECOND_PURCHASES === SECOND_PURCHASES - 1;
    const account = isSecond ? honest : random.uuid();
    if (lie === null) honest = account;
    return planned({ number, lie, nth, account }, options, random);
  });
  return swapped(persons);
};
