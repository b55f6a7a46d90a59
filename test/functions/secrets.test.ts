import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { readSecret } from "../../functions/environment/secrets.ts";
import { startTestService, type TestService } from "../../testing/support/service.ts";

/** A stand-in for Secrets Manager: its answer for each name, and how often each was requested. */
const answers = new Map<string, { readonly status: number; readonly body: object }>();
const asked = new Map<string, number>();
let server: Server;
let service: TestService;

const failure = (status: number, name: string) => ({ status, body: { __type: name, Message: "no" } });

beforeAll(async () => {
  server = createServer((request, response) => {
    void (async () => {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk);
      const { SecretId } = JSON.parse(Buffer.concat(chunks).toString());
      const action = request.headers["x-amz-target"];
      asked.set(SecretId, (asked.get(SecretId) ?? 0) + 1);
      const known = answers.get(SecretId) ?? failure(400, "ResourceNotFoundException");
      const answer = action === "secretsmanager.GetSecretValue" ? known : failure(400, "UnknownOperation");
      response.writeHead(answer.status, { "Content-Type": "application/x-amz-json-1.1" });
      response.end(JSON.stringify(answer.body));
    })();
  });
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  process.env["AWS_ENDPOINT_URL_SECRETS_MANAGER"] = endpoint;
  service = await startTestService({ AWS_ENDPOINT_URL_SECRETS_MANAGER: endpoint });
}, 90_000);

afterAll(async () => {
  await service.stop();
  server.closeAllConnections();
  await new Promise((resolve) => void server.close(resolve));
});

test("a secret is read as its text", async () => {
  answers.set("a/text", { status: 200, body: { Name: "a/text", SecretString: "the text" } });
  expect(await readSecret("a/text")).toBe("the text");
});

test("a binary secret counts as missing", async () => {
  answers.set("a/bytes", { status: 200, body: { Name: "a/bytes", SecretBinary: "AAAA" } });
  expect(await readSecret("a/bytes")).toBeNull();
});

test.each([
  "ResourceNotFoundException",
  "AccessDeniedException",
  "DecryptionFailure",
  "InvalidParameterException",
  "InvalidRequestException",
])("%s: the secret counts as missing, and is not requested again", async (name) => {
  answers.set(name, failure(400, name));
  expect(await readSecret(name)).toBeNull();
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
  answers.set("a-master", { status: 200, body: { Name: "a-master", SecretString: "the text" } });
  expect(await masterSecret()).toEqual(new TextEncoder().encode("the text"));
});

test("a package whose secret is not a service account's key is STORE_REJECTED_CREDENTIAL", async () => {
  const name = "customer-entitlements/none";
  answers.set(name, { status: 200, body: { Name: name, SecretString: '{"type":"something else"}' } });
  const app = await service.application({ androidCredential: { secret: name } });
  const answer = await app.linkAndroid(app.buyOnAndroid(), "user-1");
  expect([answer.status, answer.body.error]).toEqual([503, "STORE_REJECTED_CREDENTIAL"]);
  expect(asked.get(name)).toBe(1);
});

test("a package whose secret cannot be read for now is STORE_UNAVAILABLE", async () => {
  const name = "customer-entitlements/later";
  answers.set(name, failure(500, "InternalServiceError"));
  const app = await service.application({ androidCredential: { secret: name } });
  const answer = await app.linkAndroid(app.buyOnAndroid(), "user-1");
  expect([answer.status, answer.body.error]).toEqual([503, "STORE_UNAVAILABLE"]);
});
