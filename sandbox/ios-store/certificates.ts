import { createPublicKey, generateKeyPairSync, sign, X509Certificate, type KeyObject } from "node:crypto";
import {
  BitString,
  Boolean,
  Constructed,
  fromBER,
  Integer,
  Null,
  ObjectIdentifier,
  OctetString,
  Sequence,
  Set as SetOf,
  UTCTime,
  Utf8String,
  type BaseBlock,
} from "asn1js";

/** Blocks of ASN.1 that certificates and receipts are made of. */

export const der = (block: BaseBlock): Buffer => Buffer.from(block.toBER());
export const sequence = (...value: BaseBlock[]): Sequence => new Sequence({ value });
export const setOf = (...value: BaseBlock[]): SetOf => new SetOf({ value });
export const oid = (value: string): ObjectIdentifier => new ObjectIdentifier({ value });
export const octets = (content: Uint8Array): OctetString => new OctetString({ valueHex: content });
export const utf8 = (value: string): Utf8String => new Utf8String({ value });
export const tagged = (tagNumber: number, block: BaseBlock): Constructed =>
  new Constructed({ idBlock: { tagClass: 3, tagNumber }, value: [block] });

/**
 * `TEMPLATES` are shaped like Apple's certificates; every attribute can be set, so that tests can make any invalid one.
 *
 * @see https://www.rfc-editor.org/rfc/rfc5280#section-4.1
 */
export interface CertificateTemplate {
  readonly commonName: string;
  /** Issuer name in the certificate; null: the issuer's own. */
  readonly issuerName: string | null;
  readonly serialNumber: number;
  readonly notBefore: number;
  readonly notAfter: number;
  readonly extensions: readonly Extension[];
  /** Of its key, which is new. */
  readonly curve: "P-256" | "P-384";
}

export interface Extension {
  readonly oid: string;
  readonly critical: boolean;
  /** DER. */
  readonly value: Uint8Array;
}

/** A certificate with its key. */
export interface Identity {
  /** DER. */
  readonly certificate: Buffer;
  readonly privateKey: KeyObject;
}

const time = (instant: number): UTCTime => new UTCTime({ valueDate: new Date(instant) });

const ECDSA_WITH_SHA256 = "1.2.840.10045.4.3.2";

const attribute = (type: string, value: string): SetOf => setOf(sequence(oid(type), utf8(value)));

const nameOf = (commonName: string): Sequence =>
  sequence(attribute("2.5.4.3", commonName), attribute("2.5.4.10", "Local Sandbox"));

const extensionBlock = ({ oid: identifier, critical, value }: Extension): Sequence =>
  sequence(oid(identifier), ...(critical ? [new Boolean({ value: true })] : []), octets(value));

export const basicConstraints = (authority: boolean, pathLength: number | null = null): Extension => ({
  oid: "2.5.29.19",
  critical: true,
  value: der(
    sequence(
      ...(authority ? [new Boolean({ value: true })] : []),
      ...(pathLength === null ? [] : [new Integer({ value: pathLength })]),
    ),
  ),
});

export const keyUsage = (usage: "digitalSignature" | "keyCertSign"): Extension => ({
  oid: "2.5.29.15",
  critical: true,
  value: der(
    usage === "digitalSignature"
      ? new BitString({ valueHex: Uint8Array.of(0x80), unusedBits: 7 })
      : new BitString({ valueHex: Uint8Array.of(0x06), unusedBits: 1 }),
  ),
});

/** An extension whose presence alone has a meaning. */
export const marker = (identifier: string, critical = false): Extension => ({
  oid: identifier,
  critical,
  value: der(new Null()),
});

/** A remark for human readers. It also makes a certificate about as large as Apple's. */
const remark: Extension = {
  oid: "2.16.840.1.113730.1.13",
  critical: false,
  value: der(
    utf8(
      "This certificate was made by a sandbox on this machine. It stands in for the iOS store's in tests and " +
        "local development, and nothing that is deployed trusts it. Whoever holds its key can sign any purchase.",
    ),
  ),
};

/** OIDs by which Apple marks the App Store's signing certificates and their issuers. */
export const MARKERS = {
  leaf: "1.2.840.113635.100.6.11.1",
  intermediate: "1.2.840.113635.100.6.2.1",
} as const;

const AUTHORITY = {
  notBefore: Date.UTC(2020, 0, 1),
  notAfter: Date.UTC(2045, 0, 1),
  issuerName: null,
  curve: "P-384",
} as const;

export const TEMPLATES: Readonly<Record<"root" | "intermediate" | "leaf" | "xcode", CertificateTemplate>> = {
  root: {
    ...AUTHORITY,
    commonName: "Sandbox Store Root CA",
    serialNumber: 1,
    extensions: [basicConstraints(true), keyUsage("keyCertSign")],
  },
  intermediate: {
    ...AUTHORITY,
    commonName: "Sandbox Store Intermediate CA",
    serialNumber: 2,
    extensions: [basicConstraints(true, 0), keyUsage("keyCertSign"), marker(MARKERS.intermediate), remark],
  },
  leaf: {
    ...AUTHORITY,
    commonName: "Sandbox Store Receipt Signing",
    serialNumber: 3,
    extensions: [basicConstraints(false), keyUsage("digitalSignature"), marker(MARKERS.leaf), remark],
    curve: "P-256",
  },
  // StoreKit testing's own certificate is marked as an authority, but its key usage does not let it issue any.
  xcode: {
    ...AUTHORITY,
    commonName: "StoreKit Testing in Xcode",
    serialNumber: 1,
    extensions: [basicConstraints(true, 0), keyUsage("digitalSignature")],
    curve: "P-256",
  },
};

const commonNameOf = ({ certificate }: Identity): string =>
  /^CN=(.*)$/m.exec(new X509Certificate(certificate).subject)?.[1] ?? "";

/** Issues a certificate; without an issuer it is self-signed. */
export const issueCertificate = (template: CertificateTemplate, issuer: Identity | null): Identity => {
  const { commonName, issuerName, extensions } = template;
  const { privateKey } = generateKeyPairSync("ec", { namedCurve: template.curve });
  const publicKey = createPublicKey(privateKey).export({ format: "der", type: "spki" });
  const algorithm = () => sequence(oid(ECDSA_WITH_SHA256));
  const toBeSigned = sequence(
    tagged(0, new Integer({ value: 2 })),
    new Integer({ value: template.serialNumber }),
    algorithm(),
    nameOf(issuerName ?? (issuer === null ? commonName : commonNameOf(issuer))),
    sequence(time(template.notBefore), time(template.notAfter)),
    nameOf(commonName),
    fromBER(publicKey).result,
    tagged(3, sequence(...extensions.map(extensionBlock))),
  );
  const signature = sign("sha256", der(toBeSigned), issuer?.privateKey ?? privateKey);
  return {
    certificate: der(sequence(toBeSigned, algorithm(), new BitString({ valueHex: signature }))),
    privateKey,
  };
};
