import {
  basicConstraints,
  issueCertificate,
  keyUsage,
  marker,
  MARKERS,
  TEMPLATES,
} from "../../../../sandbox/ios-store/certificates.ts";
import {
  fingerprintOf,
  makeChain,
  signerWith,
  signJws,
  type SigningChain,
} from "../../../../sandbox/ios-store/signing.ts";
import { verifyChain, APPLE_ROOTS, type Trust } from "../../../../lib/stores/ios-store/signatures/chain.ts";
import { createIosStoreVerifier } from "../../../../lib/stores/ios-store/verifier.ts";
import { aTransaction, trusting, word } from "../../../../testing/support/stores/ios-store.ts";
import { NOW } from "../../../../testing/support/stores/purchases.ts";

/** What every verifier must refuse is in `test/proof/comparison`. */

const PARTS = ["leaf", "intermediate", "root"] as const;
const KEY_USAGE = "2.5.29.15";

const chain = makeChain();
const trust = trusting({ roots: [chain.root] });
const outcomeOf = ({ x5c, root }: Pick<SigningChain, "x5c" | "root">): string =>
  word(verifyChain(x5c, trusting({ roots: [root] })));

test("the App Store's certificates are trusted up to Apple Root CA – G3", () => {
  expect(APPLE_ROOTS).toEqual(["63343abfb89a6a03ebb57e9b3f5fa7be7c4f5c756f3017b3a8c488c3653e9179"]);
});

test("a chain up to a trusted root has its anchor and its validity", () => {
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

test.each<[string, Trust]>([
  ["none", trusting({})],
  ["another of the same name", trusting({ roots: [makeChain().root] })],
  ["Apple's", { ...trust, roots: new Set(APPLE_ROOTS) }],
  ["its own, for Xcode", trusting({ xcodeCertificates: [chain.root] })],
])("a chain is refused where the trusted root is %s", (_, given) => {
  expect(word(verifyChain(chain.x5c, given))).toBe("untrusted_root");
});

test("the root must be self-signed, even if it is trusted", () => {
  const root = issueCertificate(TEMPLATES.root, makeChain().root);
  const intermediate = issueCertificate(TEMPLATES.intermediate, root);
  const leaf = issueCertificate(TEMPLATES.leaf, intermediate);
  expect(outcomeOf({ ...signerWith(leaf, intermediate, root), root })).toBe("broken_chain");
});

test("a root that may only sign data is refused", () => {
  const extensions = [basicConstraints(true), keyUsage("digitalSignature")];
  expect(outcomeOf(makeChain({ root: { extensions } }))).toBe("broken_chain");
});

test.each(PARTS)("a %s without a key usage may be used for anything", (part) => {
  const extensions = TEMPLATES[part].extensions.filter(({ oid }) => oid !== KEY_USAGE);
  expect(outcomeOf(makeChain({ [part]: { extensions } }))).toBe("verified");
});

test("an intermediate with the leaf's marker alone is refused", () => {
  const extensions = [basicConstraints(true), marker(MARKERS.leaf)];
  expect(outcomeOf(makeChain({ intermediate: { extensions } }))).toBe("certificate_role");
});

test.each(PARTS)("the %s is canonical base64 of DER, and of nothing else", (part) => {
  const place = PARTS.indexOf(part);
  const trailing = Buffer.concat([chain[part].certificate, Buffer.alloc(2)]).toString("base64");
  for (const text of [`${chain.x5c[place]}\n`, trailing])
    expect(outcomeOf({ ...chain, x5c: chain.x5c.with(place, text) })).toBe("malformed_certificate");
});

test("the log says that an extension of a certificate is not understood", () => {
  const extensions = [...TEMPLATES.leaf.extensions, marker("1.2.840.113635.100.6.99.1", true)];
  expect(outcomeOf(makeChain({ leaf: { extensions } }))).toBe("certificate_extensions");
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
    expect(word(await createIosStoreVerifier().verifyTransactions([jws], trusted, NOW))).toBe(expected);
  });
});
