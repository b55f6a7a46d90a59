import { X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { Constructed, fromBER, ObjectIdentifier } from "asn1js";
import * as z from "zod";
import { MARKERS } from "../../../../sandbox/ios-store/certificates.ts";
import {
  APP_STORE_SIGNING,
  APPLE_INTERMEDIATE,
  extensionsOf,
} from "../../../../lib/stores/ios-store/signatures/certificates.ts";

const samples = z
  .record(z.string(), z.string())
  .parse(
    JSON.parse(
      readFileSync(new URL("../../../proof/comparison/apple-samples.json", import.meta.url), "utf8"),
    ),
  );

/** DER of an object identifier, without its tag and length, in hex. */
const hexOf = (oid: string): string =>
  Buffer.from(new ObjectIdentifier({ value: oid }).toBER())
    .subarray(2)
    .toString("hex");

const itemsOf = (block: unknown): readonly unknown[] =>
  block instanceof Constructed ? block.valueBlock.value : [];

/** Extensions as read by a full ASN.1 library. */
const readByLibrary = (der: Buffer): (string | null)[] => {
  const [toBeSigned] = itemsOf(fromBER(der).result);
  return itemsOf(itemsOf(itemsOf(toBeSigned).at(-1))[0]).map((extension) => {
    const [oid] = itemsOf(extension);
    return oid instanceof ObjectIdentifier ? hexOf(oid.getValue()) : null;
  });
};

test("Apple's markers have the documented identifiers", () => {
  expect(APP_STORE_SIGNING).toBe(hexOf(MARKERS.leaf));
  expect(APPLE_INTERMEDIATE).toBe(hexOf(MARKERS.intermediate));
});

test.each([
  ["appleLeaf", APP_STORE_SIGNING],
  ["appleIntermediate", APPLE_INTERMEDIATE],
])("Apple's %s has the extensions that a full ASN.1 library reads", (name, marker) => {
  const der = Buffer.from(samples[name] ?? "", "base64");
  const expected = readByLibrary(der);
  expect(expected).toContain(marker);
  expect([...(extensionsOf(new X509Certificate(der)) ?? [])]).toEqual(expected);
});
