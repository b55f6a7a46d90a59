/**
 * Stands in for `node-fetch` in the functions' bundles: Node.js has a `fetch`, which the store's client is given anyway,
 * and the package with what it brings is an eighth of the Android functions' code.
 */
export default globalThis.fetch;
