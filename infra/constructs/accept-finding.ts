import { Validations } from "aws-cdk-lib";
import type { IConstruct } from "constructs";

/** Says why a rule of the checks does not hold for a construct and what is in it: reasons by the rule's finding. */
export const acceptFinding = (construct: IConstruct, reasons: Readonly<Record<string, string>>): void => {
  for (const [id, reason] of Object.entries(reasons)) Validations.of(construct).acknowledge({ id, reason });
};
