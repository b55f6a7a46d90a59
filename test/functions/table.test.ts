import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startTestService } from "../../testing/support/service.ts";

test("no function reads the AWS SDK's configuration files", async () => {
  const folder = mkdtempSync(join(tmpdir(), "aws-config-"));
  const file = join(folder, "config");
  // FIPS excludes the custom endpoint that the tests use, so a client that reads this file fails.
  writeFileSync(file, "[default]\nuse_fips_endpoint = true\n");
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

test("functions follow the AWS SDK's environment variables", async () => {
  const service = await startTestService({ AWS_USE_FIPS_ENDPOINT: "true" });
  try {
    expect((await (await service.application()).read("nobody")).status).toBe(500);
  } finally {
    await service.stop();
  }
}, 90_000);
