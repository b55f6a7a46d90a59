/**
 * Replaces `node:fs/promises`, with which the AWS SDK reads its configuration from `~/.aws`. A function has none, and the
 * lookup takes 3 % of a first answer. The SDK's environment variables still apply.
 *
 * @see https://docs.aws.amazon.com/sdkref/latest/guide/file-location.html
 */
export const readFile = (): Promise<never> =>
  Promise.reject(Object.assign(new Error("No function has configuration files."), { code: "ENOENT" }));
