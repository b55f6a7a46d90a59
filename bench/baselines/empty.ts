/** A function that does nothing. */
export const handler = (): Promise<unknown> => Promise.resolve({ statusCode: 200, body: "{}" });
