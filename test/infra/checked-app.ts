import { Stack, Validations } from "aws-cdk-lib";
import { CfnFunction } from "aws-cdk-lib/aws-lambda";
import { CfnBucket } from "aws-cdk-lib/aws-s3";
import { AwsSolutionsChecks, ServerlessChecks } from "cdk-nag";
import { createApp } from "../../infra/app.ts";
import { standInOf } from "../local/functions/modules.ts";

// The service's stacks under cdk-nag, in addition to the schemas that the CDK checks for every template.
const app = createApp({ moduleOf: standInOf });
Validations.of(app).addPlugins(new AwsSolutionsChecks(app), new ServerlessChecks(app));

if (process.env["WITH_FAULTS"] !== undefined) {
  const faults = new Stack(app, "Faults");
  // oxlint-disable-next-line no-new -- a construct joins its scope when it is created
  new CfnBucket(faults, "OpenBucket");
  // oxlint-disable-next-line no-new -- the same
  new CfnFunction(faults, "UntracedFunction", {
    role: "arn:aws:iam::123456789012:role/anything",
    runtime: "nodejs24.x",
    handler: "index.handler",
    memorySize: 64,
    code: { zipFile: "exports.handler = () => null" },
  });
}

app.synth();
