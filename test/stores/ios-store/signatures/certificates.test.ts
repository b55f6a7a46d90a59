import { X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { Boolean, Constructed, fromBER, ObjectIdentifier, OctetString } from "asn1js";
import fc from "fast-check";
import * as z from "zod";
import {
  basicConstraints,
  issueCertificate,
  keyUsage,
  marker,
  MARKERS,
  TEMPLATES,
  type Extension,
} from "../../../../sandbox/ios-store/certificates.ts";
import {
  APP_STORE_SIGNING,
  APPLE_INTERMEDIATE,
  fieldsOf,
  parseCertificate,
} from "../../../../lib/stores/ios-store/signatures/certificates.ts";
import { cases } from "../../../../testing/support/proof.ts";

const samples = z
  .record(z.string(), z.string())
  .parse(
    JSON.parse(
      readFileSync(new URL("../../../proof/comparison/apple-samples.json", import.meta.url), "utf8"),
    ),
  );
const sample = (name: string): Buffer => Buffer.from(samples[name] ?? "", "base64");

const leafWith = (...extensions: readonly Extension[]): Buffer =>
  issueCertificate({ ...TEMPLATES.leaf, extensions }, null).certificate;

const fieldsIn = (der: Buffer) => fieldsOf(new X509Certificate(der));

/** DER of an object identifier, without its tag and length, in hex. */
const hexOf = (oid: string): string =>
  Buffer.from(new ObjectIdentifier({ value: oid }).toBER())
    .subarray(2)
    .toString("hex");

const itemsOf = (block: unknown): readonly unknown[] =>
  block instanceof Constructed ? block.valueBlock.value : [];
const encodingOf = (block: unknown): Buffer =>
  Buffer.from(block instanceof Constructed ? block.valueBeforeDecodeView : []);

/** Names and extensions as read by a full ASN.1 library. */
const readByLibrary = (der: Buffer) => {
  const { offset, result } = fromBER(der);
  if (offset === -1) return null;
  const [toBeSigned] = itemsOf(result);
  const fields = itemsOf(toBeSigned);
  const extensions = itemsOf(itemsOf(fields.at(-1))[0]).map((extension) => {
    const [oid, ...rest] = itemsOf(extension);
    return {
      oid: oid instanceof ObjectIdentifier ? hexOf(oid.getValue()) : null,
      critical: rest.length > 1 && (rest[0] as Boolean).getValue(),
      hasValue: rest.at(-1) instanceof OctetString,
    };
  });
  return { issuer: encodingOf(fields[3]), subject: encodingOf(fields[5]), extensions };
};

const plain = (bytes: Uint8Array | undefined): string => Buffer.from(bytes ?? []).toString("hex");

/** False when our reader refuses the certificate. Otherwise expects that the library reads the same. */
const isReadAlike = (der: Buffer): boolean => {
  const fields = fieldsIn(der);
  if (fields === null) return false;
  const read = readByLibrary(der);
  // The library fails on unknown texts and times, which our reader skips.
  if (read === null) return true;
  expect(plain(fields.issuer)).toBe(plain(read.issuer));
  expect(plain(fields.subject)).toBe(plain(read.subject));
  expect([...fields.extensions]).toEqual(read.extensions.map(({ oid }) => oid));
  expect(read.extensions.every(({ hasValue }) => hasValue)).toBe(true);
  const criticals = read.extensions.filter(({ critical }) => critical).map(({ oid }) => oid);
  const understood = new Set<string | null>(
    ["2.5.29.19", "2.5.29.15", MARKERS.leaf, MARKERS.intermediate].map(hexOf),
  );
  expect(criticals.filter((oid) => !understood.has(oid))).toEqual([]);
  return true;
};

test("Apple's markers have the documented identifiers", () => {
  expect(APP_STORE_SIGNING).toBe(hexOf(MARKERS.leaf));
  expect(APPLE_INTERMEDIATE).toBe(hexOf(MARKERS.intermediate));
});

describe("Apple's certificates", () => {
  test.each([
    ["appleLeaf", { isAuthority: false, maySignCertificates: false, maySignData: true }],
    [
      "appleIntermediate",
      { isAuthority: true, pathLength: 0, maySignCertificates: true, maySignData: false },
    ],
    ["appleRoot", { isAuthority: true, pathLength: Infinity, maySignCertificates: true, maySignData: false }],
    ["testLeaf", { isAuthority: false }],
  ])("%s is read as a full ASN.1 library reads it", (name, expected) => {
    expect(fieldsIn(sample(name))).toMatchObject(expected);
    expect(readByLibrary(sample(name))).not.toBeNull();
    expect(isReadAlike(sample(name))).toBe(true);
  });
});

describe("a certificate with any one byte changed", () => {
  test.each([
    ["Apple's leaf", sample("appleLeaf")],
    ["Apple's intermediate", sample("appleIntermediate")],
    ["the sandbox's leaf", issueCertificate(TEMPLATES.leaf, null).certificate],
  ])("is read as the library reads it or is refused: %s", (_, der) => {
    const read = { same: 0, refused: 0 };
    fc.assert(
      fc.property(fc.nat(der.length - 1), fc.nat(0xff), (place, byte) => {
        const changed = Buffer.from(der);
        changed[place] = byte;
        const certificate = parseCertificate(changed.toString("base64"));
        if (certificate !== null) read[isReadAlike(changed) ? "same" : "refused"] += 1;
      }),
      cases(100, 5_000),
    );
    expect(read.same).toBeGreaterThan(read.refused);
  });
});

describe("a certificate that is not DER", () => {
  const certificate = leafWith(basicConstraints(true, 1), keyUsage("digitalSignature"), marker(MARKERS.leaf));
  const changed = (from: string, to: string): Buffer => {
    const hex = certificate.toString("hex");
    expect(hex.split(from)).toHaveLength(2);
    return Buffer.from(hex.replace(from, to), "hex");
  };
  const basic = hexOf("2.5.29.19");
  test("is made from one that is", () => {
    expect(fieldsIn(certificate)).toMatchObject({ isAuthority: true, pathLength: 1 });
  });
  test.each([
    ["a critical flag that is neither true nor false", `${basic}0101ff`, `${basic}010101`],
    ["an authority flag that is neither true nor false", "30060101ff020101", "3006010101020101"],
    ["a negative path length", "30060101ff020101", "30060101ff020180"],
    ["a path length that is not a number", "30060101ff020101", "30060101ff040101"],
    ["a key usage that is not a bit string", "03020780", "04020780"],
  ])("is refused: %s", (_, from, to) => {
    expect(fieldsIn(changed(from, to))).toBeNull();
  });

  test.each([
    ["a path length of two bytes", basicConstraints(true, 128)],
    ["basic constraints with trailing bytes", { ...basicConstraints(true), value: Buffer.of(0x30, 0, 5, 0) }],
    [
      "basic constraints with three values",
      { ...basicConstraints(true), value: Buffer.of(0x30, 9, 1, 1, 0xff, 2, 1, 0, 2, 1, 0) },
    ],
    ["a key usage without bits", { ...keyUsage("digitalSignature"), value: Buffer.of(3, 0) }],
    [
      "a key usage with eight unused bits",
      { ...keyUsage("digitalSignature"), value: Buffer.of(3, 2, 8, 0x80) },
    ],
    [
      "a key usage with an unused bit set",
      { ...keyUsage("digitalSignature"), value: Buffer.of(3, 2, 7, 0x84) },
    ],
    [
      "a key usage of three bytes",
      { ...keyUsage("digitalSignature"), value: Buffer.of(3, 4, 0, 0x80, 0, 0) },
    ],
  ])("is refused: %s", (_, extension) => {
    expect(fieldsIn(leafWith(extension))).toBeNull();
  });
});

test.each([
  ["digital signature alone", Buffer.of(3, 2, 7, 0x80), true, false],
  ["all nine", Buffer.of(3, 3, 7, 0xff, 0x80), true, true],
])("a key usage is read: %s", (_, value, maySignData, maySignCertificates) => {
  expect(fieldsIn(leafWith({ ...keyUsage("digitalSignature"), value }))).toMatchObject({
    maySignData,
    maySignCertificates,
  });
});

test("a certificate of another version than 3 is refused", () => {
  const certificate = leafWith(keyUsage("digitalSignature")).toString("hex");
  expect(certificate.split("a003020102")).toHaveLength(2);
  for (const version of ["00", "01", "03"])
    expect(fieldsIn(Buffer.from(certificate.replace("a003020102", `a0030201${version}`), "hex"))).toBeNull();
});
