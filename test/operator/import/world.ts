import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { v7 as uuid } from "uuid";
import { createCustomerTable } from "../../../lib/table/customers/customers.ts";
import { purchaseKeyOfToken } from "../../../lib/stores/android-store/reading.ts";
import { applicationId, purchaseKey } from "../../../lib/identifiers.ts";
import { writeExport, type Format } from "../../../sandbox/exports/exports.ts";
import type { Person, PlanOptions } from "../../../sandbox/exports/persons.ts";
import { sellPersons } from "../../../sandbox/exports/sell.ts";
import { saveApplication } from "../../../testing/application.ts";
import { serveImportStores } from "../../../testing/support/import.ts";
import { NOW } from "../../../testing/support/stores/purchases.ts";
import { createTestTable } from "../../../testing/support/table/table.ts";
import { operate } from "../run-operator.ts";

/** Who has each purchase, and what its store said of it, whenever that was. */
const stateOf = async (
  table: Awaited<ReturnType<typeof createTestTable>>,
  application: ReturnType<typeof applicationId>,
  persons: readonly Person[],
) => {
  const customers = createCustomerTable(table);
  const references = persons.map(({ store, environment, ios, android }) => ({
    store,
    environment,
    key:
      ios === null
        ? purchaseKeyOfToken(android?.purchaseToken ?? "")
        : purchaseKey(ios.originalTransactionIdentifier),
  }));
  const { purchases } = await customers.findFacts(application, [], references, Date.now());
  const { living } = await customers.findCustomers(
    application,
    [...purchases.values()].map(({ customer }) => customer),
  );
  const said = [...purchases].map(([reference, { purchase, customer }]) => ({
    reference,
    account: living.get(customer)?.link?.account ?? null,
    assertedBy: living.get(customer)?.link?.assertedBy ?? null,
    lines: purchase.lines.map((line) => ({
      ...line,
      verifiedAt: 0,
      revokedSince: line.revokedSince === null ? null : 0,
    })),
  }));
  return said.sort((a, b) => (a.reference < b.reference ? -1 : 1));
};

/** What `import run --json` answers, as far as the tests read it. */
export interface ImportReport {
  readonly differences: string;
  readonly journal: string;
  readonly report: string;
  readonly stopped: readonly string[];
  readonly accounts: { readonly unanswered: number; readonly byCause: Readonly<Record<string, number>> };
  readonly ifSwitched: { readonly notKnown: number };
  readonly problems: readonly { readonly problem: string }[];
}

/** Sandbox stores that persons have bought in, an application that may ask them, and a folder for exports. */
export const createImportWorld = async (plan: Pick<PlanOptions, "count" | "seed"> & Partial<PlanOptions>) => {
  const { at = NOW } = plan;
  const startedAt = Date.now();
  const now = (): number => at + (Date.now() - startedAt);
  const table = await createTestTable();
  const folder = mkdtempSync(join(tmpdir(), "import-"));
  const identifier = applicationId(uuid());
  const stores = await serveImportStores(identifier, now);
  const { app, ios, android, catalogs, manifest, secretsRead } = stores;
  const persons = await sellPersons({ ios, android }, { ...plan, at, catalogs });
  /** The application on a table, and the import commands on it at a high rate. */
  const placeOn = async (place: typeof table) => {
    await saveApplication(place, manifest);
    const environment = { ...stores.environment, TABLE_NAME: place.name };
    return {
      environment,
      items: async () => place.items(identifier),
      state: async () => stateOf(place, identifier, persons),
      run: async (paths: readonly string[], ...words: readonly string[]) => {
        const options = ["--application", identifier, "--rate", "1000", "--json", ...words];
        const done = await operate(["import", "run", ...paths, ...options], { environment, now });
        return { ...done, report: done.json<ImportReport>() };
      },
      operate: async (...words: readonly string[]) => operate(words, { environment, now }),
    };
  };
  const others: (typeof table)[] = [];
  let exports = 0;
  return {
    identifier,
    app,
    table,
    ios,
    android,
    persons,
    now,
    folder,
    ...(await placeOn(table)),
    /** The first person of this kind. */
    personWith: (isWanted: (person: Person) => boolean): Person => {
      const found = persons.find(isWanted);
      if (found === undefined) throw new Error("There is no such person.");
      return found;
    },
    /** The same application and stores, on an empty table. */
    onNewTable: async () => {
      const other = await createTestTable();
      others.push(other);
      return placeOn(other);
    },
    /** Writes an export of some persons into a folder of its own. */
    export: async (format: Format, of: readonly Person[] = persons) => {
      exports += 1;
      return writeExport(join(folder, `export-${exports}`), of, format, at);
    },
    /** Writes a file. */
    write: (name: string, content: string): string => {
      writeFileSync(join(folder, name), content);
      return join(folder, name);
    },
    secretsRead,
    read: (path: string): string => readFileSync(path, "utf8"),
    stop: async () => {
      await stores.stop();
      for (const one of [table, ...others]) await one.remove();
      rmSync(folder, { recursive: true });
    },
  };
};
export type ImportWorld = Awaited<ReturnType<typeof createImportWorld>>;

type State = Awaited<ReturnType<ImportWorld["state"]>>;

/** References of purchases in which two states differ. */
export const differing = (one: State, other: State): string[] => {
  const textsOf = (state: State) => new Map(state.map((each) => [each.reference, JSON.stringify(each)]));
  const [a, b] = [textsOf(one), textsOf(other)];
  return [...new Set([...a.keys(), ...b.keys()])].filter(
    (reference) => a.get(reference) !== b.get(reference),
  );
};
