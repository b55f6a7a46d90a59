/** Nothing is due in these tests. */
export const handler = (): Promise<null> => Promise.resolve(null);
