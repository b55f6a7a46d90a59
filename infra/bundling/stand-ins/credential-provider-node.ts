import { fromEnv } from "@aws-sdk/credential-provider-env";

/**
 * Replaces `@aws-sdk/credential-provider-node`. Lambda passes the role's credentials in environment variables; the SDK's
 * other five credential sources are a third of what it loads.
 *
 * @see https://docs.aws.amazon.com/lambda/latest/dg/configuration-envvars.html
 */
export const defaultProvider = fromEnv;
