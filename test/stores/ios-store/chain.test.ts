import { generateKeyPairSync, X509Certificate } from "node:crypto";
import { spyOn } from "jest-mock";
import {
  basicConstraints,
  issueCertificate,
  keyUsage,
  marker,
  MARKERS,
  TEMPLATES,
  type Extension,
} from "../../../sandbox/ios-store/certificates.ts";
import {
  exportChain,
  fingerprintOf,
  importChain,
  makeChain,
  signerWith,
  signJws,
  type ChainOverrides,
  type SigningChain,
} from "../../../sandbox/ios-store/signing.ts";
import {
  createKnownChains,
  verifyChain,
  verifyChainOnce,
} from "../../../lib/stores/ios-store/signatures/chain.ts";
import { APPLE_ROOTS } from "../../../lib/stores/ios-store/signatures/trust.ts";
import { createIosStoreVerifier } from "../../../lib/stores/ios-store/verifier.ts";
import { aTransaction, trusting, word } from "../../../testing/support/ios-store.ts";
import { watchChecks } from "../../../testing/support/signature-checks.ts";
import { NOW } from "../../../testing/support/purchases.ts";

type Part = "root" | "intermediate" | "leaf";
const PARTS = ["leaf", "intermediate", "root"] as const;

const chain = makeChain();
const trust = trusting({ roots: [chain.root] });
const outcome = (x5c: readonly string[]): string => word(verifyChain(x5c, trust));
const outcomeOf = ({ x5c, root }: Pick<SigningChain, "x5c" | "root">): string =>
  word(verifyChain(x5c, trusting({ roots: [root] })));

const base64 = (...[leaf, intermediate, root]: readonly { certificate: Buffer }[]): string[] =>
  [leaf, intermediate, root].map((identity) => identity?.certificate.toString("base64") ?? "");

const CRITICAL_UNKNOWN: Extension = marker("1.2.840.113635.100.6.99.1", true);
const extended = (part: Part, ...more: readonly Extension[]): ChainOverrides => ({
  [part]: { extensions: [...TEMPLATES[part].extensions, ...more] },
});
const without = (part: Part, oid: string): ChainOverrides => ({
  [part]: { extensions: TEMPLATES[part].extensions.filter((extension) => extension.oid !== oid) },
});
const OIDS = { basicConstraints: "2.5.29.19", keyUsage: "2.5.29.15" } as const;

describe("the App Store's certificates", () => {
  test("are trusted up to Apple Root CA – G3", () => {
    expect(APPLE_ROOTS).toEqual(["63343abfb89a6a03ebb57e9b3f5fa7be7c4f5c756f3017b3a8c488c3653e9179"]);
  });
  test("are three, up to a trusted root", () => {
    expect(verifyChain(chain.x5c, trust)).toMatchObject({
      outcome: "verified",
      payload: {
        signer: "app-store",
        anchor: fingerprintOf(chain.root),
        notBefore: TEMPLATES.leaf.notBefore,
        notAfter: TEMPLATES.leaf.notAfter,
      },
    });
  });
  test("are the same after they are saved and restored", () => {
    const restored = importChain(exportChain(chain));
    expect(restored.x5c).toEqual(chain.x5c);
    expect(restored.leaf.commonName).toBe(chain.leaf.commonName);
    expect(outcome(restored.x5c)).toBe("verified");
  });

  const [leaf = "", intermediate = "", root = ""] = chain.x5c;
  test.each([
    ["none", "chain_length", []],
    ["the leaf alone", "untrusted_xcode_certificate", [leaf]],
    ["the root alone", "untrusted_xcode_certificate", [root]],
    ["two", "chain_length", [leaf, intermediate]],
    ["four", "chain_length", [leaf, intermediate, root, root]],
    ["the wrong order", "untrusted_root", [root, intermediate, leaf]],
    ["the leaf in place of the intermediate", "broken_chain", [leaf, leaf, root]],
    ["the root in place of the intermediate", "broken_chain", [leaf, root, root]],
    ["the root in all places", "certificate_role", [root, root, root]],
  ])("are refused when they are %s", (_, reason, x5c) => {
    expect(outcome(x5c)).toBe(reason);
  });
});

describe("the root", () => {
  test("is recognized by its certificate, not by its name", () => {
    expect(outcome(makeChain().x5c)).toBe("untrusted_root");
  });
  test("is trusted only if the configuration names it", () => {
    expect(word(verifyChain(chain.x5c, trusting({})))).toBe("untrusted_root");
    expect(word(verifyChain(chain.x5c, { ...trust, roots: new Set(APPLE_ROOTS) }))).toBe("untrusted_root");
    expect(word(verifyChain(chain.x5c, trusting({ xcodeCertificates: [chain.root] })))).toBe(
      "untrusted_root",
    );
  });
  test("must be self-signed, even if it is trusted", () => {
    const signedByAnother = issueCertificate(TEMPLATES.root, makeChain().root);
    const intermediate = issueCertificate(TEMPLATES.intermediate, signedByAnother);
    const leaf = issueCertificate(TEMPLATES.leaf, intermediate);
    expect(outcomeOf({ ...signerWith(leaf, intermediate, signedByAnother), root: signedByAnother })).toBe(
      "broken_chain",
    );
  });
});

describe("each certificate is issued by the next", () => {
  const stranger = makeChain();
  test("a stranger's leaf under the right names is refused", () => {
    expect(outcome(base64(stranger.leaf, chain.intermediate, chain.root))).toBe("broken_chain");
  });
  test("a stranger's intermediate under the right names is refused", () => {
    expect(outcome(base64(stranger.leaf, stranger.intermediate, chain.root))).toBe("broken_chain");
  });
  test.each<[Part, string]>([
    ["leaf", "Somebody Else"],
    ["leaf", TEMPLATES.intermediate.commonName.toLowerCase()],
    ["intermediate", "Somebody Else"],
    ["intermediate", `${TEMPLATES.root.commonName} `],
    ["root", "Somebody Else"],
    ["root", TEMPLATES.root.commonName.toUpperCase()],
  ])("the %s must name its issuer byte for byte: %p is refused", (part, issuerName) => {
    expect(outcomeOf(makeChain({ [part]: { issuerName } }))).toBe("broken_chain");
  });
});

describe("only authorities issue", () => {
  const marked = [marker(MARKERS.leaf), marker(MARKERS.intermediate)];
  test("a leaf that issues another is refused", () => {
    const second = issueCertificate(TEMPLATES.leaf, chain.leaf);
    expect(outcome(base64(second, chain.leaf, chain.root))).toBe("broken_chain");
    expect(outcome(base64(second, chain.leaf, chain.intermediate))).toBe("untrusted_root");
  });
  test.each<[string, Part, readonly Extension[]]>([
    ["an intermediate that is not an authority", "intermediate", [basicConstraints(false), ...marked]],
    ["an intermediate without basic constraints", "intermediate", marked],
    ["a root that is not an authority", "root", [basicConstraints(false)]],
    ["a root without basic constraints", "root", [keyUsage("keyCertSign")]],
    ["a root that allows no intermediate", "root", [basicConstraints(true, 0)]],
    ["a leaf that is an authority", "leaf", [basicConstraints(true), ...marked]],
    ["a leaf that may only sign certificates", "leaf", [keyUsage("keyCertSign"), ...marked]],
  ])("%s is refused", (_, part, extensions) => {
    expect(outcomeOf(makeChain({ [part]: { extensions } }))).toBe("certificate_role");
  });
  test.each(["intermediate", "root"] as const)(
    "an authority (%s) that may only sign data is refused",
    (part) => {
      const { [part]: template } = TEMPLATES;
      const extensions = [
        keyUsage("digitalSignature"),
        ...template.extensions.filter(({ oid }) => oid !== OIDS.keyUsage),
      ];
      expect(outcomeOf(makeChain({ [part]: { extensions } }))).toBe("broken_chain");
    },
  );
  test.each([1, 2, 127])("a root that allows %d intermediates is accepted", (pathLength) => {
    const extensions = [basicConstraints(true, pathLength), keyUsage("keyCertSign")];
    expect(outcomeOf(makeChain({ root: { extensions } }))).toBe("verified");
  });
  test.each(PARTS)("a %s without a key usage may be used for anything", (part) => {
    expect(outcomeOf(makeChain(without(part, OIDS.keyUsage)))).toBe("verified");
  });
  test("a leaf without basic constraints is not an authority", () => {
    expect(outcomeOf(makeChain(without("leaf", OIDS.basicConstraints)))).toBe("verified");
  });
});

describe("Apple's markers", () => {
  test.each<[string, ChainOverrides]>([
    ["no marker on the leaf", without("leaf", MARKERS.leaf)],
    ["no marker on the intermediate", without("intermediate", MARKERS.intermediate)],
    [
      "the intermediate's marker on the leaf",
      { leaf: { extensions: [basicConstraints(false), marker(MARKERS.intermediate)] } },
    ],
    [
      "the leaf's marker on the intermediate",
      { intermediate: { extensions: [basicConstraints(true), marker(MARKERS.leaf)] } },
    ],
  ])("are required: %s is refused", (_, overrides) => {
    expect(outcomeOf(makeChain(overrides))).toBe("certificate_role");
  });
  test("may be critical", () => {
    const extensions = [basicConstraints(false), marker(MARKERS.leaf, true)];
    expect(outcomeOf(makeChain({ leaf: { extensions } }))).toBe("verified");
  });
});

describe("the leaf's key", () => {
  test.each([
    ["on P-384", generateKeyPairSync("ec", { namedCurve: "P-384" }).privateKey],
    ["on secp256k1", generateKeyPairSync("ec", { namedCurve: "secp256k1" }).privateKey],
    ["of RSA", generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey],
    ["of Ed25519", generateKeyPairSync("ed25519").privateKey],
  ])("must be on P-256: a key %s is refused", (_, privateKey) => {
    expect(outcomeOf(makeChain({ leaf: { privateKey } }))).toBe("certificate_role");
  });
});

describe("extensions", () => {
  test.each(PARTS)("an unknown critical extension on the %s is refused", (part) => {
    expect(outcomeOf(makeChain(extended(part, CRITICAL_UNKNOWN)))).toBe("certificate_extensions");
  });
  test.each(PARTS)("an unknown uncritical extension on the %s is tolerated", (part) => {
    expect(outcomeOf(makeChain(extended(part, { ...CRITICAL_UNKNOWN, critical: false })))).toBe("verified");
  });
  test.each(PARTS)("a duplicate extension on the %s is refused", (part) => {
    const twice = marker("1.2.840.113635.100.6.99.1");
    expect(outcomeOf(makeChain(extended(part, twice, twice)))).toBe("certificate_extensions");
  });
  test.each(PARTS)("contradictory basic constraints on the %s are refused", (part) => {
    expect(outcomeOf(makeChain(extended(part, basicConstraints(part === "leaf"))))).not.toBe("verified");
  });
  test.each<[string, Extension, string]>([
    [
      "basic constraints",
      { oid: OIDS.basicConstraints, critical: true, value: Buffer.of(5, 0) },
      "broken_chain",
    ],
    ["a key usage", { oid: OIDS.keyUsage, critical: true, value: Buffer.of(0x30, 0x80) }, "broken_chain"],
    [
      "a key usage with bytes after it",
      { oid: OIDS.keyUsage, critical: true, value: Buffer.of(3, 2, 7, 0x80, 0) },
      "certificate_extensions",
    ],
  ])("%s that cannot be read is refused", (_, extension, reason) => {
    const extensions = [extension, marker(MARKERS.leaf)];
    expect(outcomeOf(makeChain({ leaf: { extensions } }))).toBe(reason);
  });
});

describe("a certificate's encoding", () => {
  const spoiled = (spoil: (certificate: Buffer) => string): string[][] =>
    PARTS.map((part) =>
      chain.x5c.map((text, index) => (PARTS[index] === part ? spoil(chain[part].certificate) : text)),
    );
  test.each<[string, (certificate: Buffer) => string]>([
    ["trailing bytes", (der) => Buffer.concat([der, Buffer.alloc(2)]).toString("base64")],
    ["another certificate after it", (der) => Buffer.concat([der, der]).toString("base64")],
    ["bytes missing", (der) => der.subarray(0, -1).toString("base64")],
    ["no bytes", () => ""],
    ["PEM", (der) => Buffer.from(new X509Certificate(der).toString()).toString("base64")],
    ["PEM without base64 around it", (der) => new X509Certificate(der).toString()],
    ["base64url", (der) => Buffer.concat([der, Buffer.of(0xfb, 0xff, 0xfe)]).toString("base64url")],
    ["a line feed", (der) => `${der.toString("base64")}\n`],
    ["a space within", (der) => der.toString("base64").replace(/^..../, "$& ")],
    ["too much padding", (der) => `${der.toString("base64")}=`],
    ["bytes that are not a certificate", () => Buffer.of(0x30, 0x03, 0x02, 0x01, 0x01).toString("base64")],
  ])("must be canonical base64 of DER: %s is refused", (_, spoil) => {
    for (const x5c of spoiled(spoil)) expect(outcome(x5c)).toBe("malformed_certificate");
  });
  test("must have its padding", () => {
    // The length of a signature differs between chains.
    let padded = makeChain();
    for (let length = 1; padded.x5c[0]?.endsWith("=") !== true; length = (length % 30) + 1)
      padded = makeChain({ leaf: { commonName: "L".repeat(length) } });
    const [leaf = "", ...issuers] = padded.x5c;
    expect(outcomeOf(padded)).toBe("verified");
    expect(outcomeOf({ ...padded, x5c: [leaf.replace(/=+$/, ""), ...issuers] })).toBe(
      "malformed_certificate",
    );
  });
});

describe("the time of signing", () => {
  const SECOND = 1000;
  const at = (iso: string) => Date.parse(iso);
  const limited = (part: Part) =>
    makeChain({ [part]: { notBefore: at("2024-01-01T00:00:00Z"), notAfter: at("2026-01-01T00:00:00Z") } });
  const signedAt = async (limits: SigningChain, signedDate: number, verifier = createIosStoreVerifier()) =>
    word(
      await verifier.verifyTransaction(
        signJws(aTransaction({ signedDate }), limits),
        trusting({ roots: [limits.root] }),
        NOW,
      ),
    );
  describe.each(PARTS)("must be within the validity of the %s", (part) => {
    const limits = limited(part);
    test.each([
      ["before the first moment", at("2024-01-01T00:00:00Z") - 1, "outside_validity"],
      ["at the first moment", at("2024-01-01T00:00:00Z"), "verified"],
      [
        "at the last moment, even if the certificate has expired since",
        at("2026-01-01T00:00:00Z"),
        "verified",
      ],
      ["after the last moment", at("2026-01-01T00:00:00Z") + 1, "outside_validity"],
      ["long after", NOW - SECOND, "outside_validity"],
    ])("%s", async (_, signedDate, expected) => {
      expect(await signedAt(limits, signedDate)).toBe(expected);
    });
  });
  test("is checked for each JWS, whether or not its chain is known", async () => {
    const limits = limited("leaf");
    const verifier = createIosStoreVerifier();
    expect(await signedAt(limits, at("2025-06-01T00:00:00Z"), verifier)).toBe("verified");
    expect(await signedAt(limits, at("2026-06-01T00:00:00Z"), verifier)).toBe("outside_validity");
    expect(await signedAt(limits, at("2025-06-01T00:00:00Z"), verifier)).toBe("verified");
  });
});

describe("known chains", () => {
  const counted = async (work: () => unknown): Promise<number> => {
    const certificates = spyOn(X509Certificate.prototype, "verify");
    try {
      await work();
      return certificates.mock.calls.length;
    } finally {
      certificates.mockRestore();
    }
  };
  const jwsOf = (signer: SigningChain) => signJws(aTransaction(), signer);

  test("cost one signature check for each JWS", async () => {
    const { checks, done } = watchChecks();
    const verifier = createIosStoreVerifier(checks);
    const jws = Array.from({ length: 20 }, () => jwsOf(chain));
    expect(await counted(() => verifier.verifyTransaction(jwsOf(chain), trust, NOW))).toBe(3);
    expect(done).toEqual({ first: 1, alone: 0, together: 0 });
    expect(await counted(() => verifier.verifyTransactions(jws, trust, NOW))).toBe(0);
    expect(done).toEqual({ first: 1, alone: 0, together: 20 });
    expect(await counted(() => verifier.verifyTransactions(jws.slice(0, 1), trust, NOW))).toBe(0);
    expect(done).toEqual({ first: 1, alone: 1, together: 20 });
  });
  test("cost one signature check and no certificate check under another header", async () => {
    const { checks, done } = watchChecks();
    const verifier = createIosStoreVerifier(checks);
    const verify = (jws: string) => counted(() => verifier.verifyTransaction(jws, trust, NOW));
    expect(await verify(jwsOf(chain))).toBe(3);
    expect(await verify(signJws(aTransaction(), chain, { typ: "JWT" }))).toBe(0);
    expect(done).toEqual({ first: 2, alone: 0, together: 0 });
  });
  test("are not learnt by the header of a refused JWS", async () => {
    const { checks, done } = watchChecks();
    const verifier = createIosStoreVerifier(checks);
    const [header = "", , signature = ""] = jwsOf(chain).split(".");
    const forged = [
      header,
      Buffer.from(JSON.stringify(aTransaction({ bundleId: "b" }))).toString("base64url"),
      signature,
    ];
    expect(word(await verifier.verifyTransaction(forged.join("."), trust, NOW))).toBe("signature");
    await verifier.verifyTransaction(jwsOf(chain), trust, NOW);
    expect(done).toEqual({ first: 2, alone: 0, together: 0 });
  });
  test("stay known when they alternate", async () => {
    const other = makeChain();
    const both = trusting({ roots: [chain.root, other.root] });
    const { checks, done } = watchChecks();
    const verifier = createIosStoreVerifier(checks);
    const jws = [chain, other, chain, other, chain, other].map(jwsOf);
    const work = async () => {
      for (const one of jws) expect(word(await verifier.verifyTransaction(one, both, NOW))).toBe("verified");
    };
    expect(await counted(work)).toBe(6);
    expect(done).toEqual({ first: 2, alone: 4, together: 0 });
  });
  test("are verified once for the first request that brings them", async () => {
    const jws = Array.from({ length: 8 }, () => jwsOf(chain));
    expect(await counted(() => createIosStoreVerifier().verifyTransactions(jws, trust, NOW))).toBe(3);
  });
  test("are trusted only while their root is", async () => {
    const verifier = createIosStoreVerifier();
    expect(word(await verifier.verifyTransaction(jwsOf(chain), trust, NOW))).toBe("verified");
    expect(word(await verifier.verifyTransaction(jwsOf(chain), trusting({}), NOW))).toBe("untrusted_root");
  });
  test("are recognized by their exact certificates", () => {
    const known = createKnownChains();
    const verify = (x5c: readonly string[]) => word(verifyChainOnce(x5c, trust, known));
    const [leaf = "", intermediate = "", root = ""] = chain.x5c;
    expect(verify(chain.x5c)).toBe("verified");
    expect(verify([`${leaf},${intermediate}`, root])).toBe("chain_length");
    expect(verify([`${leaf}","${intermediate}`, root])).toBe("chain_length");
    expect(verify([leaf, intermediate, `${root}\n`])).toBe("malformed_certificate");
    expect(verify([makeChain().x5c[0] ?? "", intermediate, root])).toBe("broken_chain");
  });
  test("do not vouch for a signature by another key", async () => {
    const verifier = createIosStoreVerifier();
    await verifier.verifyTransaction(jwsOf(chain), trust, NOW);
    const forged = signJws(aTransaction(), { x5c: chain.x5c, privateKey: makeChain().privateKey });
    expect(word(await verifier.verifyTransaction(forged, trust, NOW))).toBe("signature");
  });
  test("are bounded, and the oldest is forgotten", async () => {
    const chains = Array.from({ length: 65 }, (_, serialNumber) => {
      const leaf = issueCertificate(
        { ...TEMPLATES.leaf, serialNumber: serialNumber + 100 },
        chain.intermediate,
      );
      return signerWith(leaf, chain.intermediate, chain.root).x5c;
    });
    const known = createKnownChains();
    const costOf = async (x5c: readonly string[] | undefined) =>
      counted(() => expect(word(verifyChainOnce(x5c ?? [], trust, known))).toBe("verified"));
    for (const x5c of chains.slice(0, 64)) expect(await costOf(x5c)).toBe(3);
    expect(await costOf(chains[0])).toBe(0);
    expect(await costOf(chains[64])).toBe(3);
    expect(await costOf(chains[1])).toBe(0);
    expect(await costOf(chains[0])).toBe(3);
  });
  test("that are kept again do not crowd out others", () => {
    const verdict = verifyChain(chain.x5c, trust);
    if (verdict.outcome !== "verified") throw new Error("The chain is not verified.");
    const known = createKnownChains(2);
    for (const key of ["first", "second", "first", "third"]) known.keep(key, verdict.payload);
    expect(["first", "second", "third"].map((key) => known.find(key, trust) !== null)).toEqual([
      false,
      true,
      true,
    ]);
  });
  test("are never crowded out by bad chains", async () => {
    const known = createKnownChains(1);
    verifyChainOnce(chain.x5c, trust, known);
    for (let count = 0; count < 5; count += 1)
      verifyChainOnce(base64(makeChain().leaf, chain.intermediate, chain.root), trust, known);
    expect(await counted(() => verifyChainOnce(chain.x5c, trust, known))).toBe(0);
  });
});

test("the JWS of one request are verified concurrently", async () => {
  const { checks, atOnce } = watchChecks();
  const jws = Array.from({ length: 10 }, () => signJws(aTransaction(), chain));
  const verifier = createIosStoreVerifier(checks);
  await verifier.verifyTransaction(signJws(aTransaction(), chain), trust, NOW);
  expect((await verifier.verifyTransactions(jws, trust, NOW)).outcome).toBe("verified");
  expect(atOnce()).toBe(10);
});
