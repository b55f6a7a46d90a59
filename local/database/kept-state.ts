import * as z from "zod";
import { isInstant } from "../../lib/entitlements/time.ts";
import type { TimedStore } from "../../sandbox/clock.ts";
import type { MovedClock } from "../clock/moved-clock.ts";
import { parseKept, type DataFolder } from "./data-folder.ts";

const CLOCK_FILE = "clock.json";
export const STORE_FILES = {
  "ios-store": "sandbox-ios-store-purchases.json",
  "android-store": "sandbox-android-store-purchases.json",
} as const;

const keptClock = z.object({ offset: z.number().refine(isInstant) });

/**
 * Offset of the clock in the data folder, so that a restart does not go back in time; 0 if there is none.
 *
 * @throws LocalError if it cannot be read
 */
export const keptOffset = (folder: DataFolder): number =>
  parseKept(
    CLOCK_FILE,
    folder.read(CLOCK_FILE) ?? '{"offset":0}',
    (text) => keptClock.parse(JSON.parse(text)).offset,
    " to start in real time, with another folder: what was verified in the future stays in the table",
  );

/** Writes what has changed of the clock and the stores into the data folder. Never throws. */
export const createKeeper = (
  folder: DataFolder,
  clock: MovedClock,
  stores: Readonly<Record<keyof typeof STORE_FILES, TimedStore>>,
  log: (line: string) => void,
): (() => void) => {
  if (folder.dynamoDb === null) return () => undefined;
  const written = new Map<string, string>();
  const keep = (file: string, text: string): void => {
    if (written.get(file) === text) return;
    folder.write(file, text);
    written.set(file, text);
  };
  return () => {
    try {
      keep(CLOCK_FILE, JSON.stringify({ offset: clock.offset() }));
      keep(STORE_FILES["ios-store"], stores["ios-store"].save());
      keep(STORE_FILES["android-store"], stores["android-store"].save());
    } catch (error) {
      log(`The data folder could not be written: ${String(error)}`);
    }
  };
};
