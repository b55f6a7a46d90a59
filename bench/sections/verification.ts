import { createPublicKey, verify, X509Certificate, type KeyObject } from "node:crypto";
import { Environment, SignedDataVerifier } from "@apple/app-store-server-library";
import { compactVerify } from "jose";
import { DEMO } from "../../local/demo.ts";
import { makeChain, fingerprintOf } from "../../sandbox/ios-store/signing.ts";
import { createIosStoreVerifier } from "../../lib/stores/ios-store/verifier.ts";
import type { Trust } from "../../lib/stores/ios-store/signatures/chain.ts";
import { inTurn, ratio, type Side } from "../measure.ts";
import {
  newDevice,
  separatePurchases,
  signedRequest,
} from "../../testing/support/stores/signed-purchases.ts";

const OURS = "this service";
export const APPLES = "Apple's library, offline";
export const JOSE = "jose alone, key imported";
export const RAW = "crypto.verify of P-256";

const COUNT = 100;
const ROUNDS = 9;
const ROUND_MILLISECONDS = 150;

interface Sample {
  readonly compact: string;
  readonly signed: Buffer;
  readonly signature: Buffer;
  readonly key: KeyObject;
  readonly cryptoKey: ReturnType<KeyObject["toCryptoKey"]>;
}

/** The parts of transactions that one key has signed. */
const samplesOf = (compacts: readonly string[]): Sample[] => {
  const [first = ""] = (compacts[0] ?? "").split(".");
  const { x5c }: { x5c: string[] } = JSON.parse(Buffer.from(first, "base64url").toString());
  const { publicKey } = new X509Certificate(Buffer.from(x5c[0] ?? "", "base64"));
  const key = createPublicKey(publicKey.export({ format: "pem", type: "spki" }));
  const cryptoKey = key.toCryptoKey({ name: "ECDSA", namedCurve: "P-256" }, false, ["verify"]);
  return compacts.map((compact) => {
    const [header = "", payload = "", signature = ""] = compact.split(".");
    return {
      compact,
      signed: Buffer.from(`${header}.${payload}`),
      signature: Buffer.from(signature, "base64url"),
      key,
      cryptoKey,
    };
  });
};

const require = (verified: boolean): void => {
  if (!verified) throw new Error("A sample was not verified.");
};

const verifyRaw = ({ signed, signature, key }: Sample): void =>
  require(verify("sha256", signed, { key, dsaEncoding: "ieee-p1363" }, signature));

const verifyWithJose = async ({ compact, cryptoKey }: Sample): Promise<unknown> =>
  compactVerify(compact, cryptoKey, { algorithms: ["ES256"] });

const oneByOne =
  (samples: readonly Sample[], act: (sample: Sample) => Promise<unknown> | void) => async () => {
    for (const sample of samples) await act(sample);
    return samples.length;
  };

const together =
  (samples: readonly Sample[], act: (sample: Sample) => Promise<unknown> | void) => async () => {
    await Promise.all(samples.map(act));
    return samples.length;
  };

/** Transactions verified per second, by implementation. */
export const measureVerification = async () => {
  const chain = makeChain();
  const trust: Trust = { roots: new Set([fingerprintOf(chain.root)]), xcodeCertificates: new Set() };
  const device = newDevice();
  const transactions = separatePurchases(COUNT);
  const samples = samplesOf(signedRequest(device, transactions, chain).signedTransactions);

  const moment = Date.now();
  const verifier = createIosStoreVerifier();
  const apples = new SignedDataVerifier(
    [chain.root.certificate],
    false,
    Environment.PRODUCTION,
    DEMO.bundleIdentifier,
    DEMO.appAppleIdentifier,
  );
  const ours = async ({ compact }: Sample) =>
    require((await verifier.verifyTransactions([compact], trust, moment)).outcome === "verified");
  const withApples = ({ compact }: Sample) => apples.verifyAndDecodeTransaction(compact);
  const few = samples.slice(0, 20);

  const compare = async (name: string, how: string, sides: readonly Side[]) => {
    const rates = await inTurn(sides, { rounds: ROUNDS, milliseconds: ROUND_MILLISECONDS });
    const [first, ...others] = rates;
    const against = (of: "rounds" | "cpuRounds"): Record<string, number> =>
      Object.fromEntries(others.map((other) => [other.name, ratio(first?.[of] ?? [], other[of])]));
    // Ours to each of the others: transactions per second, and CPU time per transaction.
    return { name, how, rates, ratios: against("rounds"), cpuRatios: against("cpuRounds") };
  };

  return {
    bytesOfOne: samples[0]?.compact.length ?? 0,
    transactionsOfOneRequest: COUNT,
    comparisons: [
      await compare(
        "one at a time",
        "A known chain; each transaction starts when the previous one is done.",
        [
          { name: OURS, run: oneByOne(samples, ours) },
          { name: APPLES, run: oneByOne(few, withApples) },
          { name: JOSE, run: oneByOne(samples, verifyWithJose) },
          { name: RAW, run: oneByOne(samples, verifyRaw) },
        ],
      ),
      await compare(
        "a request of 100",
        "A known chain; the transactions of a request start together, save those of crypto.verify.",
        [
          {
            name: OURS,
            run: async () => {
              const compacts = samples.map(({ compact }) => compact);
              require((await verifier.verifyTransactions(compacts, trust, moment)).outcome === "verified");
              return samples.length;
            },
          },
          { name: APPLES, run: together(few, withApples) },
          { name: JOSE, run: together(samples, verifyWithJose) },
          { name: RAW, run: oneByOne(samples, verifyRaw) },
        ],
      ),
    ],
  };
};
