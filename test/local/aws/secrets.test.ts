import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  GetSecretValueCommand,
  ListSecretsCommand,
  SecretsManagerClient,
} from "@aws-sdk/client-secrets-manager";
import { createSecretsManager } from "../../../local/aws/secrets-manager.ts";
import { close, listen } from "../../../local/server.ts";
import { createTokenService } from "../../../local/aws/token-service.ts";

const parent = mkdtempSync(join(tmpdir(), "secrets-"));
const folder = join(parent, "folder");
let server: Server;
let address: string;
let client: SecretsManagerClient;

beforeAll(async () => {
  mkdirSync(join(folder, "trails"), { recursive: true });
  writeFileSync(join(folder, "trails", "play"), '{"type":"service_account"}\n');
  writeFileSync(join(parent, "outside"), "not a secret of the folder");
  symlinkSync(join(parent, "outside"), join(folder, "link"));
  const mounts = [createSecretsManager(folder, "us-east-1"), createTokenService()];
  server = createServer((request, response) => {
    void (async () => {
      for (const mount of mounts) if (await mount(request, response)) return;
      response.writeHead(404).end();
    })();
  });
  address = `http://127.0.0.1:${await listen(server, 0)}`;
  client = new SecretsManagerClient({
    endpoint: address,
    region: "us-east-1",
    credentials: { accessKeyId: "local", secretAccessKey: "local" },
  });
});

afterAll(async () => {
  client.destroy();
  await close(server);
  rmSync(parent, { recursive: true, force: true });
});

const secret = async (SecretId: string): Promise<string | undefined> =>
  (await client.send(new GetSecretValueCommand({ SecretId }))).SecretString;

describe("the local Secrets Manager", () => {
  test("reads a secret by its path in the folder, newly each time", async () => {
    expect(await secret("trails/play")).toBe('{"type":"service_account"}\n');
    writeFileSync(join(folder, "new"), "1");
    expect(await secret("new")).toBe("1");
    writeFileSync(join(folder, "new"), "2");
    expect(await secret("new")).toBe("2");
  });

  test.each([
    "unknown",
    "trails",
    "../outside",
    "trails/../../outside",
    "trails/../trails/play",
    "./trails/play",
    "/trails/play",
    join(parent, "outside"),
    "link",
    "..",
    "",
  ])("does not know %j", async (name) => {
    await expect(secret(name)).rejects.toMatchObject({
      name: "ResourceNotFoundException",
      $metadata: { httpStatusCode: 400 },
    });
  });

  test("refuses a request without a name, and other operations", async () => {
    const post = async (body: string) =>
      fetch(address, {
        method: "POST",
        headers: { "X-Amz-Target": "secretsmanager.GetSecretValue" },
        body,
      });
    for (const body of ["", "{}", '{"SecretId":1}', "x".repeat(70_000)])
      expect((await post(body)).status).toBe(400);
    await expect(client.send(new ListSecretsCommand({}))).rejects.toMatchObject({
      name: "UnknownOperationException",
    });
  });

  test("gives a file to the functions' access key alone, and the sandbox's secrets to all", async () => {
    const manager = createSecretsManager(
      folder,
      "us-east-1",
      (name) => (name === "sandbox" ? "of the sandbox" : undefined),
      (accessKey) => accessKey === "function",
    );
    const guarded = createServer((request, response) => void manager(request, response));
    const endpoint = `http://127.0.0.1:${await listen(guarded, 0)}`;
    const readBy = async (accessKeyId: string, SecretId: string): Promise<unknown> => {
      const credentials = { accessKeyId, secretAccessKey: "local" };
      const reader = new SecretsManagerClient({ endpoint, region: "us-east-1", credentials });
      return reader.send(new GetSecretValueCommand({ SecretId })).then(
        ({ SecretString }) => SecretString,
        (error: Error) => error.name,
      );
    };
    expect(await readBy("function", "trails/play")).toContain("service_account");
    expect(await readBy("somebody", "trails/play")).toBe("AccessDeniedException");
    expect(await readBy("somebody", "sandbox")).toBe("of the sandbox");
    const unsigned = await fetch(endpoint, {
      method: "POST",
      headers: { "X-Amz-Target": "secretsmanager.GetSecretValue" },
      body: JSON.stringify({ SecretId: "trails/play" }),
    });
    expect([unsigned.status, await unsigned.json()]).toMatchObject([
      400,
      { __type: "AccessDeniedException" },
    ]);
    await close(guarded);
  });

  test("without a folder knows none; a missing folder is refused", async () => {
    expect(() => createSecretsManager(null, "us-east-1")).not.toThrow();
    expect(() => createSecretsManager(join(parent, "outside"), "us-east-1")).toThrow("There is no folder");
  });
});

describe("the local Security Token Service", () => {
  const ask = async (body: string) =>
    fetch(address, {
      method: "POST",
      headers: { "Content-Type": "application/x-www-form-urlencoded" },
      body,
    });

  test("says that the caller is local", async () => {
    const response = await ask("Action=GetCallerIdentity&Version=2011-06-15");
    expect(response.status).toBe(200);
    expect(await response.text()).toContain("<Arn>arn:aws:iam::123456789012:user/local</Arn>");
  });

  test("answers nothing else", async () => {
    expect((await ask("Action=AssumeRole&Version=2011-06-15")).status).toBe(400);
    expect((await fetch(`${address}/v1`, { method: "POST" })).status).toBe(404);
  });
});
