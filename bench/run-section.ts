import { writeFileSync } from "node:fs";
import { isSection, MEASURES } from "./results.ts";

/** Runs one section in this process and writes its result as JSON: `run-section.ts <section> <file>`. */
const [section = "", file = ""] = process.argv.slice(2);
if (!isSection(section)) throw new RangeError(`There is no section ${section}.`);
writeFileSync(file, JSON.stringify(await MEASURES[section]()));
// Open connections of clients would keep the process alive.
process.exit();
