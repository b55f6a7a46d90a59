import { createHash } from "node:crypto";
import { DAY, SECOND } from "../../lib/duration.ts";
import { plusPeriod, type Instant } from "../../lib/entitlements/time.ts";
import { LIE_NAMES, plantOf, type Lie, type Store } from "./lies.ts";
import type { AndroidIdentifiers, Claim, IosIdentifiers, Person, PlanOptions, State } from "./persons.ts";
import { randomFrom, type Random } from "./random.ts";

const MONTH = { months: 1, milliseconds: 0 };
/** Grace period of the iOS subscriptions. */
const IOS_GRACE = 16 * DAY;
const ANDROID_GRACE = 3 * DAY;

const STATES: Partial<Record<Lie, State>> = {
  "wrong-end": "ended",
  "renewal-unseen": "renewed",
  "refund-unseen": "refunded",
  "grace-unseen": "grace",
  "retry-unseen": "retry",
  "dropped-token": "unknown",
  "forgotten-token": "unknown",
};

const stateOf = (lie: Lie | null, random: Random): State => {
  const state = lie === null ? undefined : STATES[lie];
  if (state !== undefined) return state;
  const share = random.next();
  if (share < 0.65) return "active";
  if (share < 0.7) return "cancelled";
  if (share < 0.87) return "ended";
  return share < 0.89 ? "refunded" : "lifetime";
};

/** Ends are whole seconds, because some exports know no milliseconds. */
const moment = (at: Instant, offset: number): Instant => Math.floor((at + offset) / SECOND) * SECOND;

/** The store's end of access. */
const endOf = (state: State, store: Store, at: Instant, random: Random): Instant | null => {
  switch (state) {
    case "active":
    case "cancelled":
      return store === "ios-store" ? moment(at, 2 * DAY + random.below(24 * DAY)) : plusPeriod(at, MONTH);
    case "ended":
      return moment(at, -DAY - random.below(40 * DAY));
    case "renewed":
      return store === "ios-store" ? plusPeriod(moment(at, -3 * DAY), MONTH) : plusPeriod(at, MONTH);
    case "grace":
      return store === "ios-store" ? moment(at, -2 * DAY) + IOS_GRACE : at + ANDROID_GRACE;
    case "retry":
      return store === "ios-store" ? moment(at, -5 * DAY) : at;
    case "refunded":
      return at;
    case "lifetime":
    case "unknown":
      return null;
  }
};

const ACTIVE: ReadonlySet<State> = new Set(["active", "cancelled", "lifetime", "renewed", "grace"]);

const claimOf = (state: State, lie: Lie | null, endsAt: Instant | null, at: Instant): Claim => {
  const ended = (end: Instant, refundedAt: Instant | null = null): Claim => ({
    isActive: false,
    endsAt: end,
    refundedAt,
  });
  const running = (end: Instant | null): Claim => ({ isActive: true, endsAt: end, refundedAt: null });
  switch (state) {
    case "renewed":
      return ended(moment(at, -3 * DAY));
    case "grace":
      return ended(moment(at, -2 * DAY));
    case "retry":
    case "unknown":
      return running(moment(at, 20 * DAY));
    case "refunded":
      return lie === "refund-unseen" ? running(moment(at, 20 * DAY)) : ended(moment(at, 0), moment(at, 0));
    case "ended":
      return lie === "wrong-end" ? running(moment(at, 20 * DAY)) : ended(endsAt ?? at);
    default:
      return running(endsAt);
  }
};

const anonymousAlias = (random: Random): string => `$RCAnonymousID:${random.hex(32)}`;

const aliasesOf = (
  account: string,
  lie: Lie | null,
  random: Random,
): { readonly original: string; readonly lastSeen: string } => {
  const isAnonymous = lie === "anonymous";
  const first = random.chance(0.5) || isAnonymous ? anonymousAlias(random) : account;
  return {
    original: lie === "alias-chain" ? `visitor-${random.digits(8)}` : first,
    lastSeen: isAnonymous ? anonymousAlias(random) : account,
  };
};

const echoOf = (account: string, store: Store, random: Random): string =>
  store === "android-store" && random.chance(0.5)
    ? createHash("sha256").update(account).digest("hex")
    : account;

const iosIdentifiers = (
  { number, lie, seed }: { readonly number: number; readonly lie: Lie | null; readonly seed: number },
  random: Random,
): IosIdentifiers => {
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

const androidIdentifiers = (random: Random): AndroidIdentifiers => ({
  purchaseToken: `${random.hex(24)}.AO-J1O${random.hex(64)}`,
  orderIdentifier: `GPA.${random.digits(4)}-${random.digits(4)}-${random.digits(4)}-${random.digits(5)}`,
});

/** A lie for each of as many persons; the rest have none. */
const liesOf = ({ count, lies = {} }: PlanOptions, random: Random): readonly (Lie | null)[] => {
  const planted = LIE_NAMES.flatMap((lie) => {
    const share = lies[lie] ?? plantOf(lie).share;
    const wanted = share === 0 ? 0 : Math.max(1, Math.round(share * count));
    const persons = lie === "swapped-account" ? wanted + (wanted % 2) : wanted;
    return Array.from({ length: persons }, () => lie);
  });
  const honest = Array.from({ length: Math.max(0, count - planted.length) }, () => null);
  return random.shuffled([...planted, ...honest]).slice(0, count);
};

/** Claim of a lifetime that the store has refunded. */
const LIFETIME: Claim = { isActive: true, endsAt: null, refundedAt: null };

/** Lies of a state concern subscriptions; Google shows a refund of a one-time product only. */
const isLifetime = (state: State, store: Store): boolean =>
  state === "lifetime" || (state === "refunded" && store === "android-store");

const storeOf = (lie: Lie | null, nth: number, random: Random): Store => {
  const either = random.pick<Store>(["ios-store", "android-store"]);
  // The two of a swap have one store, and so one file.
  if (lie === "swapped-account") return nth % 4 < 2 ? "ios-store" : "android-store";
  return (lie === null ? undefined : plantOf(lie).store) ?? either;
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
  const isOneTime = isLifetime(state, store);
  const product = isOneTime ? catalog.oneTimeProduct : catalog.subscription;
  return {
    number,
    account: lie === "anonymous" ? null : account,
    store,
    environment: lie === "sandbox" ? "sandbox" : "production",
    app: catalog.app,
    product: lie === "product-not-mapped" ? catalog.notMapped : product,
    basePlan: isOneTime ? undefined : catalog.basePlan,
    kind: isOneTime ? "one_time_product" : "subscription",
    state,
    endsAt,
    isActive: ACTIVE.has(state),
    echo:
      lie === "swapped-account" || (lie !== "anonymous" && random.chance(0.6))
        ? echoOf(account, store, random)
        : null,
    ios: store === "ios-store" ? iosIdentifiers({ number, lie, seed }, random) : null,
    android: store === "android-store" ? androidIdentifiers(random) : null,
    lie,
    otherAccount: lie === "two-accounts" ? random.uuid() : null,
    aliases: aliasesOf(account, lie, random),
    claim: isOneTime && lie === "refund-unseen" ? LIFETIME : claimOf(state, lie, endsAt, at),
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

/** Makes persons up, without a store. */
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
