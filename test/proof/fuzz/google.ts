import { generateKeyPairSync } from "node:crypto";
import {
  AUDIENCE,
  SERVICE_ACCOUNT,
  startKeyServer,
  type KeyServer,
} from "../../../testing/support/stores/push-tokens.ts";
import type { PushTarget } from "./attack.ts";

/** Configuration of a package that Google pushes to, and of another tenant's. */
export const PUSHED = { serviceAccount: SERVICE_ACCOUNT, audience: AUDIENCE } as const;
export const PUSHED_OTHER = { ...PUSHED, serviceAccount: "play-push@peaks.iam.gserviceaccount.com" } as const;

/** A key of Google's, made anew in each run, and the server of its public half. */
export const startGoogle = async (
  otherPackage: string,
): Promise<{ readonly keys: KeyServer; readonly push: PushTarget }> => {
  const { privateKey: key, publicKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  const keyIdentifier = "google";
  const jwk = { ...publicKey.export({ format: "jwk" }), kid: keyIdentifier, alg: "RS256", use: "sig" };
  return {
    keys: await startKeyServer({ jwk }),
    push: {
      ...PUSHED,
      key,
      keyIdentifier,
      other: { packageName: otherPackage, serviceAccount: PUSHED_OTHER.serviceAccount },
    },
  };
};
