import { build } from "esbuild";
import { billOfMaterials } from "../../tools/bill-of-materials.ts";
import { BUNDLING, ENTRIES } from "../../infra/bundling/bundled-code.ts";
import { CHECKED, PERMISSIVE } from "./licences.ts";

/** Packages of which something is in a function's bundle. */
const bundled = async (): Promise<ReadonlySet<string>> => {
  const { metafile } = await build({
    ...BUNDLING,
    entryPoints: Object.values(ENTRIES).map((entry) => `functions/${entry}`),
    outdir: "bundles",
    metafile: true,
    write: false,
  });
  return new Set(
    Object.keys(metafile.inputs).flatMap((input) => {
      const [, name] = /.*node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(input) ?? [];
      return name === undefined ? [] : [name];
    }),
  );
};

test("the bill of materials has each bundled package, permissively licensed", async () => {
  const { components } = billOfMaterials();
  const names = new Set(components.map(({ name }) => name));
  const contained = await bundled();
  expect(contained.size).toBeGreaterThan(10);
  expect([...contained].filter((name) => !names.has(name))).toEqual([]);
  expect([...names].filter((name) => /^(?:jest|aws-cdk|esbuild|prettier)$/.test(name))).toEqual([]);
  const others = components.filter(
    ({ licenses = [] }) => licenses.length !== 1 || !PERMISSIVE.test(licenses[0]?.license?.id ?? ""),
  );
  expect(others.map(({ name }) => name)).toEqual(CHECKED);
}, 120_000);
