import { readFileSync } from "node:fs";
import { decodeProtectedHeader } from "jose";
import * as z from "zod";
import type { Setting } from "../verdicts.ts";
import { genuine, inXcode, refused, sandbox, stricter, type Group } from "./row.ts";

const samples = z
  .record(z.string(), z.string())
  .parse(JSON.parse(readFileSync(new URL("../apple-samples.json", import.meta.url), "utf8")));
const sample = (name: string): string => {
  const found = samples[name];
  if (found === undefined) throw new Error(`There is no sample ${name}.`);
  return found;
};

const backyardBirds = (name: string): { readonly jws: string; readonly setting: Setting } => {
  const jws = sample(name);
  const [certificate = ""] = decodeProtectedHeader(jws).x5c ?? [];
  const bundleIdentifier = "com.example.naturelab.backyardbirds.example";
  return {
    jws,
    setting: { ...inXcode, bundleIdentifier, xcodeCertificates: [Buffer.from(certificate, "base64")] },
  };
};
const ofMocks: Setting = {
  ...sandbox,
  bundleIdentifier: "com.example",
  root: Buffer.from(sample("signedDataRoot"), "base64"),
};

export const APPLES_OWN: Group = {
  title: "Apple's own samples",
  rows: [
    ...genuine({ "A transaction of Xcode": backyardBirds("xcodeTransaction") }),
    ...genuine({ "An app transaction of Xcode": backyardBirds("xcodeAppTransaction") }, "app transaction"),
    ...refused({ "Renewal info of Xcode in place of a transaction": backyardBirds("xcodeRenewalInfo") }),
    ...stricter(
      "Its third certificate is not the trusted root, and it names no transaction, product or type to grant.",
    )(
      { "A mock of a transaction, with an environment, a bundle and a date": sample("transactionInfo") },
      "transaction",
      ofMocks,
    ),
    ...refused(
      {
        "A mock of renewal info": sample("renewalInfo"),
        "A mock of a notification": sample("notification"),
        "A mock without certificates in its header": sample("missingX5c"),
      },
      "transaction",
      ofMocks,
    ),
  ],
};
