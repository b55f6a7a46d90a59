import { randomUUID } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { createMovedClock, type MovedClock } from "../../local/clock/moved-clock.ts";
import { createGateway } from "../../local/gateway/gateway.ts";
import { startLocalService, type LocalServiceOptions } from "../../local/local-service.ts";
import { Assembly, readAssembly, synthesize } from "../../local/lambda/assembly.ts";
import { serve } from "../server.ts";
import { startRoleGate } from "./table/role-gate.ts";

/** Serves an assembly's REST API on a free port. */
export const serveGateway = async (
  assembly: Assembly,
  environment: Readonly<Record<string, string>> = {},
  clock: MovedClock = createMovedClock(),
) => {
  const log: string[] = [];
  const gateway = createGateway({
    assembly,
    region: "us-east-1",
    environment,
    clock,
    log: (line) => void log.push(line),
  });
  const { address, stop } = await serve(gateway.handle);
  return {
    address,
    /** Standard error of the functions, and the reasons of their failures. */
    log,
    stop: async () => {
      await stop();
      await gateway.stop();
    },
  };
};
export type TestGateway = Awaited<ReturnType<typeof serveGateway>>;

/** The service. */
export const SERVICE_APP = fileURLToPath(new URL("../../local/lambda/default-app.ts", import.meta.url));

const MADE_WITHIN_MILLISECONDS = 300_000;

/**
 * A folder that is made once in a test run: the first process that needs it makes it, the others wait. It is deleted when
 * the run ends.
 */
export const madeOnce = async (name: string, make: (folder: string) => Promise<unknown>): Promise<string> => {
  const folder = join(process.env["TEST_RUN_FOLDER"] ?? "", name);
  const ready = `${folder}.ready`;
  const failed = `${folder}.failed`;
  try {
    mkdirSync(folder);
  } catch {
    const deadline = performance.now() + MADE_WITHIN_MILLISECONDS;
    while (!existsSync(ready)) {
      if (existsSync(failed) || performance.now() > deadline)
        throw new Error(`${name} was not made; the test that made it says why.`);
      await sleep(100);
    }
    return folder;
  }
  try {
    await make(folder);
    writeFileSync(ready, "");
    return folder;
  } catch (error) {
    writeFileSync(failed, "");
    throw error;
  }
};

/** The folder of an application's assembly, synthesized once in a test run, by the application's module. */
export const assemblyFolder = async (app: string): Promise<string> =>
  madeOnce(app.replaceAll(/\W+/g, "-"), (folder) => synthesize({ folder, app }));

/** The assembly of an application, synthesized once in a test run. */
export const assemblyOf = async (app: string): Promise<Assembly> => readAssembly(await assemblyFolder(app));

/** The templates of an application with parameters, as `-c <name>=<value>` gives them; its code is not kept. */
export const synthesizeWith = async (
  app: string,
  parameters: Readonly<Record<string, string>>,
): Promise<Assembly> => {
  const folder = mkdtempSync(join(tmpdir(), "assembly-"));
  process.env["CDK_CONTEXT_JSON"] = JSON.stringify(parameters);
  try {
    return await synthesize({ folder, app });
  } finally {
    delete process.env["CDK_CONTEXT_JSON"];
    rmSync(folder, { recursive: true, force: true });
  }
};

/**
 * The whole service as `npm start` runs it, on free ports, with a table of its own in the tests' DynamoDB Local, and each
 * function held to its role.
 */
export const startWholeService = async (options: Partial<LocalServiceOptions> = {}) => {
  const log: string[] = [];
  const folder = await assemblyFolder(SERVICE_APP);
  const roles = await startRoleGate(readAssembly(folder), process.env["AWS_ENDPOINT_URL_DYNAMODB"] ?? "");
  const service = await startLocalService({
    port: 0,
    dynamoDb: { endpoint: roles.endpoint },
    dataFolder: null,
    tableName: `test-${randomUUID()}`,
    assemblyFolder: folder,
    log: (line) => void log.push(line),
    ...options,
  });
  return {
    ...service,
    /** Standard error of the functions, and the reasons of their failures. */
    log,
    /** Accesses of the functions to the table. */
    roles,
    stop: async (): Promise<void> => {
      await service.stop();
      await roles.stop();
      // No function tried what its role does not allow.
      expect(roles.denied).toEqual([]);
    },
  };
};
export type WholeService = Awaited<ReturnType<typeof startWholeService>>;

/** The assembly with other values in some properties: `{ [type]: properties }`. */
export const withProperties = (
  assembly: Assembly,
  changes: Readonly<Record<string, (properties: Record<string, unknown>) => Record<string, unknown>>>,
): Assembly => {
  const { Resources, ...rest } = assembly.document;
  const changed = Object.entries(Resources).map(([id, { Type, Properties }]) => [
    id,
    { Type, Properties: changes[Type]?.(Properties) ?? Properties },
  ]);
  return new Assembly({ ...rest, Resources: Object.fromEntries(changed) }, assembly.folder);
};
