import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  randomBytes,
  type KeyObject,
} from "node:crypto";
import { exportJWK, SignJWT, type JSONWebKeySet, type JWTHeaderParameters, type JWTPayload } from "jose";
import * as z from "zod";

export const savedKeys = z.array(z.object({ identifier: z.string(), privateKey: z.string() }));

interface PushKey {
  readonly identifier: string;
  readonly privateKey: KeyObject;
}

const makeKey = (): PushKey => ({
  identifier: randomBytes(20).toString("hex"),
  privateKey: generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey,
});

export type PushKeys = ReturnType<typeof createPushKeys>;

/** Google's keys for the tokens of pushes; the first is made when one is needed. */
export const createPushKeys = (saved: z.output<typeof savedKeys>) => {
  let keys: readonly PushKey[] = saved.map(({ identifier, privateKey }) => ({
    identifier,
    privateKey: createPrivateKey(privateKey),
  }));

  const newest = (): PushKey => {
    const [key = makeKey()] = keys;
    if (keys.length === 0) keys = [key];
    return key;
  };

  return {
    /** RS256, with the newest key unless the header says otherwise. */
    sign: async (claims: JWTPayload, header?: Partial<JWTHeaderParameters>): Promise<string> => {
      const { identifier, privateKey } = newest();
      return new SignJWT(claims)
        .setProtectedHeader({ alg: "RS256", kid: identifier, typ: "JWT", ...header })
        .sign(privateKey);
    },
    /** The newest key, and the one before it. */
    list: async (): Promise<JSONWebKeySet> => {
      newest();
      return {
        keys: await Promise.all(
          keys.map(async ({ identifier, privateKey }) => ({
            ...(await exportJWK(createPublicKey(privateKey))),
            kid: identifier,
            alg: "RS256",
            use: "sig",
          })),
        ),
      };
    },
    /** Makes a new key; the one before the last leaves the list. */
    rotate: (): void => {
      keys = [makeKey(), newest()];
    },
    save: (): z.input<typeof savedKeys> =>
      keys.map(({ identifier, privateKey }) => ({
        identifier,
        privateKey: privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
      })),
  };
};
