import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  GetSecretValueCommand,
  ListSecretsCommand,
  SecretsManagerClient,
} from "@aws-sdk/client-secrets-manager";
import { createSecretsManager, createTokenService } from "../../../local/aws.ts";
import { serve } from "../../../testing/server.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

const parent = temporaryFolder();
const folder = join(parent, "folder");
mkdirSync(join(folder, "trails"), { recursive: true });
writeFileSync(join(folder, "trails", "play"), '{"type":"service_account"}\n');
writeFileSync(join(parent, "outside"), "not a secret of the folder");
symlinkSync(join(parent, "outside"), join(folder, "link"));
const secrets = createSecretsManager(
  folder,
  "us-east-1",
  (name) => (name === "sandbox" ? "of the sandbox" : undefined),
  (accessKey) => accessKey === "function",
);
const mounts = [secrets, createTokenService()];
const { address, stop } = await serve(async (request, response) => {
  for (const mount of mounts) if (await mount(request, response)) return;
});
afterAll(stop);

/** What a client with this access key is answered: the secret's text, or the error's name. */
const sent = async (
  command: GetSecretValueCommand | ListSecretsCommand,
  accessKeyId = "function",
): Promise<unknown> => {
  const credentials = { accessKeyId, secretAccessKey: "local" };
  const client = new SecretsManagerClient({ endpoint: address, region: "us-east-1", credentials });
  const answered = client.send(command as GetSecretValueCommand);
  return answered.then(({ SecretString }) => SecretString, nameOf).finally(() => client.destroy());
};
const nameOf = (error: Error): string => error.name;
const secret = async (SecretId: string, accessKey?: string): Promise<unknown> =>
  sent(new GetSecretValueCommand({ SecretId }), accessKey);

test("a secret is read by its path, newly each time", async () => {
  expect(await secret("trails/play")).toBe('{"type":"service_account"}\n');
  for (const text of ["1", "2"]) {
    writeFileSync(join(folder, "new"), text);
    expect(await secret("new")).toBe(text);
  }
});

test.each(["unknown", "trails", "../outside", "trails/../trails/play", join(parent, "outside"), "link", ""])(
  "no secret is called %j",
  async (name) => {
    expect(await secret(name)).toBe("ResourceNotFoundException");
  },
);

test("a file is for the functions' key alone, sandbox secrets for all", async () => {
  expect(await secret("trails/play", "somebody")).toBe("AccessDeniedException");
  expect(await secret("sandbox", "somebody")).toBe("of the sandbox");
});

test.each(["", "{}", '{"SecretId":1}', "x".repeat(70_000), '{"SecretId":"trails/play"}'])(
  "a request without signature is refused: %.30s",
  async (body) => {
    const headers = { "X-Amz-Target": "secretsmanager.GetSecretValue" };
    expect((await fetch(address, { method: "POST", headers, body })).status).toBe(400);
  },
);

test("no other operation is known", async () => {
  expect(await sent(new ListSecretsCommand({}))).toBe("UnknownOperationException");
});

test("without a folder there is no secret; a missing folder is refused", () => {
  expect(() => createSecretsManager(null, "us-east-1")).not.toThrow();
  expect(() => createSecretsManager(join(parent, "outside"), "us-east-1")).toThrow("There is no folder");
});

test("the Security Token Service only says that the caller is local", async () => {
  const ask = async (Action: string): Promise<Response> =>
    fetch(address, { method: "POST", body: new URLSearchParams({ Action, Version: "2011-06-15" }) });
  expect(await (await ask("GetCallerIdentity")).text()).toContain(
    "<Arn>arn:aws:iam::123456789012:user/local</Arn>",
  );
  expect((await ask("AssumeRole")).status).toBe(400);
});
