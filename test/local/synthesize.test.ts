import { rmSync, writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { synthesize } from "../../local/synthesize.ts";

test("the local run, and so every test, is the same with any stages.json", async () => {
  const file = fileURLToPath(new URL("../../stages.json", import.meta.url));
  const folder = await mkdtemp(join(tmpdir(), "stages-"));
  let isMade = false;
  try {
    // Not an operator's own one, which may be there.
    writeFileSync(file, "{ not JSON", { flag: "wx" });
    isMade = true;
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "EEXIST")) throw error;
  }
  try {
    const { document } = await synthesize({ folder });
    expect(Object.keys(document.Resources).length).toBeGreaterThan(20);
  } finally {
    if (isMade) rmSync(file);
    await rm(folder, { recursive: true });
  }
}, 180_000);
