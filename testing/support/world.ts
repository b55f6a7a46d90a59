import { createHmac } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { v7 as uuid } from "uuid";
import { auditEntry, type HashAccounts } from "../../lib/administration/acts/audit.ts";
import { eraseCustomer, unlinkCustomer, type Operations } from "../../lib/administration/acts/operations.ts";
import {
  tellsChanges,
  type Application,
  type ApplicationDirectory,
  type Destination,
} from "../../lib/applications/application.ts";
import { ServiceError } from "../../lib/contract/errors.ts";
import { CLAIMS_PER_ACCOUNT, type FactStore, type Claim } from "../../lib/customers/storing/fact-store.ts";
import { readAccountEntitlements } from "../../lib/customers/read-account-entitlements.ts";
import { sourceOf } from "../../lib/customers/storing/store-android-store-purchase.ts";
import {
  storeFacts,
  type ResolvedCustomer,
  type StoringOutcome,
} from "../../lib/customers/storing/store-facts.ts";
import type { VerifiedFacts } from "../../lib/customers/storing/verified-facts.ts";
import type { Catalog } from "../../lib/entitlements/catalog.ts";
import {
  type IdentityReference,
  type ProvenPurchase,
  mentionedPurchase,
  type Purchase,
} from "../../lib/entitlements/purchase.ts";
import type { Instant } from "../../lib/entitlements/time.ts";
import { accountId, customerId, type ApplicationId } from "../../lib/identifiers.ts";
import { writeCustomerChange } from "../../lib/table/customers/customer-change.ts";
import { bury } from "../../lib/table/customers/owned-items.ts";
import { createChangeTable } from "../../lib/table/telling/changes.ts";
import { createCustomerTable } from "../../lib/table/customers/customers.ts";
import type { Table } from "../../lib/table/dynamodb/table.ts";
import type { ChangeData, KeyedHash } from "../../lib/telling/change.ts";
import { tellChanges, type TellingReport, type TellingRun } from "../../lib/telling/tell-changes.ts";
import { operationsOn } from "../../operator/session.ts";
import { anApplication, directoryOf } from "./application.ts";
import { aLine, aPurchase, DAY, NOW, proven } from "./stores/purchases.ts";
import type { TestTable } from "./table/table.ts";

export { meetingAWriteAt, refusal, requests } from "./table/table.ts";

/** VerifiedFacts of production; a plain `Purchase` mentions no other purchase and names no identity. */
export type GivenFacts = Partial<Omit<VerifiedFacts, "purchases">> & {
  readonly purchases?: readonly (Purchase | ProvenPurchase)[];
};

interface Options
  extends
    Pick<FactStore, "now" | "newCustomerIdentifier" | "claimsPerAccount" | "pause">,
    Pick<Operations, "waitForIndex"> {
  readonly application: Application;
  /** Concurrent actions; each runs once, between a request's first read and its second. */
  readonly interruption: (() => Promise<unknown>)[];
}

/** A customer; null: nobody. */
type Named = Pick<ResolvedCustomer, "identifier"> | null;

/** An application on a table; its requests happen at one moment, unless it has a clock. */
export interface World {
  readonly application: Application;
  readonly directory: ApplicationDirectory;
  readonly factStore: FactStore;
  readonly operations: Operations;
  with(changes: Partial<Options>): World;
  /** The same world; `by` runs once, between a request's first read and its second. */
  interrupted(by: () => Promise<unknown>): World;
  at(moment: Instant): World;
  selling(catalog: Catalog): World;
  submit(facts: GivenFacts, claim?: Claim | null): Promise<StoringOutcome>;
  /** @throws ServiceError with the code of a refusal */
  store(facts: GivenFacts, claim?: Claim | null): Promise<ResolvedCustomer | null>;
  read(account: string): ReturnType<typeof readAccountEntitlements>;
  /** An operator's unlinking; a move when `to` is given. */
  unlink(customer: Named, to?: string): ReturnType<typeof unlinkCustomer>;
  erase(customer: Named): ReturnType<typeof eraseCustomer>;
  /** An erasure that stops after its first step: the customer is gone, everything it owned is still there. */
  beginErasure(customer: Named): Promise<void>;
  items(): Promise<Record<string, unknown>[]>;
}

/** Hash of an account under a key of the tests. */
export const keyedHash: KeyedHash = (application, account) =>
  Promise.resolve(
    createHmac("sha256", "a key of the tests").update(`${application} ${account}`).digest("hex"),
  );

const AUTHORITY = { by: "ada", caller: null, reason: "asked by the person" };

const factStoreOf = (table: Table, options: Options): FactStore => {
  const customers = createCustomerTable({ ...table, pause: options.pause });
  return {
    ...options,
    table: {
      ...customers,
      findFacts: async (...asked) => {
        const known = await customers.findFacts(...asked);
        await options.interruption.pop()?.();
        return known;
      },
    },
    write: (change) => writeCustomerChange(table, change),
    bury: (...remains) => bury(table, ...remains),
  };
};

const verifiedFacts = ({
  purchases = [],
  acknowledgementDue = null,
  ...facts
}: GivenFacts): VerifiedFacts => ({
  environment: "production",
  identities: [],
  renewals: [],
  acknowledgementDue,
  origin: acknowledgementDue && {
    source: sourceOf(acknowledgementDue, acknowledgementDue),
    canAsk: true,
    askedAt: null,
  },
  ...facts,
  purchases: purchases.map((purchase) => ("lines" in purchase ? proven(purchase) : purchase)),
});

/** A world with an application of its own, so that tests can share a table. */
export const createWorld = (
  table: Table & Pick<TestTable, "items">,
  changes: Partial<Options> = {},
): World => {
  const options: Options = {
    application: anApplication(),
    now: () => NOW,
    interruption: [],
    newCustomerIdentifier: () => customerId(uuid()),
    claimsPerAccount: CLAIMS_PER_ACCOUNT,
    waitForIndex: () => Promise.resolve(),
    pause: (attempt) => sleep(Math.random() * 10 * attempt),
    ...changes,
  };
  const { application, now, pause, waitForIndex } = options;
  const { identifier } = application;
  const directory = directoryOf(application);
  const factStore = factStoreOf(table, options);
  const hashAccounts: HashAccounts = (of, accounts) =>
    Promise.all(accounts.map((account) => keyedHash(of, account)));
  const operations = operationsOn(table, { now, pause, waitForIndex, hashAccounts, keyedHash }, () =>
    Promise.resolve(tellsChanges(application)),
  );
  const submit: World["submit"] = (facts, claim = null) =>
    storeFacts(factStore, application, verifiedFacts(facts), claim);
  const also = (more: Partial<Options>): World => createWorld(table, { ...options, ...more });
  const idOf = (customer: Named) => customer?.identifier ?? customerId("");
  return {
    application,
    directory,
    factStore,
    operations,
    with: also,
    interrupted: (by) => also({ interruption: [by] }),
    at: (later) => also({ now: () => later }),
    selling: (catalog) => also({ application: { ...application, catalog } }),
    submit,
    store: async (facts, claim) => {
      const stored = await submit(facts, claim);
      if (stored.outcome === "refused") throw new ServiceError(stored.code);
      return stored.customer;
    },
    read: (account) =>
      readAccountEntitlements({ directory, table: factStore.table, now }, identifier, accountId(account)),
    unlink: (customer, to) => {
      const moved = to === undefined ? {} : { to: accountId(to) };
      return unlinkCustomer(operations, identifier, idOf(customer), AUTHORITY, moved);
    },
    erase: (customer) => eraseCustomer(operations, identifier, idOf(customer), AUTHORITY, () => undefined),
    beginErasure: async (customer) => {
      const { living } = await factStore.table.findCustomers(identifier, [idOf(customer)]);
      const [stored] = living.values();
      if (stored === undefined) throw new Error("Nobody is there.");
      const act = auditEntry("erase", now(), AUTHORITY, { customer: stored.identifier });
      await operations.table.end(identifier, stored, act);
    },
    items: async () => (await table.items(identifier)).filter(({ pk }) => String(pk).includes(identifier)),
  };
};

/** Tells the changes of one application, whose configuration is loaded anew each time. */
export const tellingOf = (
  table: Table,
  identifier: ApplicationId,
  load: () => Promise<Application>,
  hash: KeyedHash = keyedHash,
): TellingRun => ({
  directory: { byIdentifier: load },
  currentApplication: load,
  changes: createChangeTable(table, hash),
  accounts: createCustomerTable(table),
  applications: () => Promise.resolve([identifier]),
  newWorker: uuid,
  now: () => NOW,
  wait: () => Promise.resolve(),
  onFailure: (error) => {
    throw error;
  },
});

export const WEBHOOK: Destination = {
  name: "backend",
  url: "https://api.example.com/hooks",
  secretEpochs: [],
};

/** A world whose application is told of changes. */
export const createToldWorld = (
  table: TestTable,
  given: World = createWorld(table),
  destinations: readonly Destination[] = [WEBHOOK],
) => {
  const world = given.with({ application: { ...given.application, destinations, keepsChanges: true } });
  const { application } = world;
  /** Items of the application whose partition key contains the text. */
  const itemsOf = async (text: string): Promise<readonly Record<string, unknown>[]> =>
    (await world.items()).filter(({ pk }) => String(pk).includes(text));
  return {
    world,
    itemsOf,
    /** Tells what is due at the moment. */
    tell: async (
      moment: Instant = NOW,
      changes: Partial<TellingRun> = {},
      until: Instant = Infinity,
    ): Promise<TellingReport> => {
      const run = tellingOf(table, application.identifier, () => Promise.resolve(application));
      return tellChanges({ ...run, now: () => moment, ...changes }, until);
    },
    /** All changes in the order of the sequence; null: emptied. */
    changes: async (): Promise<readonly (ChangeData | null)[]> =>
      (await itemsOf("#CHANGES#"))
        .toSorted((a, b) => Number(a["sequence"]) - Number(b["sequence"]))
        .map(({ data }) => (data === undefined ? null : JSON.parse(String(data)))),
  };
};
export type ToldWorld = ReturnType<typeof createToldWorld>;

export const byCredential = (account: string): Claim => ({
  account: accountId(account),
  assertedBy: "credential",
});
export const byClient = (account: string): Claim => ({ account: accountId(account), assertedBy: "client" });

/** An app transaction id. */
export const device = (value: string): IdentityReference => ({
  store: "ios-store",
  kind: "app-transaction",
  environment: "production",
  value,
});

/** An active iOS subscription with this original transaction id. */
export const owned = (key: string, line: Parameters<typeof aLine>[0] = {}): Purchase =>
  aPurchase({ key, lines: [aLine({ transactionIdentifier: key, ...line })] });

/** The same purchase, refunded, signed now. */
export const refunded = (key: string): Purchase => owned(key, { verifiedAt: NOW, revokedAt: NOW - DAY });

/** The same purchase with a later end, signed now. */
export const extended = (key: string): Purchase => owned(key, { verifiedAt: NOW, endsAt: NOW + 90 * DAY });

/** A purchase that replaced another. */
export const replacing = (purchase: Purchase, old: Purchase): ProvenPurchase =>
  proven(purchase, { mentioned: [mentionedPurchase(old, purchase.key)] });

/** The store's answer about an active Android subscription. */
export const android = (
  key: string,
  verifiedAt: Instant = NOW,
  line: Parameters<typeof aLine>[0] = {},
): Purchase =>
  aPurchase({
    store: "android-store",
    key,
    lines: [aLine({ transactionIdentifier: null, verifiedAt, ...line })],
  });
