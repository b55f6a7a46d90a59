import { execFileSync } from "node:child_process";
import { copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { format, resolveConfig } from "prettier";
import { contractTypes } from "./contract-types.ts";

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

/** `source/contract.ts` as the contract has it now, formatted as the project's files are. */
export const contractSource = async (): Promise<string> => {
  const document = JSON.parse(readFileSync(here("../docs/openapi.json"), "utf8"));
  const file = here("source/contract.ts");
  return format(contractTypes(document), { ...(await resolveConfig(file)), filepath: file });
};

/**
 * Compiles and packs the client.
 *
 * @param folder gets `package/`, what is packed, and `customer-entitlements-client-<version>.tgz`
 */
export const pack = (folder: string): void => {
  const staging = join(folder, "package");
  rmSync(staging, { recursive: true, force: true });
  mkdirSync(staging, { recursive: true });
  const tsc = here("../node_modules/typescript/bin/tsc");
  execFileSync(process.execPath, [tsc, "--project", here("."), "--outDir", join(staging, "dist")]);
  for (const file of ["package.json", "README.md"]) copyFileSync(here(file), join(staging, file));
  copyFileSync(here("../LICENSE"), join(staging, "LICENSE"));
  execFileSync("npm", ["pack", "--silent", "--pack-destination", folder], { cwd: staging });
};

if (import.meta.main) {
  writeFileSync(here("source/contract.ts"), await contractSource());
  pack(here("dist"));
  process.stdout.write("The package is in client/dist.\n");
}
