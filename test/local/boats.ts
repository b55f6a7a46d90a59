import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { RunCommand } from "../support/local-operator.ts";

export const BOAT_PRODUCT = { productIdentifier: "pro", basePlanIdentifier: "yearly" };

/** Applies an application whose Android package has the secret's credential, and issues an API key that may link. */
export const keyOfAnApplication = async (
  operator: RunCommand,
  packageName: string,
  secret: string,
): Promise<string> => {
  const folder = mkdtempSync(join(tmpdir(), "boats-"));
  const file = join(folder, "manifest.json");
  writeFileSync(
    file,
    JSON.stringify({
      application: { name: packageName },
      stores: { "android-store": [{ packageName, credential: { secret } }] },
      entitlements: { captain: { displayName: "Captain" } },
      products: [{ store: "android-store", ...BOAT_PRODUCT, grants: ["captain"] }],
    }),
  );
  await operator("application", "apply", file, "--yes");
  rmSync(folder, { recursive: true });
  const application = (await operator("application", "find", packageName)).trim();
  const words = ["credential", "issue", "--application", application, "--scope", "customers:write"];
  const [apiKey = ""] = (await operator(...words)).split("\n");
  return apiKey;
};
