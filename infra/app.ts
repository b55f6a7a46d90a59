import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { App } from "aws-cdk-lib";
import * as z from "zod";
import { DataStack } from "./stacks/data-stack.ts";
import { ParameterError, readParameters, readStages, stageOf } from "./parameters.ts";
import { ServiceStack } from "./stacks/service-stack.ts";

const PROJECT = new URL("../", import.meta.url);

const cdkJson = z.object({ context: z.record(z.string(), z.json()) });

/** What `cdk.json` decides, so that a stack made without the CDK's command line is the same stack. */
const cdkContext = (): z.infer<typeof cdkJson>["context"] =>
  cdkJson.parse(JSON.parse(readFileSync(new URL("cdk.json", PROJECT), "utf8"))).context;

const context = z.record(z.string(), z.unknown());

export interface AppOptions {
  /** Where the assembly is written; unset: where the CDK's command line says. */
  readonly outputFolder?: string;
  /** Where the functions' folders are; unset: the service's own. */
  readonly functionsFolder?: string;
  /** What is kept for each stage; unset: nothing. */
  readonly stages?: ReturnType<typeof readStages>;
}

/**
 * The CDK application: the data and the service on it, for whatever account and region they are deployed to.
 *
 * @throws ParameterError
 */
export const createApp = ({
  outputFolder,
  functionsFolder = fileURLToPath(new URL("functions", PROJECT)),
  stages = {},
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
    functionsFolder,
  });
  service.addStackDependency(data, "It works on the table.");
  return app;
};

/** The operator's own file, which no version of the service brings or takes away. */
const keptStages = (): ReturnType<typeof readStages> => {
  const file = new URL("stages.json", PROJECT);
  return existsSync(file) ? readStages(readFileSync(file, "utf8")) : {};
};

if (import.meta.main) {
  try {
    const stages = keptStages();
    const app = createApp({ stages });
    // Without the file, or with a name in it that is written wrong, a deployment would silently take the defaults.
    const stage = stageOf(context.parse(app.node.getAllContext()));
    if (!Object.hasOwn(stages, stage))
      process.stderr.write(`stages.json keeps nothing for the stage ${stage}: it has its defaults.\n`);
    app.synth();
  } catch (error) {
    if (!(error instanceof ParameterError)) throw error;
    process.stderr.write(`${error.message}\n`);
    process.exitCode = 1;
  }
}
