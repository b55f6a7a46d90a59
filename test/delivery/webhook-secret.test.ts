import { applicationId } from "../../lib/identifiers.ts";
import {
  keyedHash,
  OVERLAP_MILLISECONDS,
  secretOf,
  secretText,
  signingSecrets,
} from "../../lib/delivery/webhook-secret.ts";
import { NOW } from "../../testing/support/stores/purchases.ts";

const MASTER = Buffer.alloc(32, 7);
const NAME = {
  application: applicationId("0198c0de-0000-7000-8000-000000000001"),
  destination: "backend",
  epoch: 1,
};

type SecretName = typeof NAME & { readonly master: Uint8Array };
const secretHex = (changes: Partial<SecretName> = {}): string => {
  const { master, application, destination, epoch } = { master: MASTER, ...NAME, ...changes };
  return hexOf(secretOf(master, application, { name: destination }, epoch));
};
const hexOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex");

// The expected values come from another implementation of RFC 5869 and RFC 2104.
test("a secret stays what it was: receivers have it", () => {
  expect(secretHex()).toBe("aa850e041f02fe0b71e5399b4963d58224ec74be47bc3a132cce21f798efd23b");
});

test("a keyed hash stays what it was: records have it", () => {
  expect(keyedHash(MASTER, NAME.application, "account-1")).toBe(
    "bb0d8bfd200a898432f6ac2af28db1067303165597a9ec3731116abf696c0094",
  );
});

test.each<[string, one: Partial<SecretName>, other: Partial<SecretName>]>([
  [
    "application and destination",
    { application: applicationId("a"), destination: "bc" },
    { application: applicationId("ab"), destination: "c" },
  ],
  ["destination and epoch", { destination: "a1", epoch: 2 }, { destination: "a", epoch: 12 }],
  ["separators within a part", { destination: 'a",1,"' }, { destination: "a" }],
])("no two names run together: %s", (_, one, other) => {
  expect(secretHex(one)).not.toBe(secretHex(other));
});

test("a secret's text is its bytes after whsec_", () => {
  const text = secretText(Buffer.from(secretHex(), "hex"));
  expect(text).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
  expect(hexOf(Buffer.from(text.slice("whsec_".length), "base64"))).toBe(secretHex());
});

test("a short master secret is refused, and not shown", () => {
  const short = Buffer.from("too short");
  expect(() => secretHex({ master: short })).toThrow("The master secret has fewer than 32 bytes.");
  expect(() => keyedHash(short, NAME.application, "account-1")).toThrow(TypeError);
});

test.each([
  ["one that was never rotated", [], NOW, [0]],
  ["the only secret", [NOW], NOW, [NOW]],
  ["a rotation", [NOW, 5, 3], NOW, [NOW, 5]],
  ["the last moment of the overlap", [NOW, 5], NOW + OVERLAP_MILLISECONDS - 1, [NOW, 5]],
  ["the end of the overlap", [NOW, 5], NOW + OVERLAP_MILLISECONDS, [NOW]],
])("the newest secret signs, and the previous one for a day: %s", (_, epochs, moment, signing) => {
  const destination = { name: "backend", url: "https://api.example.com/hooks", secretEpochs: epochs };
  expect(signingSecrets(MASTER, NAME.application, destination, moment).map(hexOf)).toEqual(
    signing.map((epoch) => secretHex({ epoch })),
  );
});
