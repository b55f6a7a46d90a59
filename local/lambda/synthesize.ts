import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { LocalError } from "../local-error.ts";
import { readAssembly, type Assembly } from "./assembly.ts";

const APP = fileURLToPath(new URL("default-app.ts", import.meta.url));

/**
 * Synthesizes a CDK application as the CDK CLI does, in a child process that does not outlive this one.
 *
 * @param options.folder output folder of the assembly
 * @param options.app the application's module; unset: the service, with the defaults
 * @throws LocalError with the reason, if it fails
 */
export const synthesize = async (options: {
  readonly folder: string;
  readonly app?: string;
  readonly signal?: AbortSignal;
}): Promise<Assembly> => {
  const running = promisify(execFile)(process.execPath, [options.app ?? APP], {
    // The CDK's validation takes seconds; `cdk synth` and the tests validate the same templates.
    env: { ...process.env, CDK_OUTDIR: options.folder, CDK_VALIDATION: "false" },
    ...(options.signal && { signal: options.signal }),
  });
  const kill = (): void => void running.child.kill();
  process.once("exit", kill);
  try {
    await running;
  } catch (error) {
    options.signal?.throwIfAborted();
    const reason = error instanceof Error && "stderr" in error ? String(error.stderr).trim() : String(error);
    throw new LocalError(`The stack could not be synthesized: ${reason}`, { cause: error });
  } finally {
    process.removeListener("exit", kill);
  }
  return readAssembly(options.folder);
};

/** Synthesizes the service into a folder that is removed with the resources, or when the process exits. */
export const synthesizeForRun = async (
  resources: AsyncDisposableStack,
  signal: AbortSignal,
): Promise<Assembly> => {
  const folder = mkdtempSync(join(tmpdir(), "entitlements-"));
  const remove = (): void => rmSync(folder, { recursive: true, force: true });
  process.once("exit", remove);
  resources.defer(() => {
    process.removeListener("exit", remove);
    remove();
  });
  return synthesize({ folder, signal });
};
