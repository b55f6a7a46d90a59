/**
 * Name of a service's master secret. The service's name is also its table's. Not under the prefix of the stores'
 * secrets, which more functions may read.
 */
export const masterSecretName = (serviceName: string): string => `${serviceName}-master`;
