import { X509Certificate } from "node:crypto";
import {
  basicConstraints,
  issueCertificate,
  keyUsage,
  marker,
  MARKERS,
  TEMPLATES,
  type CertificateTemplate,
  type Extension,
} from "../../../../sandbox/ios-store/certificates.ts";
import { makeChain, signerWith, signJws, type JwsSigner } from "../../../../sandbox/ios-store/signing.ts";
import { aTransaction } from "../../../../testing/support/stores/ios-store.ts";
import { DAY, NOW } from "../../../../testing/support/stores/purchases.ts";
import type { Setting } from "../verdicts.ts";
import { chain, genuine, of, ofApp, production, refused, stranger, stricter, type Group } from "./row.ts";

/** Attacks on the certificates and on the time of signing. */

const [leaf = "", intermediate = "", root = ""] = chain.x5c;
const signedBy = (signer: JwsSigner): string => signJws(aTransaction(), signer);
const withX5c = (...x5c: readonly string[]): string => signedBy({ x5c, privateKey: chain.privateKey });
const withLeaf = (text: string): string => withX5c(text, intermediate, root);
const base64 = (...parts: readonly Uint8Array[]): string => Buffer.concat(parts).toString("base64");
const der = chain.leaf.certificate;

const CHAINS: Group = {
  title: "The certificates",
  rows: [
    ...refused({
      None: withX5c(),
      "The leaf alone": withX5c(leaf),
      Two: withX5c(leaf, intermediate),
      Four: withX5c(leaf, intermediate, root, root),
      "In the wrong order": withX5c(root, intermediate, leaf),
      "The root in place of the intermediate": withX5c(leaf, root, root),
      "A stranger's chain with the right names": signedBy(stranger),
      "A stranger's leaf": signedBy(signerWith(stranger.leaf, chain.intermediate, chain.root)),
      "A stranger's leaf and intermediate": signedBy(
        signerWith(stranger.leaf, stranger.intermediate, chain.root),
      ),
      "A leaf that a leaf issued": signedBy(
        signerWith(issueCertificate(TEMPLATES.leaf, chain.leaf), chain.leaf, chain.root),
      ),
      "A leaf cut short": withLeaf(base64(der.subarray(0, -1))),
    }),
    ...stricter(
      "The whole chain is verified as it was sent: a third certificate that is not the trusted root proves that the header was put together by somebody else.",
    )({
      "A stranger's root in place of the root": withX5c(leaf, intermediate, stranger.x5c[2] ?? ""),
      "Text in place of the root": withX5c(leaf, intermediate, "root"),
    }),
    ...stricter("A certificate in `x5c` is base64 of DER, and of nothing else (RFC 7515, 4.1.6).")({
      "Trailing bytes behind the leaf": withLeaf(base64(der, Buffer.alloc(2))),
      "Another certificate behind the leaf": withLeaf(base64(der, chain.root.certificate)),
      "PEM for the leaf": withLeaf(base64(Buffer.from(new X509Certificate(der).toString()))),
      "Base64url for the leaf": withLeaf(der.toString("base64url")),
      "A line end behind the leaf": withLeaf(`${leaf}\n`),
    }),
  ],
};

type Part = "root" | "intermediate" | "leaf";
interface Own {
  readonly jws: string;
  readonly setting: Setting;
}

/** Under a chain of its own, whose root is trusted. */
const under = (part: Part, template: Partial<CertificateTemplate>, fields: object = {}): Own => {
  const own = makeChain({ [part]: template });
  return {
    jws: signJws(aTransaction({ ...fields }), own),
    setting: { ...production, root: own.root.certificate },
  };
};
const having = (part: Part, ...extensions: readonly Extension[]): Own => under(part, { extensions });
const adding = (part: Part, ...extensions: readonly Extension[]): Own =>
  having(part, ...TEMPLATES[part].extensions, ...extensions);
const without = (part: Part, oid: string): Own =>
  having(part, ...TEMPLATES[part].extensions.filter((extension) => extension.oid !== oid));

const BASIC_CONSTRAINTS = "2.5.29.19";
const KEY_USAGE = "2.5.29.15";
const UNKNOWN = marker("1.2.840.113635.100.6.99.1");
const CRITICAL = { ...UNKNOWN, critical: true };
const elsewhere = { issuerName: "Somebody Else" };

const ROLES: Group = {
  title: "What the certificates say",
  rows: [
    ...refused({
      "The leaf names another issuer": under("leaf", elsewhere),
      "The intermediate names another issuer": under("intermediate", elsewhere),
      "An intermediate that is no authority": having(
        "intermediate",
        basicConstraints(false),
        marker(MARKERS.intermediate),
      ),
      "An intermediate that does not say so": without("intermediate", BASIC_CONSTRAINTS),
      "An intermediate that may only sign data": having(
        "intermediate",
        basicConstraints(true),
        keyUsage("digitalSignature"),
        marker(MARKERS.intermediate),
      ),
      "A leaf with a key on P-384": under("leaf", { curve: "P-384" }),
      "A leaf without Apple's marker": without("leaf", MARKERS.leaf),
      "An intermediate without Apple's marker": without("intermediate", MARKERS.intermediate),
      "A leaf with the intermediate's marker": having(
        "leaf",
        basicConstraints(false),
        marker(MARKERS.intermediate),
      ),
    }),
    ...genuine({
      "A leaf without a key usage": without("leaf", KEY_USAGE),
      "A leaf without basic constraints": without("leaf", BASIC_CONSTRAINTS),
      "A leaf whose marker is critical": having("leaf", basicConstraints(false), marker(MARKERS.leaf, true)),
      "An unknown extension that is not critical": adding("leaf", UNKNOWN),
    }),
    ...stricter("A certificate names its issuer, as the chain's certificates do (RFC 5280, 6.1.3).")({
      "The root names another issuer": under("root", elsewhere),
    }),
    ...stricter("Only authorities issue certificates (RFC 5280, 4.2.1.9).")({
      "A root that is no authority": having("root", basicConstraints(false)),
      "A leaf that is an authority": having("leaf", basicConstraints(true), marker(MARKERS.leaf)),
    }),
    ...stricter("A critical extension that is not understood makes a certificate unusable (RFC 5280, 4.2).")({
      "An unknown critical extension of the leaf": adding("leaf", CRITICAL),
      "An unknown critical extension of the intermediate": adding("intermediate", CRITICAL),
      "An unknown critical extension of the root": adding("root", CRITICAL),
    }),
    ...stricter("A certificate holds an extension once (RFC 5280, 4.2).")({
      "An extension of the leaf twice": adding("leaf", UNKNOWN, UNKNOWN),
    }),
  ],
};

/** Signed at a moment, with a certificate that is valid for 200 days. */
const limited = (part: Part, signedDate: number): Own =>
  under(part, { notBefore: NOW - 300 * DAY, notAfter: NOW - 100 * DAY }, { signedDate });
const at = (signedDate: unknown): string => of({ signedDate });

const TIMES: Group = {
  title: "The time of signing",
  rows: [
    ...genuine({
      "At the leaf's first moment": limited("leaf", NOW - 300 * DAY),
      "At the leaf's last moment, which has passed": limited("leaf", NOW - 100 * DAY),
      "Thirty seconds from now": at(NOW + 30_000),
    }),
    ...stricter(
      "The store's own certificates and clock are compared: there is no clock of a customer to be lenient with.",
    )({
      "Half a minute before the leaf is valid": limited("leaf", NOW - 300 * DAY - 30_000),
      "Half a minute after the leaf was valid": limited("leaf", NOW - 100 * DAY + 30_000),
    }),
    ...refused({
      "Long before the leaf is valid": limited("leaf", NOW - 400 * DAY),
      "Long after the leaf was valid": limited("leaf", NOW - DAY),
      "Long after the intermediate was valid": limited("intermediate", NOW - DAY),
      "Long after the root was valid": limited("root", NOW - DAY),
      Null: at(null),
      Text: at(String(NOW)),
      "In seconds": at(Math.floor(NOW / 1000)),
    }),
    ...stricter(
      "Without the time of signing nobody can say whether the certificates were valid, nor which of two JWS is newer.",
    )({ Absent: at(undefined) }),
    ...stricter(
      "The App Store signs whole milliseconds; only Xcode signs fractions, and there they are accepted.",
    )({
      "A fraction": at(NOW - 0.5),
    }),
    ...stricter("A number that is no time cannot be compared with a certificate's validity.")({
      "No time at all": at(1e300),
    }),
    ...stricter(
      "What is signed later than now, beyond what clocks differ, would win over every later genuine transaction.",
    )({ "Two minutes from now": at(NOW + 120_000), "A year from now": at(NOW + 365 * DAY) }),
    ...stricter("An app transaction is dated as a transaction is.")(
      {
        "Of an app transaction: absent": ofApp({ receiptCreationDate: undefined }),
        "Of an app transaction: a year from now": ofApp({ receiptCreationDate: NOW + 365 * DAY }),
      },
      "app transaction",
    ),
  ],
};

export const CERTIFICATES: readonly Group[] = [CHAINS, ROLES, TIMES];
