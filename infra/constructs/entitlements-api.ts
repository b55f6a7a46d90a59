import { Duration, Fn, Size, Stack } from "aws-cdk-lib";
import {
  AuthorizationType,
  EndpointType,
  LambdaIntegration,
  RestApi,
  TokenAuthorizer,
} from "aws-cdk-lib/aws-apigateway";
import type { IFunction } from "aws-cdk-lib/aws-lambda";
import { Construct } from "constructs";
import { AUTHORIZATION_PATTERN } from "../../lib/applications/credential.ts";
import { endpoints, type Endpoint, type EndpointName } from "../../lib/contract/endpoints.ts";
import { addGatewayResponses } from "./gateway-responses.ts";

export interface EntitlementsApiProps {
  readonly authorizer: IFunction;
  readonly handlers: Readonly<Record<EndpointName, IFunction>>;
}

const STAGE = "live";
/** Smaller bodies gain nothing from compression. */
const COMPRESSED_FROM = Size.bytes(1024);
/** How long a revoked key still works. */
const CREDENTIAL_CACHED_FOR = Duration.seconds(60);

/** The contract's endpoints as a REST API, each in front of its function. */
export class EntitlementsApi extends Construct {
  /** The base address, without a slash at its end. */
  readonly address: string;

  constructor(scope: Construct, id: string, { authorizer, handlers }: EntitlementsApiProps) {
    super(scope, id);
    const api = new RestApi(this, "RestApi", {
      restApiName: Stack.of(this).stackName,
      description: "Customer entitlement linking",
      endpointConfiguration: { types: [EndpointType.REGIONAL] },
      minCompressionSize: COMPRESSED_FROM,
      cloudWatchRole: false,
      deployOptions: { stageName: STAGE },
    });
    // The stack has an output of its own.
    api.node.tryRemoveChild("Endpoint");
    api.latestDeployment?.addToLogicalId({ compressedFrom: COMPRESSED_FROM.toBytes() });
    addGatewayResponses(api);

    const tokenAuthorizer = new TokenAuthorizer(this, "Authorizer", {
      handler: authorizer,
      identitySource: "method.request.header.Authorization",
      // A header that cannot hold an API key is refused before any function runs.
      validationRegex: AUTHORIZATION_PATTERN,
      resultsCacheTtl: CREDENTIAL_CACHED_FOR,
    });
    for (const [name, endpoint] of Object.entries(endpoints) as [EndpointName, Endpoint][])
      api.root
        .resourceForPath(endpoint.path)
        .addMethod(
          endpoint.method,
          new LambdaIntegration(handlers[name], { allowTestInvoke: false }),
          endpoint.scope === null
            ? { authorizationType: AuthorizationType.NONE }
            : { authorizationType: AuthorizationType.CUSTOM, authorizer: tokenAuthorizer },
        );

    const { region, urlSuffix } = Stack.of(this);
    this.address = Fn.join("", ["https://", api.restApiId, `.execute-api.${region}.${urlSuffix}/${STAGE}`]);
  }
}
