import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { FunctionPool } from "../../../local/lambda/pool.ts";

const codeFolder = mkdtempSync(join(tmpdir(), "function-"));
let pool: FunctionPool | undefined;
afterEach(() => pool?.stop());
afterAll(() => rmSync(codeFolder, { recursive: true, force: true }));

const sleeping = "Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2000);";
const poolOf = (module: string, code: string): FunctionPool => {
  writeFileSync(join(codeFolder, `${module}.cjs`), code);
  return (pool = new FunctionPool(
    {
      codeFolder,
      handler: `${module}.handler`,
      functionName: module,
      functionArn: "arn",
      memory: 128,
      timeout: 1_000,
      environment: {},
    },
    { log: () => undefined },
  ));
};

test("the start of an environment does not count towards the function's timeout", async () => {
  const slow = poolOf("slow", `${sleeping} exports.handler = async () => "done";`);
  expect(await slow.invoke({})).toEqual({ status: "succeeded", payload: "done" });
});
test("a function that times out is ended", async () => {
  const endless = poolOf("endless", "exports.handler = () => new Promise(() => setInterval(() => 0, 100));");
  expect(await endless.invoke({})).toMatchObject({ status: "failed", errorType: "Sandbox.Timedout" });
});
test("a module that cannot be loaded fails its first invocation", async () => {
  const broken = poolOf("broken", 'throw new TypeError("broken");');
  expect(await broken.invoke({})).toMatchObject({ status: "failed", errorType: "TypeError" });
});
