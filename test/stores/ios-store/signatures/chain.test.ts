import { generateKeyPairSync } from "node:crypto";
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
  fingerprintOf,
  makeChain,
  signerWith,
  signJws,
  type SigningChain,
} from "../../../../sandbox/ios-store/signing.ts";
import { verifyChain } from "../../../../lib/stores/ios-store/signatures/chain.ts";
import { APPLE_ROOTS } from "../../../../lib/stores/ios-store/signatures/trust.ts";
import { createIosStoreVerifier } from "../../../../lib/stores/ios-store/verifier.ts";
import { aTransaction, trusting, word } from "../../../../testing/support/stores/ios-store.ts";
import { NOW } from "../../../../testing/support/stores/purchases.ts";

type Part = "root" | "intermediate" | "leaf";
const PARTS = ["leaf", "intermediate", "root"] as const;

const chain = makeChain();
const trust = trusting({ roots: [chain.root] });
const outcome = (x5c: readonly string[]): string => word(verifyChain(x5c, trust));
const outcomeOf = ({ x5c, root }: Pick<SigningChain, "x5c" | "root">): string =>
  word(verifyChain(x5c, trusting({ roots: [root] })));

const base64 = (...[leaf, intermediate, root]: readonly { certificate: Buffer }[]): string[] =>
  [leaf, intermediate, root].map((identity) => identity?.certificate.toString("base64") ?? "");

const KEY_USAGE = "2.5.29.15";
const without = (part: Part, oid: string): Extension[] =>
  TEMPLATES[part].extensions.filter((extension) => extension.oid !== oid);

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

  const [leaf = "", intermediate = "", root = ""] = chain.x5c;
  test.each([
    ["none", "chain_length", []],
    ["the leaf alone", "untrusted_xcode_certificate", [leaf]],
    ["four", "chain_length", [leaf, intermediate, root, root]],
    ["the wrong order", "untrusted_root", [root, intermediate, leaf]],
    ["the leaf in place of the intermediate", "broken_chain", [leaf, leaf, root]],
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
  test("a stranger's leaf under the right names is refused", () => {
    expect(outcome(base64(makeChain().leaf, chain.intermediate, chain.root))).toBe("broken_chain");
  });
  test.each(["leaf", "intermediate"] as const)("a %s that names another issuer is refused", (part) => {
    expect(outcomeOf(makeChain({ [part]: { issuerName: "Somebody Else" } }))).toBe("broken_chain");
  });
});

describe("only authorities issue", () => {
  const marked = [marker(MARKERS.leaf), marker(MARKERS.intermediate)];
  test("a leaf that issues another is refused", () => {
    const second = issueCertificate(TEMPLATES.leaf, chain.leaf);
    expect(outcome(base64(second, chain.leaf, chain.root))).toBe("broken_chain");
    expect(outcome(base64(second, chain.leaf, chain.intermediate))).toBe("untrusted_root");
  });
  test.each<[string, Part, readonly Extension[], string]>([
    ["an intermediate is", "intermediate", [basicConstraints(false), ...marked], "certificate_role"],
    ["a root is", "root", [basicConstraints(false)], "certificate_role"],
    ["a leaf is not", "leaf", [basicConstraints(true), ...marked], "certificate_role"],
    ["and a leaf may be without constraints", "leaf", [marker(MARKERS.leaf)], "verified"],
  ])("%s an authority", (_, part, extensions, expected) => {
    expect(outcomeOf(makeChain({ [part]: { extensions } }))).toBe(expected);
  });
  test.each(["intermediate", "root"] as const)("a %s that may only sign data is refused", (part) => {
    const extensions = [keyUsage("digitalSignature"), ...without(part, KEY_USAGE)];
    expect(outcomeOf(makeChain({ [part]: { extensions } }))).toBe("broken_chain");
  });
  test.each(PARTS)("a %s without a key usage may be used for anything", (part) => {
    expect(outcomeOf(makeChain({ [part]: { extensions: without(part, KEY_USAGE) } }))).toBe("verified");
  });
});

test.each<[string, Part, readonly Extension[]]>([
  ["without a marker", "leaf", without("leaf", MARKERS.leaf)],
  ["without a marker", "intermediate", without("intermediate", MARKERS.intermediate)],
  ["with the intermediate's marker", "leaf", [basicConstraints(false), marker(MARKERS.intermediate)]],
  ["with the leaf's marker", "intermediate", [basicConstraints(true), marker(MARKERS.leaf)]],
])("%s, the %s is refused", (_, part, extensions) => {
  expect(outcomeOf(makeChain({ [part]: { extensions } }))).toBe("certificate_role");
});

test.each([
  ["on P-384", generateKeyPairSync("ec", { namedCurve: "P-384" }).privateKey],
  ["of RSA", generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey],
])("a leaf with a key %s is refused: it must be on P-256", (_, privateKey) => {
  expect(outcomeOf(makeChain({ leaf: { privateKey } }))).toBe("certificate_role");
});

describe.each(PARTS)("a %s is refused", (part) => {
  const unknown = "1.2.840.113635.100.6.99.1";
  test.each<[string, readonly Extension[]]>([
    ["with an unknown critical extension", [marker(unknown, true)]],
    ["with a duplicate extension", [marker(unknown), marker(unknown)]],
  ])("%s", (_, more) => {
    const extensions = [...TEMPLATES[part].extensions, ...more];
    expect(outcomeOf(makeChain({ [part]: { extensions } }))).toBe("certificate_extensions");
  });
});

describe("a certificate's encoding", () => {
  const spoiled = (spoil: (certificate: Buffer) => string): string[][] =>
    PARTS.map((part) =>
      chain.x5c.map((text, index) => (PARTS[index] === part ? spoil(chain[part].certificate) : text)),
    );
  test.each<[string, (certificate: Buffer) => string]>([
    ["trailing bytes", (der) => Buffer.concat([der, Buffer.alloc(2)]).toString("base64")],
    ["base64url", (der) => Buffer.concat([der, Buffer.of(0xfb, 0xff, 0xfe)]).toString("base64url")],
    ["a line feed", (der) => `${der.toString("base64")}\n`],
    ["bytes that are not a certificate", () => Buffer.of(0x30, 0x03, 0x02, 0x01, 0x01).toString("base64")],
  ])("must be canonical base64 of DER: %s is refused", (_, spoil) => {
    for (const x5c of spoiled(spoil)) expect(outcome(x5c)).toBe("malformed_certificate");
  });
});

describe.each(PARTS)("the time of signing must be within the validity of the %s:", (part) => {
  const [from, to] = [Date.parse("2024-01-01T00:00:00Z"), Date.parse("2026-01-01T00:00:00Z")];
  const limits = makeChain({ [part]: { notBefore: from, notAfter: to } });
  test.each([
    ["not before the first moment", from - 1, "outside_validity"],
    ["at the first moment", from, "verified"],
    ["at the last moment, even if the certificate has expired since", to, "verified"],
    ["not after the last moment", to + 1, "outside_validity"],
  ])("%s", async (_, signedDate, expected) => {
    const jws = signJws(aTransaction({ signedDate }), limits);
    const trusted = trusting({ roots: [limits.root] });
    expect(word(await createIosStoreVerifier().verifyTransaction(jws, trusted, NOW))).toBe(expected);
  });
});
