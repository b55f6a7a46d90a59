import { writeFileSync } from "node:fs";
import { isSection, noSection, type Section } from "./results.ts";
import { measureColdStart } from "./sections/cold-start.ts";
import { measureHostile } from "./sections/hostile.ts";
import { measureLoad } from "./sections/load.ts";
import { measureNotifications } from "./sections/notifications.ts";
import { measureReading } from "./sections/reading.ts";
import { measureRefreshes } from "./sections/refreshes.ts";
import { measureStoring } from "./sections/storing.ts";
import { measureTelling } from "./sections/telling.ts";
import { measureVerification } from "./sections/verification.ts";

/** Runs one section in this process and writes its result as JSON: `run-section.ts <section> <file>`. */
const MEASURES: Readonly<Record<Section, () => Promise<unknown>>> = {
  verification: measureVerification,
  hostile: measureHostile,
  storing: measureStoring,
  reading: measureReading,
  notifications: measureNotifications,
  refreshes: measureRefreshes,
  telling: measureTelling,
  coldStart: measureColdStart,
  load: measureLoad,
};

const [section = "", file = ""] = process.argv.slice(2);
if (isSection(section)) writeFileSync(file, JSON.stringify(await MEASURES[section]()));
else process.stderr.write(noSection(section));
// Open connections of clients would keep the process alive.
process.exit(isSection(section) ? 0 : 1);
