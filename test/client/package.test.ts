import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { compileExamples, makeBackend, NAME, run } from "./backend.ts";

const backend = makeBackend();
const installed = join(backend, "node_modules", NAME);

test("the package has its code, its types and no dependencies", () => {
  const manifest = JSON.parse(readFileSync(join(installed, "package.json"), "utf8"));
  expect(Object.keys(manifest).filter((key) => /dependencies/i.test(key))).toEqual([]);
  expect(readdirSync(installed).sort()).toEqual(["LICENSE", "README.md", "dist", "package.json"]);
  const files = readdirSync(join(installed, "dist"));
  expect(files).toEqual(expect.arrayContaining(["index.js", "index.d.ts", "contract.d.ts"]));
  const imported = files.flatMap((file) =>
    [...readFileSync(join(installed, "dist", file), "utf8").matchAll(/from "([^."][^"]*)"/g)].map(
      ([, name]) => name,
    ),
  );
  expect(new Set(imported)).toEqual(new Set(["node:crypto", "node:timers/promises"]));
});

test("it can be required and imported", async () => {
  for (const code of [`require("${NAME}")`, `await import("${NAME}")`]) {
    const print = `process.stdout.write(typeof (${code}).verifyMessage)`;
    const type = code.startsWith("require") ? "commonjs" : "module";
    const { stdout } = await run(process.execPath, [`--input-type=${type}`, "-e", print], { cwd: backend });
    expect(stdout).toBe("function");
  }
});

test("the examples of docs/integration.md compile against it", async () => {
  await compileExamples(backend);
  expect(readdirSync(join(backend, "out")).sort()).toEqual(["express.js", "next.js"]);
});
