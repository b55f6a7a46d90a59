import { readFileSync } from "node:fs";
import { createHmac, createPublicKey, sign, X509Certificate } from "node:crypto";
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
  makeChain,
  makeXcodeSigner,
  signerWith,
  signJws,
  type ChainOverrides,
  type JwsSigner,
  type SigningChain,
} from "../../../sandbox/ios-store/signing.ts";
import {
  anApp,
  anAppTransaction,
  anEnvelope,
  aNotification,
  APPLE_ID,
  aRenewalInfo,
  aTransaction,
  BUNDLE,
  type Payload,
} from "../../../testing/support/stores/ios-store.ts";
import { DAY, NOW } from "../../../testing/support/stores/purchases.ts";
import * as z from "zod";
import type { Certificates, Kind, Setting } from "./verdicts.ts";

/** One line of the comparison. */
export type Row = {
  readonly name: string;
  /** The store made it, or could have: to refuse it would be wrong. */
  readonly genuine?: true;
  /** Why this service's answer is right where Apple's library gives the other. */
  readonly why?: string;
} & (
  | { readonly jws: string; readonly kind: Kind; readonly setting: Setting }
  | { readonly certificates: Certificates }
);

export interface Group {
  readonly title: string;
  readonly rows: readonly Row[];
}

const chain = makeChain();
const stranger = makeChain();
const xcode = makeXcodeSigner();
const strangersXcode = makeXcodeSigner();

const production: Setting = {
  bundleIdentifier: BUNDLE,
  environment: "production",
  root: chain.root.certificate,
  xcodeCertificates: [xcode.certificate.certificate],
};
const sandbox: Setting = { ...production, environment: "sandbox" };
const inXcode: Setting = { ...production, environment: "xcode" };
const trusting = ({ root }: Pick<SigningChain, "root">): Setting => ({
  ...production,
  root: root.certificate,
});

type More = Pick<Row, "genuine" | "why">;

const transaction = (name: string, jws: string, more: More = {}, setting = production): Row => ({
  name,
  jws,
  kind: "transaction",
  setting,
  ...more,
});
const appTransaction = (name: string, jws: string, more: More = {}, setting = production): Row => ({
  name,
  jws,
  kind: "app transaction",
  setting,
  ...more,
});

const renewalInfo = (
  name: string,
  fields: Payload,
  more: More = {},
  setting = production,
  signer: JwsSigner = chain,
): Row => ({ name, jws: signJws(aRenewalInfo(fields), signer), kind: "renewal info", setting, ...more });
const notification = (
  name: string,
  payload: object,
  more: More = {},
  setting = production,
  signer: JwsSigner = chain,
): Row => ({ name, jws: signJws(payload, signer), kind: "notification", setting, ...more });

const genuine = { genuine: true } as const;
const good = signJws(aTransaction(), chain);
const [header = "", payload = "", signature = ""] = good.split(".");
const signatureBytes = Buffer.from(signature, "base64url");
const withSignature = (bytes: Uint8Array): string =>
  `${header}.${payload}.${Buffer.from(bytes).toString("base64url")}`;
const json = JSON.stringify(aTransaction());
const adding = (member: string): string => json.replace(/\}$/, `,${member}}`);
const of = (fields: Readonly<Record<string, unknown>>): string => signJws(aTransaction(fields), chain);
const ofApp = (fields: Readonly<Record<string, unknown>>): string => signJws(anAppTransaction(fields), chain);

/** Under a chain of its own, whose root is trusted. */
const under = (name: string, overrides: ChainOverrides, more: More = {}, fields = {}): Row => {
  const own = makeChain(overrides);
  return transaction(name, signJws(aTransaction(fields), own), more, trusting(own));
};
const signedBy = (name: string, signer: JwsSigner, more: More = {}, setting = production): Row =>
  transaction(name, signJws(aTransaction(), signer), more, setting);

type Part = "root" | "intermediate" | "leaf";
const extended = (part: Part, ...extensions: readonly Extension[]): ChainOverrides => ({
  [part]: { extensions: [...TEMPLATES[part].extensions, ...extensions] },
});
const without = (part: Part, oid: string): ChainOverrides => ({
  [part]: { extensions: TEMPLATES[part].extensions.filter((extension) => extension.oid !== oid) },
});
const BASIC_CONSTRAINTS = "2.5.29.19";
const KEY_USAGE = "2.5.29.15";
const UNKNOWN_CRITICAL = marker("1.2.840.113635.100.6.99.1", true);

const GENUINE: Group = {
  title: "What the store signs",
  rows: [
    transaction("A transaction in production", good, genuine),
    transaction("A transaction in the sandbox", of({ environment: "Sandbox" }), genuine, sandbox),
    transaction("A transaction without an app transaction id", of({ appTransactionId: undefined }), genuine),
    transaction("A refunded transaction", of({ revocationDate: NOW - DAY, revocationReason: 1 }), genuine),
    transaction("An upgraded transaction", of({ isUpgraded: true }), genuine),
    transaction("A family member's transaction", of({ inAppOwnershipType: "FAMILY_SHARED" }), genuine),
    transaction("A non-consumable", of({ type: "Non-Consumable", expiresDate: undefined }), genuine),
    transaction("A consumable", of({ type: "Consumable", expiresDate: undefined, quantity: 3 }), genuine),
    transaction(
      "A non-renewing subscription",
      of({ type: "Non-Renewing Subscription", expiresDate: undefined }),
      genuine,
    ),
    transaction(
      "An offer type and a reason that are new",
      of({ offerType: 99, revocationReason: 42 }),
      genuine,
    ),
    transaction("A field that is new", of({ aNewField: { deeply: [1] } }), genuine),
    transaction(
      "A header with typ and kid",
      signJws(aTransaction(), chain, { typ: "JWT", kid: "1" }),
      genuine,
    ),
    transaction("Whitespace in the JSON", signJws(JSON.stringify(aTransaction(), null, 2), chain), genuine),
    under(
      "Signed while its certificate was valid, which has expired since",
      { leaf: { notBefore: NOW - 800 * DAY, notAfter: NOW - 30 * DAY } },
      genuine,
      { signedDate: NOW - 400 * DAY },
    ),
    appTransaction("An app transaction in production", ofApp({}), genuine),
    appTransaction(
      "An app transaction in the sandbox",
      ofApp({ receiptType: "Sandbox", appAppleId: undefined }),
      genuine,
      sandbox,
    ),
    appTransaction(
      "An app transaction in the sandbox with the app id 0",
      ofApp({ receiptType: "Sandbox", appAppleId: 0 }),
      genuine,
      sandbox,
    ),
    appTransaction(
      "An app transaction without an app transaction id",
      ofApp({ appTransactionId: undefined }),
      genuine,
    ),
    appTransaction("An app transaction of a pre-ordered app", ofApp({ preorderDate: NOW - DAY }), genuine),
    appTransaction("An app transaction from a new platform", ofApp({ originalPlatform: "aNewOne" }), genuine),
  ],
};

const samples = z
  .record(z.string(), z.string())
  .parse(JSON.parse(readFileSync(new URL("apple-samples.json", import.meta.url), "utf8")));
const sample = (name: string): string => {
  const found = samples[name];
  if (found === undefined) throw new Error(`There is no sample ${name}.`);
  return found;
};

const OCTOBER_2025 = 1_761_962_975_000;
const apple = {
  leaf: sample("appleLeaf"),
  intermediate: sample("appleIntermediate"),
  root: sample("appleRoot"),
  at: OCTOBER_2025,
};
const appleTest = {
  leaf: sample("testLeaf"),
  intermediate: sample("testIntermediate"),
  root: sample("testRoot"),
  at: OCTOBER_2025,
};
const backyardBirds = (name: string): { readonly jws: string; readonly setting: Setting } => {
  const jws = sample(name);
  const members = z
    .object({ x5c: z.tuple([z.string()]) })
    .parse(JSON.parse(Buffer.from(jws.split(".")[0] ?? "", "base64url").toString()));
  return {
    jws,
    setting: {
      ...inXcode,
      bundleIdentifier: "com.example.naturelab.backyardbirds.example",
      xcodeCertificates: [Buffer.from(members.x5c[0], "base64")],
    },
  };
};
const mock = (name: string): { readonly jws: string; readonly setting: Setting } => ({
  jws: sample(name),
  setting: {
    ...sandbox,
    bundleIdentifier: "com.example",
    root: Buffer.from(sample("signedDataRoot"), "base64"),
  },
});
const notATransaction = {
  why: "Its third certificate is not the trusted root, and it names no transaction, product or type to grant.",
};

const APPLES_OWN: Group = {
  title: "Apple's own samples",
  rows: [
    { name: "The App Store's certificates of 2025", certificates: apple, ...genuine },
    { name: "The same, after the leaf expired", certificates: { ...apple, at: Date.UTC(2031, 0, 1) } },
    { name: "The same, before they were issued", certificates: { ...apple, at: Date.UTC(2014, 0, 1) } },
    { name: "A test's leaf under Apple's intermediate", certificates: { ...apple, leaf: appleTest.leaf } },
    { name: "Apple's leaf under a test's intermediate", certificates: { ...appleTest, leaf: apple.leaf } },
    { name: "Apple's certificates under a test's root", certificates: { ...apple, root: appleTest.root } },
    { name: "A test's certificates", certificates: appleTest, ...genuine },
    {
      name: "A test's intermediate without Apple's marker",
      certificates: {
        ...appleTest,
        intermediate: sample("testIntermediateWithoutMarker"),
        leaf: sample("testLeafOfIntermediateWithoutMarker"),
      },
    },
    {
      name: "A test's leaf without Apple's marker",
      certificates: { ...appleTest, leaf: sample("testLeafWithoutMarker") },
    },
    { name: "A transaction of Xcode", kind: "transaction", ...genuine, ...backyardBirds("xcodeTransaction") },
    {
      name: "An app transaction of Xcode",
      kind: "app transaction",
      ...genuine,
      ...backyardBirds("xcodeAppTransaction"),
    },
    {
      name: "Renewal info of Xcode in place of a transaction",
      kind: "transaction",
      ...backyardBirds("xcodeRenewalInfo"),
    },
    {
      name: "A mock of a transaction, with an environment, a bundle and a date",
      kind: "transaction",
      ...mock("transactionInfo"),
      ...notATransaction,
    },
    { name: "A mock of renewal info", kind: "transaction", ...mock("renewalInfo") },
    { name: "A mock of a notification", kind: "transaction", ...mock("notification") },
    { name: "A mock without certificates in its header", kind: "transaction", ...mock("missingX5c") },
  ],
};

const nesting = (depth: number): string => "[".repeat(depth) + "]".repeat(depth);

/** The same bytes in another spelling: the last character's bits that encode nothing are set. */
const withStrayBits = (part: string): string => {
  const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  return part.slice(0, -1) + alphabet[alphabet.indexOf(part.at(-1) ?? "") + 1];
};
const unaligned = (text: string): string => (Buffer.byteLength(text) % 3 === 0 ? `${text} ` : text);
const spaced = signJws(
  unaligned(json),
  chain,
  unaligned(JSON.stringify({ alg: "ES256", x5c: chain.x5c })),
).split(".");
const [spacedHeader = "", spacedPayload = "", spacedSignature = ""] = spaced;
const other = signJws(aTransaction({ productId: "other" }), chain, { typ: "JWT" }).split(".");

const FORM: Group = {
  title: "The form of a JWS",
  rows: [
    transaction("Nothing", ""),
    transaction("One part", header),
    transaction("Two parts", `${header}.${payload}`),
    transaction("Four parts", `${good}.`),
    transaction("An empty header", `.${payload}.${signature}`),
    transaction("An empty signature", `${header}.${payload}.`),
    transaction("A padded signature", `${good}==`),
    transaction("A space before", ` ${good}`),
    transaction("A line end behind", `${good}\n`),
    transaction("A line end within the signature", `${good.slice(0, -10)}\n${good.slice(-10)}`),
    transaction(
      "Stray bits in the header",
      `${withStrayBits(spacedHeader)}.${spacedPayload}.${spacedSignature}`,
    ),
    transaction(
      "Stray bits in the payload",
      `${spacedHeader}.${withStrayBits(spacedPayload)}.${spacedSignature}`,
    ),
    transaction(
      "Stray bits in the signature",
      `${spacedHeader}.${spacedPayload}.${withStrayBits(spacedSignature)}`,
      { why: "One signature has one spelling, so that no copy of a JWS passes for another." },
    ),
    transaction("32 KiB of dots", ".".repeat(32 * 1024)),
    transaction("A payload of nothing but nesting", signJws(`{"a":${nesting(11_000)}}`, chain)),
    transaction(
      "An unknown field that is nested deeply",
      signJws(adding(`"new":${nesting(9_000)}`), chain),
      genuine,
    ),
    transaction("The payload of another JWS", `${header}.${other[1]}.${signature}`),
    transaction("The header of another JWS", `${other[0]}.${payload}.${signature}`),
  ],
};

const order = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n;
const negated = (order - BigInt(`0x${signatureBytes.subarray(32).toString("hex")}`))
  .toString(16)
  .padStart(64, "0");

const SIGNATURES: Group = {
  title: "The signature",
  rows: [
    transaction("A byte less", withSignature(signatureBytes.subarray(0, 63))),
    transaction("A byte more", withSignature(Buffer.concat([signatureBytes, Buffer.alloc(1)]))),
    transaction(
      "In DER",
      withSignature(sign("sha256", Buffer.from(`${header}.${payload}`), chain.privateKey)),
    ),
    transaction("Zeros", withSignature(Buffer.alloc(64))),
    transaction("Out of range", withSignature(Buffer.alloc(64, 0xff))),
    transaction(
      "By another key",
      signJws(aTransaction(), { x5c: chain.x5c, privateKey: stranger.privateKey }),
    ),
    transaction(
      "By the intermediate's key",
      signJws(aTransaction(), { x5c: chain.x5c, privateKey: chain.intermediate.privateKey }),
    ),
    transaction(
      "Its other form (S negated)",
      withSignature(Buffer.concat([signatureBytes.subarray(0, 32), Buffer.from(negated, "hex")])),
      genuine,
    ),
  ],
};

const withHeader = (name: string, members: Readonly<Record<string, unknown>>, more: More = {}): Row =>
  transaction(name, signJws(aTransaction(), chain, members), more);
const hmac = (key: string | Buffer): string => {
  const input = signJws(aTransaction(), chain, { alg: "HS256" }).split(".").slice(0, 2).join(".");
  return `${input}.${createHmac("sha256", key).update(input).digest("base64url")}`;
};
const publicPem = createPublicKey(chain.privateKey).export({ format: "pem", type: "spki" }).toString();
const unsecured = signJws(aTransaction(), chain, { alg: "none" }).split(".").slice(0, 2).join(".");

const ALGORITHMS: Group = {
  title: "The algorithm",
  rows: [
    transaction("none, without a signature", `${unsecured}.`),
    withHeader("none, with a signature", { alg: "none" }),
    transaction("HS256, keyed with the public key", hmac(publicPem)),
    transaction("HS256, keyed with the certificate", hmac(chain.leaf.certificate)),
    ...["HS512", "ES384", "ES512", "ES256K", "RS256", "PS256", "EdDSA", "es256", ""].map((alg) =>
      withHeader(alg === "" ? "Empty text" : alg, { alg }),
    ),
    withHeader("Absent", { alg: undefined }),
    withHeader("A list", { alg: ["ES256"] }),
  ],
};

const x5c = JSON.stringify(chain.x5c);
const withHeaderText = (name: string, text: string, more: More = {}): Row =>
  transaction(name, signJws(aTransaction(), chain, text), more);
const strangersKey = {
  jwk: createPublicKey(stranger.privateKey).export({ format: "jwk" }),
  jku: "https://stranger.example/keys",
  x5u: "https://stranger.example/certificate",
  kid: "stranger",
};
const critical = {
  why: "What a header calls critical has to be understood or the JWS refused (RFC 7515, 4.1.11).",
};
const twice = {
  why: "Parsers disagree on which of two members counts, so the text is not of one meaning (RFC 7515, 10.12).",
};

const HEADERS: Group = {
  title: "The header",
  rows: [
    withHeader("An unknown critical extension", { crit: ["exp"], exp: 1 }, critical),
    withHeader("An empty list of critical extensions", { crit: [] }, critical),
    withHeader("An unencoded payload", { b64: false, crit: ["b64"] }, critical),
    withHeader(
      "An unencoded payload that is not marked critical",
      { b64: false },
      {
        why: "The payload would have to be read as it stands (RFC 7797), and then says nothing.",
      },
    ),
    withHeader("A stranger's key beside the certificates", strangersKey, genuine),
    transaction(
      "Signed by a stranger's key that it names",
      signJws(aTransaction(), { x5c: chain.x5c, privateKey: stranger.privateKey }, strangersKey),
    ),
    transaction(
      "A stranger's key in place of certificates",
      signJws(aTransaction(), { x5c: [], privateKey: stranger.privateKey }, strangersKey),
    ),
    withHeaderText("An algorithm twice", `{"alg":"none","alg":"ES256","x5c":${x5c}}`, twice),
    withHeaderText("Certificates twice", `{"alg":"ES256","x5c":[],"x5c":${x5c}}`, twice),
    withHeaderText("A duplicate deep within", `{"alg":"ES256","x5c":${x5c},"a":[{"b":1,"b":1}]}`, twice),
    withHeaderText("A list", `[{"alg":"ES256"}]`),
    withHeaderText("No JSON", "alg=ES256"),
    withHeaderText("JSON and more", `{"alg":"ES256","x5c":${x5c}}{}`),
    withHeaderText("A byte order mark", `\uFEFF{"alg":"ES256","x5c":${x5c}}`),
    withHeader("No certificates", { x5c: undefined }),
    withHeader("Certificates as one text", { x5c: chain.x5c[0] }),
    withHeader("Certificates as an object", { x5c: { ...chain.x5c, length: 3 } }),
    withHeader(
      "Certificates of which one is null",
      { x5c: [...chain.x5c.slice(0, 2), null] },
      {
        why: "The third certificate is the root, and it is asked for as the others are.",
      },
    ),
  ],
};

const [leaf = "", intermediate = "", root = ""] = chain.x5c;
const withX5c = (name: string, certificates: readonly string[], more: More = {}): Row =>
  signedBy(name, { x5c: certificates, privateKey: chain.privateKey }, more);
const rootUnread = {
  why: "The whole chain is verified as it was sent: a third certificate that is not the trusted root proves that the header was put together by somebody else.",
};
const spelling = {
  why: "A certificate in `x5c` is base64 of DER, and of nothing else (RFC 7515, 4.1.6).",
};

const CHAINS: Group = {
  title: "The certificates",
  rows: [
    withX5c("None", []),
    withX5c("The leaf alone", [leaf]),
    withX5c("Two", [leaf, intermediate]),
    withX5c("Four", [leaf, intermediate, root, root]),
    withX5c("In the wrong order", [root, intermediate, leaf]),
    withX5c("The leaf in place of the intermediate", [leaf, leaf, root]),
    withX5c("The root in place of the intermediate", [leaf, root, root]),
    withX5c(
      "A stranger's root in place of the root",
      [leaf, intermediate, stranger.x5c[2] ?? ""],
      rootUnread,
    ),
    withX5c("Text in place of the root", [leaf, intermediate, "root"], rootUnread),
    signedBy("A stranger's chain with the right names", stranger),
    signedBy("A stranger's leaf", signerWith(stranger.leaf, chain.intermediate, chain.root)),
    signedBy(
      "A stranger's leaf and intermediate",
      signerWith(stranger.leaf, stranger.intermediate, chain.root),
    ),
    signedBy(
      "A leaf that a leaf issued",
      signerWith(issueCertificate(TEMPLATES.leaf, chain.leaf), chain.leaf, chain.root),
    ),
    withX5c(
      "Trailing bytes behind the leaf",
      [Buffer.concat([chain.leaf.certificate, Buffer.alloc(2)]).toString("base64"), intermediate, root],
      spelling,
    ),
    withX5c(
      "Another certificate behind the leaf",
      [
        Buffer.concat([chain.leaf.certificate, chain.root.certificate]).toString("base64"),
        intermediate,
        root,
      ],
      spelling,
    ),
    withX5c(
      "PEM for the leaf",
      [
        Buffer.from(new X509Certificate(chain.leaf.certificate).toString()).toString("base64"),
        intermediate,
        root,
      ],
      spelling,
    ),
    withX5c(
      "Base64url for the leaf",
      [chain.leaf.certificate.toString("base64url"), intermediate, root],
      spelling,
    ),
    withX5c("A line end behind the leaf", [`${leaf}\n`, intermediate, root], spelling),
    withX5c("A space within the leaf", [leaf.replace(/^..../, "$& "), intermediate, root], spelling),
    withX5c(
      "Trailing bytes behind the root",
      [leaf, intermediate, Buffer.concat([chain.root.certificate, Buffer.alloc(2)]).toString("base64")],
      rootUnread,
    ),
    withX5c("A leaf cut short", [
      chain.leaf.certificate.subarray(0, -1).toString("base64"),
      intermediate,
      root,
    ]),
  ],
};

const byteForByte = {
  why: "A certificate names its issuer byte for byte, as the chain's certificates do (RFC 5280, 6.1.3).",
};
const role = {
  why: "A certificate is used only for what it says it may be used for (RFC 5280, 4.2.1.3 and 4.2.1.9).",
};
const unknownCritical = {
  why: "A critical extension that is not understood makes a certificate unusable (RFC 5280, 4.2).",
};
const duplicate = {
  why: "A certificate holds an extension once (RFC 5280, 4.2).",
};

const ROLES: Group = {
  title: "What the certificates say",
  rows: [
    under("The leaf names another issuer", { leaf: { issuerName: "Somebody Else" } }),
    under("The leaf names its issuer in small letters", {
      leaf: { issuerName: TEMPLATES.intermediate.commonName.toLowerCase() },
    }),
    under("The intermediate names another issuer", { intermediate: { issuerName: "Somebody Else" } }),
    under("The root names another issuer", { root: { issuerName: "Somebody Else" } }, byteForByte),
    under("An intermediate that is no authority", {
      intermediate: { extensions: [basicConstraints(false), marker(MARKERS.intermediate)] },
    }),
    under("An intermediate that does not say so", without("intermediate", BASIC_CONSTRAINTS)),
    under("A root that is no authority", { root: { extensions: [basicConstraints(false)] } }, role),
    under("A root that allows no intermediate", { root: { extensions: [basicConstraints(true, 0)] } }, role),
    under(
      "A leaf that is an authority",
      {
        leaf: { extensions: [basicConstraints(true), marker(MARKERS.leaf)] },
      },
      role,
    ),
    under(
      "A leaf that may only sign certificates",
      {
        leaf: { extensions: [keyUsage("keyCertSign"), marker(MARKERS.leaf)] },
      },
      role,
    ),
    under("An intermediate that may only sign data", {
      intermediate: {
        extensions: [basicConstraints(true), keyUsage("digitalSignature"), marker(MARKERS.intermediate)],
      },
    }),
    under("A leaf with a key on P-384", { leaf: { curve: "P-384" } }),
    under("A leaf without a key usage", without("leaf", KEY_USAGE), genuine),
    under("A leaf without basic constraints", without("leaf", BASIC_CONSTRAINTS), genuine),
    under("A leaf without Apple's marker", without("leaf", MARKERS.leaf)),
    under("An intermediate without Apple's marker", without("intermediate", MARKERS.intermediate)),
    under("A leaf with the intermediate's marker", {
      leaf: { extensions: [basicConstraints(false), marker(MARKERS.intermediate)] },
    }),
    under(
      "A leaf whose marker is critical",
      {
        leaf: { extensions: [basicConstraints(false), marker(MARKERS.leaf, true)] },
      },
      genuine,
    ),
    under("An unknown critical extension of the leaf", extended("leaf", UNKNOWN_CRITICAL), unknownCritical),
    under(
      "An unknown critical extension of the intermediate",
      extended("intermediate", UNKNOWN_CRITICAL),
      unknownCritical,
    ),
    under("An unknown critical extension of the root", extended("root", UNKNOWN_CRITICAL), unknownCritical),
    under(
      "An unknown extension that is not critical",
      extended("leaf", { ...UNKNOWN_CRITICAL, critical: false }),
      genuine,
    ),
    under(
      "An extension of the leaf twice",
      extended("leaf", marker("1.2.840.113635.100.6.99.1"), marker("1.2.840.113635.100.6.99.1")),
      duplicate,
    ),
    under(
      "A key usage with bytes after it",
      {
        leaf: {
          extensions: [
            { oid: KEY_USAGE, critical: true, value: Buffer.of(3, 2, 7, 0x80, 0) },
            marker(MARKERS.leaf),
          ],
        },
      },
      { why: "An extension that is not DER of its type says nothing that could be relied on." },
    ),
  ],
};

const limited = (name: string, part: Part, signedDate: number, more: More = {}): Row =>
  under(name, { [part]: { notBefore: NOW - 300 * DAY, notAfter: NOW - 100 * DAY } }, more, { signedDate });
const noSkew = {
  why: "The store's own certificates and clock are compared: there is no clock of a customer to be lenient with.",
};
const mustBeSigned = {
  why: "Without the time of signing nobody can say whether the certificates were valid, nor which of two JWS is newer.",
};
const future = {
  why: "What is signed later than now, beyond what clocks differ, would win over every later genuine transaction.",
};

const TIMES: Group = {
  title: "The time of signing",
  rows: [
    limited("At the leaf's first moment", "leaf", NOW - 300 * DAY, genuine),
    limited("At the leaf's last moment", "leaf", NOW - 100 * DAY, genuine),
    limited("Half a minute before the leaf is valid", "leaf", NOW - 300 * DAY - 30_000, noSkew),
    limited("Half a minute after the leaf was valid", "leaf", NOW - 100 * DAY + 30_000, noSkew),
    limited("Long before the leaf is valid", "leaf", NOW - 400 * DAY),
    limited("Long after the leaf was valid", "leaf", NOW - DAY),
    limited("Long after the intermediate was valid", "intermediate", NOW - DAY),
    limited("Long after the root was valid", "root", NOW - DAY),
    transaction("Absent", of({ signedDate: undefined }), mustBeSigned),
    transaction("Null", of({ signedDate: null })),
    transaction("Text", of({ signedDate: String(NOW) })),
    transaction("A fraction", of({ signedDate: NOW - 0.5 }), {
      why: "The App Store signs whole milliseconds; only Xcode signs fractions, and there they are accepted.",
    }),
    transaction("Two minutes from now", of({ signedDate: NOW + 120_000 }), future),
    transaction("A year from now", of({ signedDate: NOW + 365 * DAY }), future),
    transaction("Thirty seconds from now", of({ signedDate: NOW + 30_000 }), genuine),
    transaction("In seconds", of({ signedDate: Math.floor(NOW / 1000) })),
    transaction("Zero", of({ signedDate: 0 })),
    transaction("No time at all", of({ signedDate: 1e300 }), {
      why: "A number that is no time cannot be compared with a certificate's validity.",
    }),
    appTransaction("Of an app transaction: absent", ofApp({ receiptCreationDate: undefined }), mustBeSigned),
    appTransaction(
      "Of an app transaction: a year from now",
      ofApp({ receiptCreationDate: NOW + 365 * DAY }),
      future,
    ),
  ],
};

const lacking = (field: string): Row =>
  transaction(`Without ${field}`, of({ [field]: undefined }), {
    why: "Every transaction of the App Store has it, and what is granted is decided by it.",
  });
const wrongKind = {
  why: "A payload of another kind is not a transaction, whatever fields it shares with one.",
};
const payloadText = (name: string, text: string | Uint8Array, more: More = {}): Row =>
  transaction(name, signJws(text, chain), more);
const unread = {
  why: "The value is none that the store documents, and it would be stored or compared.",
};

const PAYLOADS: Group = {
  title: "The payload",
  rows: [
    ...["transactionId", "originalTransactionId", "productId", "purchaseDate", "type"].map(lacking),
    transaction("Without bundleId", of({ bundleId: undefined })),
    transaction("Without environment", of({ environment: undefined })),
    transaction("Without an end, of an auto-renewable subscription", of({ expiresDate: undefined }), {
      why: "It would never end.",
    }),
    transaction("A number for transactionId", of({ transactionId: 700_000_000_000_002 })),
    transaction("Empty text for productId", of({ productId: "" }), unread),
    transaction("Text for purchaseDate", of({ purchaseDate: String(NOW) })),
    transaction("A negative purchaseDate", of({ purchaseDate: -1 }), unread),
    transaction("Text for isUpgraded", of({ isUpgraded: "true" })),
    transaction("An unknown type of product", of({ type: "Gift" }), {
      why: "How long a product of an unknown type lasts cannot be guessed.",
    }),
    transaction("A transaction id with a separator", of({ transactionId: "1#2" }), {
      why: "The store's identifiers are digits, and they become part of keys.",
    }),
    transaction("Renewal info", signJws(aRenewalInfo(), chain)),
    transaction(
      "Renewal info with the bundle",
      signJws({ ...aRenewalInfo(), bundleId: BUNDLE }, chain),
      wrongKind,
    ),
    transaction("A transaction that is renewal info too", of({ autoRenewStatus: 1 }), wrongKind),
    transaction("A transaction that is a notification too", of({ notificationType: "REFUND" }), wrongKind),
    transaction("An app transaction", signJws(anAppTransaction(), chain)),
    transaction("An app transaction with an environment", ofApp({ environment: "Production" }), wrongKind),
    appTransaction("A transaction in place of an app transaction", good),
    appTransaction(
      "A transaction that is an app transaction too",
      signJws({ ...aTransaction(), ...anAppTransaction() }, chain),
      wrongKind,
    ),
    payloadText("A product twice", adding('"productId":"other"'), twice),
    payloadText("A product twice, once escaped", adding('"product\\u0049d":"other"'), twice),
    payloadText("A list", `[${json}]`),
    payloadText("Text", JSON.stringify(json)),
    payloadText("Null", "null"),
    payloadText("Nothing", ""),
    payloadText("Half an object", json.slice(0, -1)),
    payloadText("An object and more", `${json}{}`),
    payloadText("A byte order mark", `\uFEFF${json}`),
    payloadText(
      "Bytes that are not UTF-8",
      Buffer.concat([
        Buffer.from(json.slice(0, -1)),
        Buffer.from(',"x":"'),
        Buffer.of(0xc3, 0x28),
        Buffer.from('"}'),
      ]),
      { why: "JSON is UTF-8 (RFC 8259, 8.1); other bytes are read differently by different readers." },
    ),
  ],
};

const CLAIMS: Group = {
  title: "App and environment",
  rows: [
    transaction("Another bundle", of({ bundleId: "com.example.other" })),
    transaction("The bundle in capitals", of({ bundleId: BUNDLE.toUpperCase() })),
    transaction("The sandbox, where production is asked for", of({ environment: "Sandbox" })),
    transaction("Production, where the sandbox is asked for", good, {}, sandbox),
    transaction("An unknown environment", of({ environment: "ProductionSandbox" })),
    appTransaction("Another bundle, of an app transaction", ofApp({ bundleId: "com.example.other" })),
    appTransaction("Another app id in production", ofApp({ appAppleId: APPLE_ID + 1 })),
    appTransaction("No app id in production", ofApp({ appAppleId: undefined })),
    appTransaction("An app id as text", ofApp({ appAppleId: String(APPLE_ID) })),
    appTransaction("Another environment, of an app transaction", ofApp({ receiptType: "Sandbox" })),
  ],
};

const inXcodeOf = (fields: Readonly<Record<string, unknown>> = {}) =>
  aTransaction({ environment: "Xcode", transactionId: "0", ...fields });
const signedAnyhow = {
  why: "Whoever can write JSON could claim any purchase: in Xcode's environment too a signature counts, by a certificate that the configuration names.",
};

const XCODE: Group = {
  title: "StoreKit testing in Xcode",
  rows: [
    transaction("Signed by a certificate that is registered", signJws(inXcodeOf(), xcode), genuine, inXcode),
    transaction(
      "Signed by any other certificate",
      signJws(inXcodeOf(), strangersXcode),
      signedAnyhow,
      inXcode,
    ),
    transaction(
      "With a signature by another key",
      signJws(inXcodeOf(), { x5c: xcode.x5c, privateKey: strangersXcode.privateKey }),
      signedAnyhow,
      inXcode,
    ),
    transaction(
      "Without a signature",
      `${Buffer.from('{"alg":"none"}').toString("base64url")}.${Buffer.from(JSON.stringify(inXcodeOf())).toString("base64url")}.`,
      signedAnyhow,
      inXcode,
    ),
    transaction(
      "By the App Store's chain",
      signJws(inXcodeOf(), chain),
      {
        why: "The App Store signs for production and the sandbox, and for nothing else.",
      },
      inXcode,
    ),
    transaction("For production", signJws(inXcodeOf({ environment: "Production" }), xcode)),
    transaction("For the sandbox", signJws(inXcodeOf({ environment: "Sandbox" }), xcode), {}, sandbox),
  ],
};

const RENEWAL_INFOS: Group = {
  title: "Renewal infos",
  rows: [
    renewalInfo("One that renews", {}, genuine),
    renewalInfo("One in the sandbox", { environment: "Sandbox" }, genuine, sandbox),
    renewalInfo(
      "One in its grace period",
      { isInBillingRetryPeriod: true, gracePeriodExpiresDate: NOW + DAY, expirationIntent: 2 },
      genuine,
    ),
    renewalInfo(
      "One with a field and a reason that are new",
      { aNewField: {}, expirationIntent: 99 },
      genuine,
    ),
    renewalInfo("One without an app transaction id", { appTransactionId: undefined }, genuine),
    renewalInfo("Another environment of it", { environment: "Sandbox" }),
    renewalInfo("By a stranger's chain", {}, {}, production, stranger),
    renewalInfo(
      "From the future",
      { signedDate: NOW + 2 * DAY },
      { why: "Nothing can have been signed later than now." },
    ),
    renewalInfo(
      "Without a product",
      { productId: undefined },
      { why: "Every renewal info names its product." },
    ),
    renewalInfo(
      "Without a lineage",
      { originalTransactionId: undefined },
      {
        why: "It would be a fact of nothing.",
      },
    ),
    {
      name: "A transaction in place of renewal info",
      jws: good,
      kind: "renewal info",
      setting: production,
      why: "A transaction says nothing of a renewal.",
    },
    {
      name: "A notification in place of renewal info",
      jws: signJws(aNotification(chain), chain),
      kind: "renewal info",
      setting: production,
    },
    renewalInfo("A renewal date as text", { renewalDate: String(NOW) }),
  ],
};

const disagreeing = {
  why: "Apple's library verifies the envelope alone and leaves its parts to the caller.",
};
const oneSubject = {
  why: "The four subjects exclude each other; which one counts must not be left to a reader.",
};
const carrying = (
  parts: Parameters<typeof aNotification>[1],
  fields: Payload = {},
  app: Payload = {},
): Payload => aNotification(chain, parts, fields, app);
const token = (externalPurchaseId: string): Payload =>
  anEnvelope({
    notificationType: "EXTERNAL_PURCHASE_TOKEN",
    externalPurchaseToken: { externalPurchaseId, bundleId: BUNDLE, appAppleId: APPLE_ID },
  });

const NOTIFICATIONS: Group = {
  title: "Notifications",
  rows: [
    notification("A renewal", carrying({}), genuine),
    notification("A TEST", anEnvelope({ notificationType: "TEST", data: anApp() }), genuine),
    notification(
      "A TEST in the sandbox",
      anEnvelope({
        notificationType: "TEST",
        data: anApp({ environment: "Sandbox", appAppleId: undefined }),
      }),
      genuine,
      sandbox,
    ),
    notification(
      "A one-time charge",
      carrying({ renewalInfo: null }, { notificationType: "ONE_TIME_CHARGE" }),
      genuine,
    ),
    notification(
      "A summary",
      anEnvelope({ notificationType: "RENEWAL_EXTENSION", summary: anApp() }),
      genuine,
    ),
    notification(
      "A rescinded consent",
      anEnvelope({
        notificationType: "RESCIND_CONSENT",
        appData: anApp({ signedAppTransactionInfo: ofApp({}) }),
      }),
      genuine,
    ),
    notification("An external purchase token", token("4f"), genuine),
    notification("An external purchase token of the sandbox", token("SANDBOX_4f"), genuine, sandbox),
    notification(
      "A type and a subtype that are new",
      carrying({}, { notificationType: "NEW", subtype: "NEWER" }),
      genuine,
    ),
    notification("Another bundle, of a notification", carrying({}, {}, { bundleId: "com.example.other" })),
    notification("Another app id, of a notification", carrying({}, {}, { appAppleId: APPLE_ID + 1 })),
    notification("No app id, of a notification", carrying({}, {}, { appAppleId: undefined })),
    notification("Another environment, of a notification", carrying({}, {}, { environment: "Sandbox" })),
    notification("A token of the sandbox in production", token("SANDBOX_4f")),
    notification("Without a subject", anEnvelope()),
    notification("With two subjects", { ...carrying({}), summary: anApp() }, oneSubject),
    notification("Without a type", carrying({}, { notificationType: undefined }), {
      why: "Every notification has a type; anything else is another kind of payload.",
    }),
    notification("From the future", carrying({}, { signedDate: NOW + 2 * DAY }), {
      why: "Nothing can have been signed later than now.",
    }),
    notification("By a stranger's chain", carrying({}), {}, production, stranger),
    notification("A transaction in place of a notification", aTransaction()),
    notification(
      "In Xcode",
      carrying({}, {}, { environment: "Xcode" }),
      {
        why: "StoreKit testing in Xcode sends no notifications, so nobody's certificate signs one.",
      },
      inXcode,
      xcode,
    ),
    notification("Parts by a stranger's chain", aNotification(stranger), disagreeing),
    notification(
      "A transaction of another bundle within",
      carrying({ transaction: aTransaction({ bundleId: "com.example.other" }) }),
      disagreeing,
    ),
    notification(
      "A transaction of another environment within",
      carrying({ transaction: aTransaction({ environment: "Sandbox" }) }),
      disagreeing,
    ),
    notification(
      "Renewal info of another lineage within",
      carrying({ renewalInfo: aRenewalInfo({ originalTransactionId: "9" }) }),
      disagreeing,
    ),
    notification(
      "Renewal info in place of the transaction within",
      carrying({ transaction: aRenewalInfo() }),
      disagreeing,
    ),
  ],
};

export const GROUPS: readonly Group[] = [
  GENUINE,
  APPLES_OWN,
  FORM,
  SIGNATURES,
  ALGORITHMS,
  HEADERS,
  CHAINS,
  ROLES,
  TIMES,
  PAYLOADS,
  CLAIMS,
  XCODE,
  RENEWAL_INFOS,
  NOTIFICATIONS,
];
