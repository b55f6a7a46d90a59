/**
 * Replaces `node-fetch`. Google's client is given Node's own `fetch` anyway, and the package with its dependencies is an
 * eighth of the Android functions' code.
 */
export default globalThis.fetch;
