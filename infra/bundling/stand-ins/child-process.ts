const refused = (): never => {
  throw new Error("No function starts a program.");
};

/**
 * Takes the place of `node:child_process`, with which Google's client would ask a program for credentials where a
 * configuration names one. None may.
 */
export { refused as exec, refused as spawn };
