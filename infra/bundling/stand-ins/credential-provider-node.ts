import { fromEnv } from "@aws-sdk/credential-provider-env";

/**
 * Takes the place of `@aws-sdk/credential-provider-node` in the functions' bundles: Lambda gives a function its role's
 * credentials as environment variables, and the other five ways to find some are a third of what the SDK loads.
 *
 * @see https://docs.aws.amazon.com/lambda/latest/dg/configuration-envvars.html
 */
export const defaultProvider = fromEnv;
