import { v7 as uuid } from "uuid";
import type { Destination } from "../../lib/applications/destination.ts";
import type { Instant } from "../../lib/entitlements/time.ts";
import type { ChangeData } from "../../lib/telling/change.ts";
import { tellChanges, type TellingReport, type TellingRun } from "../../lib/telling/tell-changes.ts";
import { createChangeTable } from "../../lib/table/changes.ts";
import { createCustomerTable } from "../../lib/table/customers.ts";
import { createWorld, type World } from "../../testing/support/world.ts";
import { keyedHash } from "../../testing/support/keyed-hash.ts";
import { NOW } from "../../testing/support/purchases.ts";
import type { TestTable } from "../../testing/support/table.ts";

export const WEBHOOK: Destination = {
  name: "backend",
  url: "https://api.example.com/hooks",
  secretEpochs: [],
};

export interface ToldWorld {
  readonly world: World;
  /** Tells what is due at the moment. */
  tell(moment?: Instant, changes?: Partial<TellingRun>, until?: Instant): Promise<TellingReport>;
  /** All changes in the order of the sequence; null: emptied. */
  changes(): Promise<readonly (ChangeData | null)[]>;
  /** Items of the application whose partition key contains the text. */
  itemsOf(text: string): Promise<readonly Record<string, unknown>[]>;
}

/** A world whose application is told of changes. */
export const createToldWorld = (
  table: TestTable,
  given: World = createWorld(table),
  destinations: readonly Destination[] = [WEBHOOK],
): ToldWorld => {
  const world = given.with({
    application: { ...given.application, destinations, keepsChanges: true },
  });
  const { application } = world;
  const pause = () => Promise.resolve();
  const itemsOf: ToldWorld["itemsOf"] = async (text) =>
    (await world.items()).filter(({ pk }) => String(pk).includes(text));
  return {
    world,
    itemsOf,
    tell: async (moment = NOW, changes = {}, until = Infinity) =>
      tellChanges(
        {
          directory: { byIdentifier: () => Promise.resolve(application) },
          currentApplication: () => Promise.resolve(application),
          changes: createChangeTable(table, pause, keyedHash),
          accounts: createCustomerTable(table, pause),
          applications: () => Promise.resolve([application.identifier]),
          newWorker: uuid,
          now: () => moment,
          pause,
          onFailure: (error) => {
            throw error;
          },
          ...changes,
        },
        until,
      ),
    changes: async () =>
      (await itemsOf("#CHANGES#"))
        .toSorted((a, b) => Number(a["sequence"]) - Number(b["sequence"]))
        .map(({ data }) => (data === undefined ? null : JSON.parse(String(data)))),
  };
};
