import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { buildSync } from "esbuild";
import * as z from "zod";
import { BUNDLING, ENTRIES } from "../infra/bundling/bundled-code.ts";

const component = z.looseObject({
  name: z.string(),
  version: z.string(),
  "bom-ref": z.string(),
  licenses: z
    .array(
      // A licence, or an expression of several.
      z.looseObject({ license: z.looseObject({ id: z.string().optional() }).optional() }),
    )
    .optional(),
});
const dependency = z.looseObject({ ref: z.string(), dependsOn: z.array(z.string()).default([]) });
const bill = z.looseObject({ components: z.array(component), dependencies: z.array(dependency) });

const lock = z.object({
  packages: z.record(
    z.string(),
    z.looseObject({ version: z.string().optional(), dev: z.boolean().optional() }),
  ),
});

const MOST_BYTES = 64 * 1024 * 1024;

/** Packages in any function's bundle, even those that the lock file marks as tools only. */
const bundledFolders = (): ReadonlySet<string> => {
  const { metafile } = buildSync({
    ...BUNDLING,
    entryPoints: Object.values(ENTRIES).map((entry) => `functions/${entry}`),
    outdir: "bundles",
    metafile: true,
    write: false,
  });
  return new Set(
    Object.keys(metafile.inputs).flatMap((input) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(input) ?? []),
  );
};

/** `<name>@<version>` of every package that is not for development only. */
const deployed = (): ReadonlySet<string> => {
  const bundled = bundledFolders();
  return new Set(
    Object.entries(lock.parse(JSON.parse(readFileSync("package-lock.json", "utf8"))).packages)
      .filter(([path, { dev }]) => path !== "" && (dev !== true || bundled.has(path)))
      .map(([path, { version = "" }]) => `${path.split("node_modules/").at(-1) ?? ""}@${version}`),
  );
};

/**
 * Bill of materials of what is deployed, in CycloneDX. `npm sbom --omit dev` also leaves out what is needed by both the
 * deployed code and the tools; the lock file knows better.
 */
export const billOfMaterials = (): z.infer<typeof bill> => {
  const whole = bill.parse(
    JSON.parse(
      execFileSync("npm", ["sbom", "--sbom-format", "cyclonedx"], {
        encoding: "utf8",
        maxBuffer: MOST_BYTES,
        stdio: ["ignore", "pipe", "ignore"],
      }),
    ),
  );
  const kept = deployed();
  const components = whole.components.filter(({ "bom-ref": ref }) => kept.has(ref));
  const references = new Set(components.map(({ "bom-ref": ref }) => ref));
  return {
    ...whole,
    components,
    dependencies: whole.dependencies
      .filter(({ ref }) => references.has(ref))
      .map((one) => ({ ...one, dependsOn: one.dependsOn.filter((ref) => references.has(ref)) })),
  };
};

if (import.meta.main) process.stdout.write(`${JSON.stringify(billOfMaterials(), null, 2)}\n`);
