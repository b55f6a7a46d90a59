/**
 * Name of the master secret of the service with this name, which is also its table's. Not below the prefix of the stores'
 * secrets, which more functions may read.
 */
export const masterSecretName = (serviceName: string): string => `${serviceName}-master`;
