const silent = (): void => undefined;

/**
 * Takes the place of `google-logging-utils` in the functions' bundles: given `GOOGLE_SDK_NODE_LOGGING` it would write whole
 * requests and responses into the log, and purchase tokens and access tokens are in them.
 *
 * @see https://github.com/googleapis/gax-nodejs/tree/main/logging-utils
 */
export const log = () => ({ debug: silent, info: silent, warn: silent, error: silent });
