import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { awsSettings } from "../../functions/aws-settings.ts";
import { startTestService } from "../support/service.ts";

const VARIABLES = [
  "AWS_ENDPOINT_URL",
  "AWS_ENDPOINT_URL_DYNAMODB",
  "AWS_USE_FIPS_ENDPOINT",
  "AWS_USE_DUALSTACK_ENDPOINT",
] as const;

const environment = { ...process.env };

beforeEach(() => {
  for (const name of VARIABLES) delete process.env[name];
});

afterAll(() => {
  for (const name of VARIABLES) {
    const value = environment[name];
    if (value === undefined) delete process.env[name];
    else process.env[name] = value;
  }
});

test("without variables the endpoint is the region's, and nothing is looked for", () => {
  expect(awsSettings("DYNAMODB")).toMatchObject({
    ignoreConfiguredEndpointUrls: true,
    useFipsEndpoint: false,
    useDualstackEndpoint: false,
  });
});

test("the service's own endpoint comes before the one of all", () => {
  process.env["AWS_ENDPOINT_URL"] = "https://all.example";
  expect(awsSettings("DYNAMODB")).toMatchObject({ endpoint: "https://all.example" });
  process.env["AWS_ENDPOINT_URL_DYNAMODB"] = "https://dynamodb.example";
  expect(awsSettings("DYNAMODB")).toMatchObject({ endpoint: "https://dynamodb.example" });
  expect(awsSettings("SECRETS_MANAGER")).toMatchObject({ endpoint: "https://all.example" });
});

test("endpoints of FIPS and of both stacks can be asked for", () => {
  process.env["AWS_USE_FIPS_ENDPOINT"] = "true";
  process.env["AWS_USE_DUALSTACK_ENDPOINT"] = "true";
  expect(awsSettings("DYNAMODB")).toMatchObject({ useFipsEndpoint: true, useDualstackEndpoint: true });
});

test("no function reads the AWS SDK's configuration files", async () => {
  const folder = mkdtempSync(join(tmpdir(), "aws-config-"));
  const file = join(folder, "config");
  // An endpoint of one's own, which the tests have, cannot be one of FIPS: a client that reads this refuses to send.
  writeFileSync(file, "[default]\nuse_fips_endpoint = true\n");
  process.env["AWS_ENDPOINT_URL_DYNAMODB"] = environment["AWS_ENDPOINT_URL_DYNAMODB"];
  const service = await startTestService({ AWS_CONFIG_FILE: file, AWS_SHARED_CREDENTIALS_FILE: file });
  try {
    const app = await service.application();
    expect((await app.read("nobody")).status).toBe(200);
    expect((await app.synchronize(app.device().request({}))).status).toBe(200);
    expect((await app.linkAndroid(app.buyOnAndroid(), "somebody")).status).toBe(200);
  } finally {
    await service.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}, 90_000);
