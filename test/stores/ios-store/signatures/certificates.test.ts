import { X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { extensionsOf } from "../../../../lib/stores/ios-store/signatures/chain.ts";

const SAMPLES = new URL("../../../proof/comparison/apple-samples.json", import.meta.url);
const samples: Readonly<Record<string, string>> = JSON.parse(readFileSync(SAMPLES, "utf8"));

/** Object identifiers that both have: as RFC 5280 names them, from basic constraints to key usage. */
const BOTH = ["551d13", "551d23", "2b06010505070101", "551d0e", "551d0f"];

test.each([
  ["appleLeaf", "551d20", "2a864886f76364060b01"],
  ["appleIntermediate", "551d1f", "2a864886f76364060201"],
])("Apple's own %s has its extensions, its marker among them", (name, ...own) => {
  const certificate = new X509Certificate(Buffer.from(samples[name] ?? "", "base64"));
  expect(extensionsOf(certificate)).toEqual(new Set([...BOTH, ...own]));
});
