const refused = (): never => {
  throw new Error("No function starts a program.");
};

/**
 * Replaces `node:child_process`. Google's client would start a program that a configuration names as the source of
 * credentials; no function may start one.
 */
export { refused as exec, refused as spawn };
