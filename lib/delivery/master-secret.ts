/** Not under the prefix of the stores' secrets, which more functions may read. A service's name is its table's. */
export const masterSecretName = (serviceName: string): string => `${serviceName}-master`;
