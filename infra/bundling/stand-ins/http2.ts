/**
 * Takes the place of `node:http2` in the functions' bundles: the store's client loads it at its start, and uses it only
 * where it is told to, which it is not.
 */
export const constants = {};

export const connect = (): never => {
  throw new Error("HTTP/2 is not used.");
};
