import { accountDigest } from "../../../lib/account-digest.ts";
import type { ChangeData } from "../../../lib/telling/change.ts";
import { digestsOf } from "../../../lib/telling/tell-accounts.ts";
import { changeItem, lookItem, toldCustomerItem, toldItem } from "../../../lib/table/telling/change-items.ts";
import { deliveryItem } from "../../../lib/table/telling/delivery-queue.ts";
import { parseItem } from "../../../lib/table/dynamodb/table.ts";
import { Violations, type StoredItem } from "./tenants.ts";

type Check = Violations["check"];
type OfKind = (pattern: RegExp) => StoredItem[];

const lastPart = (item: StoredItem): string => String(item["pk"]).split("#").at(-1) ?? "";

interface StoredChange {
  readonly place: string;
  readonly sequence: number;
  readonly data: ChangeData | null;
}

const placeText = ({ day, sequence }: { readonly day: string; readonly sequence: number }): string =>
  `${day} ${sequence}`;

/** The changes in order: the sequence has no gap, and ends where the application's counter says. */
const changesIn = (ofKind: OfKind, check: Check): StoredChange[] => {
  const changes = ofKind(/#CHANGES#\d{4}-\d{2}-\d{2}$/)
    .map((item): StoredChange => {
      const { place, data } = parseItem(changeItem, item);
      check(lastPart(item) === place.day, `the change ${place.sequence} is in the partition of another day`);
      return { place: placeText(place), sequence: place.sequence, data };
    })
    .toSorted((a, b) => a.sequence - b.sequence);
  const [turn] = ofKind(/#CHANGES$/);
  const last = changes.at(-1)?.sequence ?? 0;
  const counted = Number(turn?.["sequence"] ?? 0);
  check(last === counted, `the sequence is at ${counted}, and the last change is ${last}`);
  for (const [index, { sequence }] of changes.slice(1).entries())
    check(sequence === (changes[index]?.sequence ?? 0) + 1, `there is a gap before the change ${sequence}`);
  return changes;
};

/**
 * The last change of each account. Versions grow by one, and whoever follows the changes never sees a customer in two
 * accounts.
 */
const lastChangesOf = (changes: readonly StoredChange[], check: Check): Map<string, StoredChange> => {
  const lastOf = new Map<string, StoredChange>();
  const followed = new Map<string, string>();
  for (const change of changes) {
    const { data } = change;
    if (data === null) continue;
    const { applicationAccountIdentifier: account, version, customerIdentifiers } = data;
    const before = lastOf.get(account);
    const versionBefore = before?.data?.version ?? version - 1;
    // The changes between two of an account that had an erased customer may have been emptied.
    const emptied = changes.filter(
      (one) => one.data === null && one.sequence > (before?.sequence ?? 0) && one.sequence < change.sequence,
    );
    check(
      version > versionBefore && version <= versionBefore + 1 + emptied.length,
      `${account} has version ${version} after ${versionBefore}`,
    );
    for (const [customer, owner] of followed) if (owner === account) followed.delete(customer);
    for (const customer of customerIdentifiers) {
      const owner = followed.get(customer);
      check(owner === undefined, `${customer} is told of ${account} while ${owner} has it`);
      followed.set(customer, account);
    }
    lastOf.set(account, change);
  }
  return lastOf;
};

/** What each account was told is its last change, and each customer was told to be of one account. */
const checkTold = (ofKind: OfKind, check: Check, lastOf: ReadonlyMap<string, StoredChange>): void => {
  const looks = ofKind(/#CHANGED$/).map((item) => parseItem(lookItem, item));
  const owners = new Map<string, string>();
  for (const item of ofKind(/#TOLD#[0-9a-f]{64}$/)) {
    const { account, version, last, digest, lookAt } = parseItem(toldItem, item);
    check(lastPart(item) === accountDigest(account), `what ${account} was told has another's key`);
    const change = lastOf.get(account);
    check(
      change?.place === (last === null ? undefined : placeText(last)) && change?.data?.version === version,
      `${account} was told version ${version}, and its last change is another`,
    );
    if (change?.data != null) {
      const { customerIdentifiers: customers, entitlements } = change.data;
      const stated = digestsOf(customers, entitlements);
      const textOf = (one: Pick<typeof stated, "customers" | "entitlements">): string =>
        JSON.stringify([one.customers, [...one.entitlements].sort()]);
      check(textOf(stated) === textOf(digest), `the digest of ${account} is not of its last change`);
    }
    const isDue = looks.some(
      (look) => look.account === account && look.dueAt === lookAt && look.cause === null,
    );
    check(lookAt === null || isDue, `${account} is to be looked at, and no look is due`);
    for (const customer of digest.customers) {
      check(!owners.has(customer), `${customer} was told to be of ${account} and of ${owners.get(customer)}`);
      owners.set(customer, account);
    }
  }
  const indexed = new Map(
    ofKind(/#TOLD#CUSTOMER#[^#]+$/).map((item) => [
      lastPart(item),
      parseItem(toldCustomerItem, item).account,
    ]),
  );
  for (const [customer, account] of owners)
    check(indexed.get(customer) === account, `${customer} is not indexed under ${account}`);
};

const checkDeliveries = (ofKind: OfKind, check: Check, lastOf: ReadonlyMap<string, StoredChange>): void => {
  for (const item of ofKind(/#DESTINATION#[^#]+$/)) {
    if (item["sk"] === "HEALTH") continue;
    const delivery = parseItem(deliveryItem, item);
    if (delivery.kind === "request") continue;
    const { account, version, place } = delivery;
    check(item["sk"] === `ACCOUNT#${accountDigest(account)}`, `a delivery of ${account} has another's key`);
    const change = lastOf.get(account);
    check(
      change === undefined || (change.place === placeText(place) && change.data?.version === version),
      `version ${version} of ${account} waits, which is not its newest`,
    );
  }
};

/** Violations of what always holds of an application's looks, changes and deliveries, between two steps of the teller. */
export const tellingViolations = (items: readonly StoredItem[]): readonly string[] => {
  const { found, check } = new Violations();
  const ofKind: OfKind = (pattern) =>
    items.filter(({ pk }) => pattern.test(String(pk))).map((item) => ({ ...item }));
  const lastOf = lastChangesOf(changesIn(ofKind, check), check);
  checkTold(ofKind, check, lastOf);
  checkDeliveries(ofKind, check, lastOf);
  return found;
};
