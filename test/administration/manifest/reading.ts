import { problemText, readManifest, type Manifest } from "../../../lib/administration/manifest/manifest.ts";
import type { TrustsOrigin } from "../../../lib/stores/android-store/workload-identity.ts";

export const CERTIFICATE = "ab".repeat(32);

/** A key of App Store Connect, in one line of YAML. Its issuer is no UUID of RFC 9562, as in Apple's own example. */
export const SERVER_API =
  "{ secret: trails/app-store-key, keyIdentifier: 2X9R4HXF34, issuerIdentifier: 57246542-96fe-1a63-e053-0824d011072a }";

export const manifest = (text: string, trustsOrigin?: TrustsOrigin): Manifest => {
  const reading = readManifest(text, trustsOrigin && { trustsOrigin });
  if (reading.outcome === "valid") return reading.manifest;
  throw new Error(reading.problems.map(problemText).join("\n"));
};

/** Line and path of each problem. */
export const problems = (text: string): string[] => {
  const reading = readManifest(text);
  return reading.outcome === "valid" ? [] : reading.problems.map(({ line, path }) => `${line} ${path}`);
};

export const messages = (text: string): string => {
  const reading = readManifest(text);
  return reading.outcome === "valid" ? "" : reading.problems.map(problemText).join("\n");
};

/** A manifest whose first store or product has a line of its own. */
export const withIosStore = (store: string) =>
  `application: { name: A }\nstores:\n  ios-store:\n    - { bundleIdentifier: a.b, ${store} }\n`;
export const withAndroidStore = (store: string) =>
  `application: { name: A }\nstores:\n  android-store:\n    - { packageName: a.b, ${store} }\n`;
export const withProducts = (...products: string[]) =>
  `application: { name: A }\nentitlements:\n  premium: {}\nproducts:\n${products
    .map((product) => `  - { productIdentifier: p, ${product} }\n`)
    .join("")}`;
