import { rmSync, writeFileSync } from "node:fs";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { getFileInfo } from "prettier";
import { synthesize } from "../../local/synthesize.ts";

const PROJECT = fileURLToPath(new URL("../../", import.meta.url));

/** Files that the README and the guide have somebody make in the project's folder. */
const filesIn = (text: string): string[] =>
  [
    ...text.matchAll(
      /(?:file:\/\/|(?<!>)> |keys create |application apply |Save it as `|your own file, `)([\w-]+\.(?:json|ya?ml|p8))/g,
    ),
  ].map(([, file = ""]) => file);

test("git, and with it the check of formats, leaves alone what the guide has somebody make here", async () => {
  const texts = await Promise.all(["README.md", "docs/operations.md"].map((file) => readFile(file, "utf8")));
  const files = [...new Set(texts.flatMap(filesIn))].sort();
  expect(files).toEqual(
    expect.arrayContaining([
      "SubscriptionKey_2X9R4HXF34.p8",
      "export.json",
      "new-key.json",
      "service-account.json",
      "stages.json",
      "trails.yaml",
    ]),
  );
  for (const file of files)
    expect([file, (await getFileInfo(join(PROJECT, file), { ignorePath: ".gitignore" })).ignored]).toEqual([
      file,
      true,
    ]);
});

test("the project's own files are not among them", async () => {
  const own = (await readdir(PROJECT)).filter((file) =>
    /^(?:\.\w+|package|package-lock|tsconfig|cdk)\.json$/.test(file),
  );
  expect(own.length).toBeGreaterThanOrEqual(4);
  for (const file of own)
    expect([file, (await getFileInfo(join(PROJECT, file), { ignorePath: ".gitignore" })).ignored]).toEqual([
      file,
      false,
    ]);
});

test("the local run, and so every test, is the same with any stages.json", async () => {
  const file = join(PROJECT, "stages.json");
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
}, 60_000);
