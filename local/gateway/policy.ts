import * as z from "zod";

const statement = z.strictObject({
  Effect: z.enum(["Allow", "Deny"]),
  Action: z.literal("execute-api:Invoke"),
  Resource: z.union([z.string().transform((value) => [value]), z.array(z.string())]),
});

/** An authorizer's policy, as far as the service's authorizer makes it. */
export const policyDocument = z.object({ Statement: z.array(statement) });

/** `*` matches any characters, including slashes. */
const matches = (pattern: string, value: string): boolean => {
  const escaped = pattern.replaceAll(/[.?+^${}()|[\]\\]/g, String.raw`\$&`);
  return new RegExp(`^${escaped.replaceAll("*", ".*")}$`, "s").test(value);
};

/**
 * Whether the policy allows a method: a statement allows it and none denies it.
 *
 * @see https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_evaluation-logic.html
 */
export const allows = ({ Statement }: z.infer<typeof policyDocument>, methodArn: string): boolean => {
  const effects = new Set(
    Statement.filter(({ Resource }) => Resource.some((pattern) => matches(pattern, methodArn))).map(
      ({ Effect }) => Effect,
    ),
  );
  return effects.has("Allow") && !effects.has("Deny");
};
