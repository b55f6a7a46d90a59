/**
 * Takes the place of `@aws-sdk/endpoint-cache`, in which the SDK keeps the endpoints that DynamoDB would name if it were
 * asked for some, which nobody does. Keeps nothing.
 */
export class EndpointCache {
  readonly get = (): undefined => undefined;
  readonly getEndpoint = (): undefined => undefined;
  readonly set = (): void => undefined;
  readonly delete = (): void => undefined;
  readonly has = (): false => false;
  readonly clear = (): void => undefined;
}
