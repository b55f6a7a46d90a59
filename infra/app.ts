import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { App } from "aws-cdk-lib";
import * as z from "zod";
import type { ModuleOf } from "./bundling/bundled-code.ts";
import { ParameterError, readParameters, readStages } from "./read-parameters.ts";
import { DataStack } from "./stacks/data-stack.ts";
import { ServiceStack } from "./stacks/service-stack.ts";

const PROJECT = new URL("../", import.meta.url);

const cdkJson = z.object({ context: z.record(z.string(), z.json()) });

/** Context of `cdk.json`, without which the stacks would differ; only the CDK CLI loads it by itself. */
const cdkContext = (): z.infer<typeof cdkJson>["context"] =>
  cdkJson.parse(JSON.parse(readFileSync(new URL("cdk.json", PROJECT), "utf8"))).context;

const context = z.record(z.string(), z.unknown());

interface AppOptions {
  /** Folder of the assembly; unset: the one that the CDK CLI sets. */
  readonly outputFolder?: string;
  /** Unset: those in `functions/`. */
  readonly moduleOf?: ModuleOf;
  /** Parameters of each stage, as in `stages.json`; null or unset: there is no such file. */
  readonly stages?: ReturnType<typeof readStages> | null;
}

/**
 * The CDK application: the data stack and the service stack, independent of account and region.
 *
 * @throws ParameterError for invalid and unknown parameters
 */
export const createApp = ({
  outputFolder,
  moduleOf = (entry) => fileURLToPath(new URL(`functions/${entry}`, PROJECT)),
  stages = null,
}: AppOptions = {}): App => {
  const app = new App({
    analyticsReporting: false,
    context: cdkContext(),
    ...(outputFolder !== undefined && { outdir: outputFolder }),
  });
  const parameters = readParameters(context.parse(app.node.getAllContext()), stages);
  const { serviceName } = parameters;
  const data = new DataStack(app, `${serviceName}-data`, {
    description: "The table of customers, purchases and entitlements. Kept when the service goes.",
    parameters,
  });
  const service = new ServiceStack(app, `${serviceName}-service`, {
    description:
      "Links verified store purchases to an application's accounts and answers their entitlements.",
    parameters,
    moduleOf,
    // On every resource. The data stack has none, because a version would change it each time.
    tags: {
      "customer-entitlements:stage": parameters.stage,
      "customer-entitlements:version": parameters.version,
    },
  });
  service.addStackDependency(data, "The service uses the table.");
  return app;
};

if (import.meta.main) {
  try {
    // The operator's own file: no version of the service ships or changes it.
    const file = new URL("stages.json", PROJECT);
    createApp({ stages: existsSync(file) ? readStages(readFileSync(file, "utf8")) : null }).synth();
  } catch (error) {
    if (!(error instanceof ParameterError)) throw error;
    process.stderr.write(`${error.message}\n`);
    process.exitCode = 1;
  }
}
