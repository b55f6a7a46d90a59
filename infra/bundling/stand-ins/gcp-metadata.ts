const unavailable = (): Promise<never> =>
  Promise.reject(new Error("There is no metadata server: this is not one of Google's machines."));

/**
 * Takes the place of `gcp-metadata`, with which Google's client asks the machine that it runs on for credentials. A
 * function runs on none of Google's, has its credentials from the store configuration, and should ask nobody else.
 */
export const isAvailable = (): Promise<boolean> => Promise.resolve(false);
export const getGCPResidency = (): boolean => false;
export { unavailable as instance, unavailable as project, unavailable as universe };
