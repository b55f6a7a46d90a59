import { makeChain, makeXcodeSigner, signJws } from "../../../../sandbox/ios-store/signing.ts";
import {
  anAppTransaction,
  aTransaction,
  BUNDLE,
  type Payload,
} from "../../../../testing/support/stores/ios-store.ts";
import type { Kind, Setting } from "../verdicts.ts";

/** One line of the comparison. */
export interface Row {
  readonly name: string;
  readonly jws: string;
  readonly kind: Kind;
  readonly setting: Setting;
  /** The store made it, or could have: to refuse it would be wrong. */
  readonly genuine?: true;
  /** Why this service's answer is right where Apple's library gives the other. */
  readonly why?: string;
}

export interface Group {
  readonly title: string;
  readonly rows: readonly Row[];
}

export const chain = makeChain();
export const stranger = makeChain();
export const xcode = makeXcodeSigner();

export const production: Setting = {
  bundleIdentifier: BUNDLE,
  environment: "production",
  root: chain.root.certificate,
  xcodeCertificates: [xcode.certificate.certificate],
};
export const sandbox: Setting = { ...production, environment: "sandbox" };
export const inXcode: Setting = { ...production, environment: "xcode" };

/** JWS by name; one that is verified with a setting of its own has it beside. */
type Cases = Readonly<Record<string, string | { readonly jws: string; readonly setting: Setting }>>;

const rowsWith =
  (more: Pick<Row, "genuine" | "why">) =>
  (cases: Cases, kind: Kind = "transaction", setting = production): readonly Row[] =>
    Object.entries(cases).map(([name, one]) => ({
      name,
      kind,
      ...(typeof one === "string" ? { jws: one, setting } : one),
      ...more,
    }));

/** What the store signs, or could: both accept it. */
export const genuine = rowsWith({ genuine: true });
/** Both refuse it. */
export const refused = rowsWith({});
/** Apple's library accepts it, and this service refuses it. */
export const stricter = (why: string) => rowsWith({ why });

/** A transaction or an app transaction with other fields, signed by the chain. */
export const of = (fields: Payload = {}): string => signJws(aTransaction(fields), chain);
export const ofApp = (fields: Payload = {}): string => signJws(anAppTransaction(fields), chain);
