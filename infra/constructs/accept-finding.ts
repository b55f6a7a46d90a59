import { Validations } from "aws-cdk-lib";
import type { IConstruct } from "constructs";

/** Acknowledges validation findings on a construct and its children. `reasons` maps a finding's id to the reason. */
export const acceptFinding = (construct: IConstruct, reasons: Readonly<Record<string, string>>): void => {
  for (const [id, reason] of Object.entries(reasons)) Validations.of(construct).acknowledge({ id, reason });
};
