import { Stack, Validations } from "aws-cdk-lib";
import { CfnFunction } from "aws-cdk-lib/aws-lambda";
import { CfnBucket } from "aws-cdk-lib/aws-s3";
import { AwsSolutionsChecks, ServerlessChecks } from "cdk-nag";
import * as z from "zod";
import { createApp } from "../../infra/app.ts";
import { standInOf } from "../local/functions/modules.ts";

/** Applications to synthesize: output folder, parameters, and whether to add a stack with faults. */
const checkedApps = z.array(
  z.object({ folder: z.string(), context: z.record(z.string(), z.string()), withFaults: z.boolean() }),
);

const addFaults = (stack: Stack): void => {
  // oxlint-disable-next-line no-new -- a construct joins its scope when it is created
  new CfnBucket(stack, "OpenBucket");
  // oxlint-disable-next-line no-new -- the same
  new CfnFunction(stack, "UntracedFunction", {
    role: "arn:aws:iam::123456789012:role/anything",
    runtime: "nodejs24.x",
    handler: "index.handler",
    memorySize: 64,
    code: { zipFile: "exports.handler = () => null" },
  });
};

// The service's stacks under cdk-nag, in addition to the schemas that the CDK checks for every template. Loading the CDK and
// the schemas takes most of the time, so one process synthesizes all applications.
for (const { folder, context, withFaults } of checkedApps.parse(JSON.parse(process.argv[2] ?? ""))) {
  process.env["CDK_CONTEXT_JSON"] = JSON.stringify(context);
  const app = createApp({ moduleOf: standInOf, outputFolder: folder });
  Validations.of(app).addPlugins(new AwsSolutionsChecks(app), new ServerlessChecks(app));
  if (withFaults) addFaults(new Stack(app, "Faults"));
  try {
    app.synth();
  } catch (error) {
    // The report in the folder says what was found.
    if (!withFaults) throw error;
  }
}
