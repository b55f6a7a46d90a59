import { readSecret } from "../../functions/environment/secrets.ts";
import { serve, type Served } from "../../testing/server.ts";
import { serviceForFile } from "../support/service-for-file.ts";

/** A stand-in for Secrets Manager: its answer for each name, and how often each was requested. */
const answers = new Map<string, { readonly status: number; readonly body: object }>();
const asked = new Map<string, number>();
let secretsManager: Served;

const failure = (status: number, name: string) => ({ status, body: { __type: name, Message: "no" } });

const { service } = serviceForFile(async () => {
  secretsManager = await serve(async (request, response) => {
    const { SecretId } = JSON.parse(Buffer.concat(await request.toArray()).toString());
    const action = request.headers["x-amz-target"];
    asked.set(SecretId, (asked.get(SecretId) ?? 0) + 1);
    const known = answers.get(SecretId) ?? failure(400, "ResourceNotFoundException");
    const answer = action === "secretsmanager.GetSecretValue" ? known : failure(400, "UnknownOperation");
    response.writeHead(answer.status, { "Content-Type": "application/x-amz-json-1.1" });
    response.end(JSON.stringify(answer.body));
  });
  process.env["AWS_ENDPOINT_URL_SECRETS_MANAGER"] = secretsManager.address;
  return { environment: { AWS_ENDPOINT_URL_SECRETS_MANAGER: secretsManager.address } };
});
afterAll(() => secretsManager?.stop());

const secret = (content: object) => ({ status: 200, body: content });
const missing = [
  "ResourceNotFoundException",
  "AccessDeniedException",
  "DecryptionFailure",
  "InvalidParameterException",
  "InvalidRequestException",
];
test.each<[name: string, answer: { status: number; body: object }, text: string | null]>([
  ["text", secret({ SecretString: "the text" }), "the text"],
  ["bytes", secret({ SecretBinary: "AAAA" }), null],
  ...missing.map((name) => [name, failure(400, name), null] as [string, ReturnType<typeof failure>, null]),
])("%s: a secret's text, or it counts as missing; it is requested once", async (name, answer, text) => {
  answers.set(name, answer);
  expect(await readSecret(name)).toBe(text);
  expect(asked.get(name)).toBe(1);
});

test.each([
  ["InternalServiceError", 500, 2],
  ["ThrottlingException", 400, 2],
  ["ExpiredTokenException", 400, 1],
])("%s (%d) is thrown, after %d attempts in all", async (name, status, times) => {
  answers.set(name, failure(status, name));
  await expect(readSecret(name)).rejects.toMatchObject({ name });
  expect(asked.get(name)).toBe(times);
});

test("a missing master secret is a named error, and is read again", async () => {
  process.env["MASTER_SECRET"] = "a-master";
  const { masterSecret } = await import("../../functions/environment/master-secret.ts");
  await expect(masterSecret()).rejects.toMatchObject({ name: "MasterSecretError" });
  answers.set("a-master", secret({ SecretString: "the text" }));
  expect(await masterSecret()).toEqual(new TextEncoder().encode("the text"));
});

test.each<[what: string, answer: { status: number; body: object }, code: string]>([
  [
    "is not a service account's key",
    secret({ SecretString: '{"type":"something else"}' }),
    "STORE_REJECTED_CREDENTIAL",
  ],
  ["cannot be read for now", failure(500, "InternalServiceError"), "STORE_UNAVAILABLE"],
])("a package whose secret %s is 503", async (_, answer, code) => {
  const name = `customer-entitlements/${code}`;
  answers.set(name, answer);
  const app = await service.application({ androidStore: { credential: { secret: name } } });
  const { status, body } = await app.linkAndroid(app.buyOnAndroid(), "user-1");
  expect([status, body.error]).toEqual([503, code]);
});
