import { accountDigest } from "../../../lib/account-digest.ts";
import { digestsOf } from "../../../lib/telling/account-state.ts";
import type { ChangeData } from "../../../lib/telling/change.ts";
import type { Told } from "../../../lib/telling/change-table.ts";
import { changeItem, toldCustomerItem, toldItem } from "../../../lib/table/telling/change-items.ts";
import { deliveryItem } from "../../../lib/table/telling/delivery-queue.ts";
import { lookItem } from "../../../lib/table/telling/looks.ts";
import { parseItem } from "../../../lib/table/dynamodb/table.ts";

type StoredItem = Readonly<Record<string, unknown>>;

const lastPart = (item: StoredItem): string => String(item["pk"]).split("#").at(-1) ?? "";

interface StoredChange {
  readonly place: string;
  readonly sequence: number;
  readonly data: ChangeData | null;
}

const placeText = ({ day, sequence }: { readonly day: string; readonly sequence: number }): string =>
  `${day} ${sequence}`;

/** Violations of what always holds of an application's looks, changes and deliveries, between two steps of the teller. */
export const tellingViolations = (items: readonly StoredItem[]): readonly string[] => {
  const found: string[] = [];
  const check = (holds: boolean, violation: string): void => {
    if (!holds) found.push(violation);
  };
  const ofKind = (pattern: RegExp): readonly StoredItem[] =>
    items.filter(({ pk }) => pattern.test(String(pk)));

  const looks = ofKind(/#CHANGED$/).map((item) => parseItem(lookItem, { ...item }));
  const told = new Map<string, Told>(
    ofKind(/#TOLD#[0-9a-f]{64}$/).map((item) => {
      const one = parseItem(toldItem, { ...item });
      check(lastPart(item) === accountDigest(one.account), `what ${one.account} was told has another's key`);
      return [one.account, one];
    }),
  );
  const changes = ofKind(/#CHANGES#\d{4}-\d{2}-\d{2}$/)
    .map((item): StoredChange => {
      const { place, data } = parseItem(changeItem, { ...item });
      check(lastPart(item) === place.day, `the change ${place.sequence} is in the partition of another day`);
      return { place: placeText(place), sequence: place.sequence, data };
    })
    .toSorted((a, b) => a.sequence - b.sequence);

  const [turn] = ofKind(/#CHANGES$/);
  check(
    (changes.at(-1)?.sequence ?? 0) === (turn?.["sequence"] ?? 0),
    `the sequence is at ${String(turn?.["sequence"])}, and the last change is ${changes.at(-1)?.sequence}`,
  );
  changes.forEach(({ sequence }, index) =>
    check(
      index === 0 || sequence === (changes[index - 1]?.sequence ?? 0) + 1,
      `there is a gap before the change ${sequence}`,
    ),
  );

  const lastOf = new Map<string, StoredChange>();
  /** The account that has each customer, as whoever follows the changes sees it. */
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
      check(
        !followed.has(customer),
        `${customer} is told of ${account} while ${followed.get(customer)} has it`,
      );
      followed.set(customer, account);
    }
    lastOf.set(account, change);
  }

  for (const { account, version, last, digest, lookAt } of told.values()) {
    const change = lastOf.get(account);
    check(
      change?.place === (last === null ? undefined : placeText(last)) && change?.data?.version === version,
      `${account} was told version ${version}, and its last change is another`,
    );
    if (change?.data != null) {
      const { customerIdentifiers: customers, entitlements } = change.data;
      const stated = digestsOf(customers, entitlements);
      check(
        JSON.stringify([stated.customers, [...stated.entitlements].sort()]) ===
          JSON.stringify([digest.customers, [...digest.entitlements].sort()]),
        `the digest of ${account} is not of its last change`,
      );
    }
    check(
      lookAt === null ||
        looks.some((look) => look.account === account && look.dueAt === lookAt && look.cause === null),
      `${account} is to be looked at, and no look is due`,
    );
  }

  const owners = new Map<string, string>();
  for (const { account, digest } of told.values())
    for (const customer of digest.customers) {
      check(!owners.has(customer), `${customer} was told to be of ${account} and of ${owners.get(customer)}`);
      owners.set(customer, account);
    }
  const indexed = new Map(
    ofKind(/#TOLD#CUSTOMER#[^#]+$/).map((item) => [
      lastPart(item),
      parseItem(toldCustomerItem, { ...item }).account,
    ]),
  );
  for (const [customer, account] of owners)
    check(indexed.get(customer) === account, `${customer} is not indexed under ${account}`);

  for (const item of ofKind(/#DESTINATION#[^#]+$/)) {
    if (item["sk"] === "HEALTH") continue;
    const delivery = parseItem(deliveryItem, { ...item });
    if (delivery.kind === "request") continue;
    const { account, version, place } = delivery;
    check(item["sk"] === `ACCOUNT#${accountDigest(account)}`, `a delivery of ${account} has another's key`);
    const change = lastOf.get(account);
    check(
      change === undefined || (change.place === placeText(place) && change.data?.version === version),
      `version ${version} of ${account} waits, which is not its newest`,
    );
  }
  return found;
};
