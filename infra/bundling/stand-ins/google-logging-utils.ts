const silent = (): void => undefined;

/**
 * Replaces `google-logging-utils`. With `GOOGLE_SDK_NODE_LOGGING` set, it would log whole requests and responses, with the
 * purchase tokens and access tokens in them.
 *
 * @see https://github.com/googleapis/gax-nodejs/tree/main/logging-utils
 */
export const log = () => ({ debug: silent, info: silent, warn: silent, error: silent });
