const unavailable = (): Promise<never> =>
  Promise.reject(new Error("There is no metadata server: this is not one of Google's machines."));

/**
 * Replaces `gcp-metadata`, with which Google's client asks the metadata server of a Google machine for credentials. A
 * function does not run on one, and its only credentials are those of the store configuration.
 */
export const isAvailable = (): Promise<boolean> => Promise.resolve(false);
export const getGCPResidency = (): boolean => false;
export { unavailable as instance, unavailable as project, unavailable as universe };
