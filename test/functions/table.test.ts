import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { serviceForFile } from "../support/service-for-file.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const folder = temporaryFolder();

const { app } = serviceForFile(() => {
  const file = join(folder, "config");
  // FIPS excludes the custom endpoint that the tests use, so a client that reads this file fails.
  writeFileSync(file, "[default]\nuse_fips_endpoint = true\n");
  return { environment: { AWS_CONFIG_FILE: file, AWS_SHARED_CREDENTIALS_FILE: file } };
});
const { app: appByFips } = serviceForFile(() => ({ environment: { AWS_USE_FIPS_ENDPOINT: "true" } }));

test("no function reads the AWS SDK's configuration files", async () => {
  expect((await app.read("nobody")).status).toBe(200);
  expect((await app.synchronize(app.device().request({}))).status).toBe(200);
  expect((await app.linkAndroid(app.buyOnAndroid(), "somebody")).status).toBe(200);
});

test("functions follow the AWS SDK's environment variables", async () => {
  expect((await appByFips.read("nobody")).status).toBe(500);
});
