import { execFile } from "node:child_process";
import { promisify } from "node:util";

test("the kit works in Node's own test runner", async () => {
  const { NODE_OPTIONS: _, ...env } = process.env;
  const { stdout } = await promisify(execFile)(process.execPath, ["test/testing/node-runner.ts"], { env });
  expect(stdout).toMatch(/pass 1\n/);
});
