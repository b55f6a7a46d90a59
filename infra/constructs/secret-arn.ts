import { ArnFormat, type Stack } from "aws-cdk-lib";

/** ARN of the secret with this name in the stack's account: AWS appends a hyphen and six characters to each. */
export const secretArn = (stack: Stack, name: string): string =>
  stack.formatArn({
    service: "secretsmanager",
    resource: "secret",
    resourceName: `${name}-??????`,
    arnFormat: ArnFormat.COLON_RESOURCE_NAME,
  });
