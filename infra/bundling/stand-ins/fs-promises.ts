/**
 * Takes the place of `node:fs/promises`, with which the AWS SDK looks for its configuration in `~/.aws`: no function has
 * any, and looking is 3 % of a first answer. What the SDK's variables say is followed.
 *
 * @see https://docs.aws.amazon.com/sdkref/latest/guide/file-location.html
 */
export const readFile = (): Promise<never> =>
  Promise.reject(Object.assign(new Error("No function has configuration files."), { code: "ENOENT" }));
