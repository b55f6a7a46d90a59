/**
 * Replaces `node:http2`. Google's client loads it at start, but uses it only when configured to, which it is not.
 */
export const constants = {};

export const connect = (): never => {
  throw new Error("HTTP/2 is not used.");
};
