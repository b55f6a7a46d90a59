/**
 * Replaces `@aws-sdk/endpoint-cache`, which caches the results of DynamoDB's endpoint discovery. Discovery is not used, so
 * it stores nothing.
 */
export class EndpointCache {
  readonly get = (): undefined => undefined;
  readonly getEndpoint = (): undefined => undefined;
  readonly set = (): void => undefined;
  readonly delete = (): void => undefined;
  readonly has = (): false => false;
  readonly clear = (): void => undefined;
}
