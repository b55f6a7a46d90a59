import { execFile, execFileSync } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { pack } from "../../client/build.ts";

export const NAME = "customer-entitlements-client";

export const run = promisify(execFile);

/** Makes a backend's folder with the packed client, as it is installed, and Express. */
export const makeBackend = (): string => {
  const backend = mkdtempSync(join(tmpdir(), "backend-"));
  pack(backend);
  const installed = join(backend, "node_modules", NAME);
  mkdirSync(installed, { recursive: true });
  const tarball = readdirSync(backend).find((file) => file.endsWith(".tgz")) ?? "";
  const into = ["-C", installed, "--strip-components=1"];
  execFileSync("tar", ["-xzf", join(backend, tarball), ...into]);
  for (const name of ["express", "@types"])
    symlinkSync(resolve("node_modules", name), join(backend, "node_modules", name));
  writeFileSync(join(backend, "package.json"), JSON.stringify({ type: "module" }));
  return backend;
};

/** Compiles the examples of docs/integration.md in a backend's folder, into `out/`. */
export const compileExamples = async (backend: string): Promise<void> => {
  for (const file of ["express.ts", "next.ts"]) copyFileSync(`client/examples/${file}`, join(backend, file));
  writeFileSync(
    join(backend, "tsconfig.json"),
    JSON.stringify({
      compilerOptions: {
        target: "es2022",
        module: "nodenext",
        strict: true,
        exactOptionalPropertyTypes: true,
        types: ["node"],
        skipLibCheck: false,
        outDir: "out",
      },
      files: ["express.ts", "next.ts"],
    }),
  );
  await run(process.execPath, [resolve("node_modules/typescript/bin/tsc")], { cwd: backend });
};
