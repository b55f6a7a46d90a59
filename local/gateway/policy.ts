import * as z from "zod";

const oneOrMore = z.union([z.string().transform((value) => [value]), z.array(z.string())]);

const statement = z.strictObject({
  Sid: z.string().optional(),
  Effect: z.enum(["Allow", "Deny"]),
  Action: oneOrMore,
  Resource: oneOrMore,
});

/** An authorizer's policy. Conditions and negations are not supported. */
export const policyDocument = z.object({
  Version: z.string(),
  Statement: z.union([statement.transform((value) => [value]), z.array(statement)]),
});

const ACTION = "execute-api:Invoke";

/** `*` matches any characters, including slashes; `?` matches one. */
const matches = (pattern: string, value: string, flags = ""): boolean => {
  const expression = pattern
    .replaceAll(/[.+^${}()|[\]\\]/g, String.raw`\$&`)
    .replaceAll("*", ".*")
    .replaceAll("?", ".");
  return new RegExp(`^${expression}$`, `s${flags}`).test(value);
};

/**
 * Whether the policy allows a method: a statement allows it and none denies it.
 *
 * @see https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_evaluation-logic.html
 */
export const allows = ({ Statement }: z.infer<typeof policyDocument>, methodArn: string): boolean => {
  const effects = new Set(
    Statement.filter(
      ({ Action, Resource }) =>
        Action.some((pattern) => matches(pattern, ACTION, "i")) &&
        Resource.some((pattern) => matches(pattern, methodArn)),
    ).map(({ Effect }) => Effect),
  );
  return effects.has("Allow") && !effects.has("Deny");
};
