import { execFile, execFileSync } from "node:child_process";
import { copyFileSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { pack } from "../../client/build.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

export const NAME = "customer-entitlements-client";

export const run = promisify(execFile);

/** A backend's folder with the packed client, as it is installed, and Express, for the tests of the file. */
export const makeBackend = (): string => {
  const backend = temporaryFolder();
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
