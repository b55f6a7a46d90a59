import type { ServerResponse } from "node:http";
import { exportJWK, generateKeyPair, SignJWT, type JWK, type JWTPayload } from "jose";
import type { Instant } from "../../../lib/entitlements/time.ts";
import { serve } from "../serve.ts";

export const SERVICE_ACCOUNT = "play-push@trails.iam.gserviceaccount.com";
export const AUDIENCE = "https://api.example.com/v1/notifications/android-store";

/** Claims of a genuine token of an hour's life, made at the moment. */
const claimsAt = (moment: Instant): Record<string, unknown> => ({
  iss: "https://accounts.google.com",
  aud: AUDIENCE,
  azp: "113774264463038321964",
  sub: "113774264463038321964",
  email: SERVICE_ACCOUNT,
  email_verified: true,
  iat: Math.floor(moment / 1000),
  exp: Math.floor(moment / 1000) + 3600,
});

/** A signing key of Google's, and its public half. */
export const makePushKey = async (now: () => Instant, kid: string, alg = "RS256") => {
  const { privateKey, publicKey } = await generateKeyPair(alg);
  return {
    jwk: { ...(await exportJWK(publicKey)), kid, alg, use: "sig" },
    /** Claims of null are left out. */
    sign: (
      claims: Record<string, unknown> = {},
      header: { alg?: string; kid?: string | null } = {},
    ): Promise<string> => {
      const all = Object.entries({ ...claimsAt(now()), ...claims });
      const payload: JWTPayload = Object.fromEntries(all.filter(([, value]) => value !== null));
      const name = header.kid === undefined ? kid : header.kid;
      return new SignJWT(payload)
        .setProtectedHeader({ alg: header.alg ?? alg, typ: "JWT", ...(name !== null && { kid: name }) })
        .sign(privateKey);
    },
  };
};
export type PushKey = Awaited<ReturnType<typeof makePushKey>>;

interface PublicKey {
  readonly jwk: JWK;
}

/** A server of Google's keys. */
export const startKeyServer = async (...first: readonly PublicKey[]) => {
  const withKeys =
    (keys: readonly PublicKey[]) =>
    (response: ServerResponse): void => {
      response.setHeader("Content-Type", "application/json; charset=UTF-8");
      response.end(JSON.stringify({ keys: keys.map(({ jwk }) => jwk) }));
    };
  let requests = 0;
  let answer = withKeys(first);
  const { address, stop } = await serve((_, response) => {
    requests += 1;
    answer(response);
  });
  return {
    url: `${address}/oauth2/v3/certs`,
    /** Requests so far. */
    requests: () => requests,
    /** The keys it serves from now on. */
    serve: (...keys: readonly PublicKey[]): void => {
      answer = withKeys(keys);
    },
    /** How it answers from now on, instead of with keys. */
    answer: (how: (response: ServerResponse) => void): void => {
      answer = how;
    },
    close: stop,
  };
};
export type KeyServer = Awaited<ReturnType<typeof startKeyServer>>;
