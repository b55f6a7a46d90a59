import { SignJWT, UnsecuredJWT } from "jose";
import {
  createPushTokenVerifier,
  PUSH_TOKEN_TIMING,
  type PushTokenTiming,
} from "../../../lib/stores/android-store/push-token.ts";
import {
  NOW,
  AUDIENCE,
  makePushKey,
  SERVICE_ACCOUNT,
  startKeyServer,
  type KeyServer,
  type PushKey,
} from "../../../testing/support/stores/android-store.ts";

let google: PushKey;
let next: PushKey;
let server: KeyServer;
let moment = NOW;

beforeAll(async () => {
  [google, next] = await Promise.all([makePushKey(() => moment, "a"), makePushKey(() => moment, "b")]);
});
beforeEach(async () => {
  moment = NOW;
  server = await startKeyServer(google);
});
afterEach(() => server.close());

const verifierWith = (timing: Partial<PushTokenTiming> = {}) => {
  const verifier = createPushTokenVerifier({
    certificatesUrl: server.url,
    now: () => moment,
    timing: { ...PUSH_TOKEN_TIMING, ...timing },
  });
  /** The claims of a header's token, or why there are none. */
  return async (token: string | Promise<string> | null, scheme = "Bearer ") => {
    const verdict = await verifier.verify(token === null ? null : scheme + (await token));
    if (verdict.outcome === "verified") return verdict.claims;
    return verdict.outcome === "rejected" ? verdict.reason : verdict.outcome;
  };
};

const CLAIMS = { serviceAccount: SERVICE_ACCOUNT, audience: AUDIENCE };

test.each([
  ["its service account and audience", {}],
  ["Google's other spelling of the issuer", { iss: "accounts.google.com" }],
  ["a claim that is new", { hd: { a: 1 } }],
  ["an expiry a minute ago, but for a millisecond", { exp: NOW / 1000 - 59 }],
])("a token is verified with %s", async (_, claims) => {
  expect(await verifierWith()(google.sign(claims))).toEqual(CLAIMS);
});

describe("a token is rejected", () => {
  test.each([
    ["another issuer", { iss: "https://accounts.google.com.example.com" }, "push_token_issuer"],
    ["an expiry a minute ago", { exp: NOW / 1000 - 60 }, "push_token_expired"],
    ["no expiry", { exp: null }, "push_token_claims"],
    ["a beginning in the future", { nbf: NOW / 1000 + 3600 }, "push_token_claims"],
    ["no audience", { aud: null }, "push_token_claims"],
    ["several audiences", { aud: [AUDIENCE, "https://example.com"] }, "push_token_claims"],
    ["no e-mail address", { email: null }, "push_token_claims"],
    ["an e-mail address that is not verified", { email_verified: false }, "push_token_email"],
    ["an e-mail address verified in words", { email_verified: "true" }, "push_token_email"],
  ])("with %s", async (_, claims, reason) => {
    expect(await verifierWith()(google.sign(claims))).toBe(reason);
  });

  test("signed by another key of the same name", async () => {
    const forged = await makePushKey(() => moment, "a");
    expect(await verifierWith()(forged.sign())).toBe("push_token_signature");
  });

  test("without a key name, where Google has several keys", async () => {
    server.serve(google, next);
    expect(await verifierWith()(google.sign({}, { kid: null }))).toBe("push_token_key");
  });

  const bySecret = () =>
    new SignJWT({ email: SERVICE_ACCOUNT })
      .setProtectedHeader({ alg: "HS256", kid: "a" })
      .sign(Buffer.from(JSON.stringify(google.jwk)));
  const byCurve = async () => (await makePushKey(() => moment, "a", "ES256")).sign();
  const unsigned = () => new UnsecuredJWT({ email: SERVICE_ACCOUNT }).encode();
  test.each<[string, () => string | Promise<string> | null, string, scheme?: string]>([
    ["of no algorithm", unsigned, "push_token_algorithm"],
    ["of HS256 with the public key as its secret", bySecret, "push_token_algorithm"],
    ["of ES256", byCurve, "push_token_algorithm"],
    ["that is no token", () => "", "push_token_missing"],
    ["that is two words", () => "a.b.c d", "push_token_missing"],
    ["of one part", () => "abc", "push_token_malformed"],
    ["where there is no header", () => null, "push_token_missing"],
    ["of another scheme", () => google.sign(), "push_token_missing", "Basic "],
  ])("%s, without a request for keys", async (_, made, reason, scheme = "Bearer ") => {
    expect(await verifierWith()(made(), scheme)).toBe(reason);
    expect(server.requests()).toBe(0);
  });
});

describe("Google's keys", () => {
  test("are loaded once for fifty that wait, and kept", async () => {
    const verify = verifierWith();
    const token = await google.sign();
    const verdicts = await Promise.all(Array.from({ length: 50 }, () => verify(token)));
    for (const verdict of verdicts) expect(verdict).toEqual(CLAIMS);
    await verify(token);
    expect(server.requests()).toBe(1);
  });

  test("are loaded again for a new key's name", async () => {
    const verify = verifierWith({ unknownKey: 0 });
    await verify(google.sign());
    server.serve(google, next);
    moment += PUSH_TOKEN_TIMING.pause;
    expect(await verify(next.sign())).toEqual(CLAIMS);
    expect(await verify(google.sign())).toEqual(CLAIMS);
    expect(server.requests()).toBe(2);
  });

  test("are not loaded again for unknown names within a minute", async () => {
    const verify = verifierWith();
    await verify(google.sign());
    moment += PUSH_TOKEN_TIMING.pause;
    for (const kid of ["x", "y", "z"]) expect(await verify(google.sign({}, { kid }))).toBe("push_token_key");
    expect(server.requests()).toBe(1);
  });

  test.each<[string, Parameters<KeyServer["answer"]>[0]]>([
    ["an error", (response) => response.writeHead(500).end()],
    ["a redirection", (response) => response.writeHead(302, { Location: server.url }).end()],
    ["no keys", (response) => response.end("{}")],
    ["nothing in time", () => undefined],
    ["a body that never ends", (response) => response.write('{"keys":[')],
  ])("cannot be had where their server answers with %s: unavailable, never rejected", async (_, how) => {
    server.answer(how);
    const verify = verifierWith({ request: 300 });
    expect(await verify(google.sign())).toBe("unavailable");
    expect(server.requests()).toBe(1);
  });

  test("are asked for once in five seconds while their server fails", async () => {
    server.answer((response) => response.writeHead(503).end());
    const verify = verifierWith();
    for (let time = 0; time < 20; time += 1) expect(await verify(google.sign())).toBe("unavailable");
    expect(server.requests()).toBe(1);
    server.serve(google);
    moment += PUSH_TOKEN_TIMING.pause - 1;
    expect(await verify(google.sign())).toBe("unavailable");
    moment += 1;
    expect(await verify(google.sign())).toEqual(CLAIMS);
    expect(server.requests()).toBe(2);
  });

  test("that are known still count while their server fails", async () => {
    const verify = verifierWith({ unknownKey: 0 });
    await verify(google.sign());
    server.answer((response) => response.writeHead(503).end());
    moment += PUSH_TOKEN_TIMING.pause;
    expect(await verify(google.sign())).toEqual(CLAIMS);
    expect(await verify(next.sign())).toBe("unavailable");
    expect(await verify(google.sign())).toEqual(CLAIMS);
  });
});
