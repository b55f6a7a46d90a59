import { Duration, Fn, RemovalPolicy, Size, Stack } from "aws-cdk-lib";
import {
  AccessLogField,
  AccessLogFormat,
  AuthorizationType,
  CfnRestApi,
  DomainName,
  EndpointType,
  LambdaIntegration,
  LogGroupLogDestination,
  ResponseType,
  RestApi,
  SecurityPolicy,
  TokenAuthorizer,
  type Method,
  type MethodDeploymentOptions,
} from "aws-cdk-lib/aws-apigateway";
import { Certificate } from "aws-cdk-lib/aws-certificatemanager";
import type { IFunction } from "aws-cdk-lib/aws-lambda";
import { LogGroup } from "aws-cdk-lib/aws-logs";
import { CfnRecordSet } from "aws-cdk-lib/aws-route53";
import { CfnSamplingRule } from "aws-cdk-lib/aws-xray";
import { Construct } from "constructs";
import { AUTHORIZATION_PATTERN, POLICY_CACHED_SECONDS } from "../../lib/applications/credential.ts";
import { endpoints, type Endpoint, type EndpointName } from "../../lib/contract/endpoints.ts";
import { errorBody, ERRORS, ServiceError, type ErrorCode } from "../../lib/contract/errors.ts";
import type { Parameters } from "../read-parameters.ts";
import { acceptFinding } from "./accept-finding.ts";
import { AddressLimit } from "./address-limit.ts";

interface GatewayError {
  readonly code: ErrorCode;
  /** Unset: the code's own; null: API Gateway's default for the type. */
  readonly status?: number | null;
  /** A text is in single quotes. */
  readonly headers?: Record<string, string>;
  /** Unset: the code's own. It may name `$context` variables of plain words. */
  readonly message?: string;
}

/** The throttle's bucket fills by the rate every second; five let a crowd spread. */
const RETRY_SOON = { "Retry-After": "'5'" };

/**
 * Errors that API Gateway answers itself, by response type. `DEFAULT_4XX` and `DEFAULT_5XX` catch the types not listed; a
 * status of theirs would replace those of all that they catch. The signature types occur on unknown routes alone, where
 * API Gateway takes the Authorization header for a signature.
 *
 * @see https://docs.aws.amazon.com/apigateway/latest/developerguide/supported-gateway-response-types.html
 */
const GATEWAY_RESPONSES: Readonly<Record<string, GatewayError>> = {
  UNAUTHORIZED: { code: "INVALID_CREDENTIAL", headers: { "WWW-Authenticate": "'Bearer'" } },
  ACCESS_DENIED: {
    code: "INSUFFICIENT_SCOPE",
    message:
      "The API key does not have the scope that this endpoint requires. The key has: $context.authorizer.scopes.",
  },
  MISSING_AUTHENTICATION_TOKEN: { code: "ROUTE_NOT_FOUND" },
  RESOURCE_NOT_FOUND: { code: "ROUTE_NOT_FOUND" },
  INVALID_SIGNATURE: { code: "ROUTE_NOT_FOUND" },
  EXPIRED_TOKEN: { code: "ROUTE_NOT_FOUND" },
  INVALID_API_KEY: { code: "ROUTE_NOT_FOUND" },
  BAD_REQUEST_BODY: { code: "INVALID_REQUEST" },
  BAD_REQUEST_PARAMETERS: { code: "INVALID_REQUEST" },
  REQUEST_TOO_LARGE: { code: "REQUEST_TOO_LARGE" },
  UNSUPPORTED_MEDIA_TYPE: { code: "UNSUPPORTED_MEDIA_TYPE" },
  THROTTLED: { code: "TOO_MANY_REQUESTS", headers: RETRY_SOON },
  QUOTA_EXCEEDED: { code: "TOO_MANY_REQUESTS", headers: RETRY_SOON },
  AUTHORIZER_FAILURE: { code: "INTERNAL_ERROR" },
  AUTHORIZER_CONFIGURATION_ERROR: { code: "INTERNAL_ERROR" },
  API_CONFIGURATION_ERROR: { code: "INTERNAL_ERROR" },
  INTEGRATION_FAILURE: { code: "INTERNAL_ERROR" },
  INTEGRATION_TIMEOUT: { code: "INTERNAL_ERROR", status: 504 },
  DEFAULT_4XX: { code: "INVALID_REQUEST", status: null },
  DEFAULT_5XX: { code: "INTERNAL_ERROR", status: null },
};

/** Gives every error that API Gateway answers itself the contract's body. */
const addGatewayResponses = (api: RestApi): void => {
  for (const [type, response] of Object.entries(GATEWAY_RESPONSES)) {
    const { code, status = ERRORS[code].status, headers, ...shown } = response;
    api.addGatewayResponse(type, {
      type: ResponseType.of(type),
      ...(status !== null && { statusCode: String(status) }),
      ...(headers && { responseHeaders: headers }),
      templates: { "application/json": JSON.stringify(errorBody(new ServiceError(code, shown))) },
    });
  }
};

interface EntitlementsApiProps extends Parameters {
  readonly authorizer: IFunction;
  readonly handlers: Readonly<Record<EndpointName, IFunction>>;
}

const STAGE = "live";
const COMPRESSED_FROM = Size.bytes(1024);

/**
 * One line per request, including those that reach no function: with the route but not the path, which contains the
 * account, and with the IP address, which is personal data, only where a parameter asks for it.
 */
const accessLog = (withAddress: boolean): AccessLogFormat =>
  AccessLogFormat.custom(
    JSON.stringify({
      requestId: AccessLogField.contextRequestId(),
      // Amazon's support asks for it.
      extendedRequestId: AccessLogField.contextExtendedRequestId(),
      ...(withAddress && { address: AccessLogField.contextIdentitySourceIp() }),
      time: AccessLogField.contextRequestTime(),
      method: AccessLogField.contextHttpMethod(),
      route: AccessLogField.contextResourcePath(),
      status: AccessLogField.contextStatus(),
      milliseconds: AccessLogField.contextResponseLatency(),
      integrationStatus: AccessLogField.contextIntegrationStatus(),
      integrationMilliseconds: AccessLogField.contextIntegrationLatency(),
      bytes: AccessLogField.contextResponseLength(),
      gatewayError: AccessLogField.contextErrorResponseType(),
      application: AccessLogField.contextAuthorizer("applicationIdentifier"),
      keyIdentifier: AccessLogField.contextAuthorizer("keyIdentifier"),
      trace: AccessLogField.contextXrayTraceId(),
    }),
  );

const allEndpoints = Object.entries(endpoints) as [EndpointName, Endpoint][];

/** Custom domain of the API, with an alias record if its hosted zone is given. Returns the record's target. */
const addDomain = (
  scope: Construct,
  api: RestApi,
  { name, certificateArn, hostedZoneId }: NonNullable<Parameters["domain"]>,
): string => {
  const domain = new DomainName(scope, "Domain", {
    domainName: name,
    certificate: Certificate.fromCertificateArn(scope, "Certificate", certificateArn),
    endpointType: EndpointType.REGIONAL,
    securityPolicy: SecurityPolicy.TLS_1_2,
  });
  domain.addBasePathMapping(api, { stage: api.deploymentStage });
  const { domainNameAliasDomainName: dnsName, domainNameAliasHostedZoneId } = domain;
  if (hostedZoneId !== null)
    new CfnRecordSet(scope, "Alias", {
      name,
      type: "A",
      hostedZoneId,
      aliasTarget: { dnsName, hostedZoneId: domainNameAliasHostedZoneId },
    });
  return dnsName;
};

const explain = (method: Method, { scope, readsAuthorization }: Endpoint): void =>
  acceptFinding(method, {
    "AwsSolutions-COG4": "Backends call it with API keys, which the service's own authorizer checks.",
    ...(scope === null && {
      "AwsSolutions-APIG4":
        readsAuthorization === true
          ? "The function verifies the push token itself: which one it expects depends on the body's package."
          : "No credential: the store's signatures in the body are the proof.",
    }),
  });

/** The contract's endpoints as a REST API. */
export class EntitlementsApi extends Construct {
  /** Base URL without a trailing slash. */
  readonly address: string;
  /** Target of the custom domain's DNS record; null: there is none. */
  readonly domainTarget: string | null;
  readonly stageName = STAGE;
  readonly accessLogs: LogGroup;

  constructor(scope: Construct, id: string, props: EntitlementsApiProps) {
    super(scope, id);
    const { domain } = props;
    this.accessLogs = new LogGroup(this, "AccessLogs", {
      retention: props.logRetentionDays,
      removalPolicy: RemovalPolicy.DESTROY,
    });
    const api = this.#newApi(props);
    this.#addRoutes(api, props);
    this.#addSampling(props);
    if (props.hasFirewall)
      new AddressLimit(this, "AddressLimit", {
        ...props,
        apiId: api.restApiId,
        stageName: api.deploymentStage.stageName,
      });
    this.domainTarget = domain === null ? null : addDomain(new Construct(this, "OwnDomain"), api, domain);
    const { region, urlSuffix } = Stack.of(this);
    this.address =
      domain === null
        ? Fn.join("", ["https://", api.restApiId, `.execute-api.${region}.${urlSuffix}/${STAGE}`])
        : `https://${domain.name}`;
  }

  #newApi(props: EntitlementsApiProps): RestApi {
    const { serviceName, throttling, domain } = props;
    const api = new RestApi(this, "RestApi", {
      restApiName: serviceName,
      description: "Customer entitlement linking",
      endpointConfiguration: { types: [EndpointType.REGIONAL] },
      minCompressionSize: COMPRESSED_FROM,
      disableExecuteApiEndpoint: domain !== null,
      cloudWatchRole: props.managesLogRole,
      // Other APIs of the account and region use the same role for their logs.
      ...(props.managesLogRole && { cloudWatchRoleRemovalPolicy: RemovalPolicy.RETAIN }),
      deployOptions: {
        stageName: STAGE,
        // A trace holds the requested URL, and so the account of a read: API Gateway cannot leave it out.
        tracingEnabled: true,
        accessLogDestination: new LogGroupLogDestination(this.accessLogs),
        accessLogFormat: accessLog(props.accessLogAddresses),
        // Default for a route without its own limit.
        throttlingRateLimit: 10,
        throttlingBurstLimit: 20,
        methodOptions: Object.fromEntries(
          allEndpoints.map(([name, { path, method }]): [string, MethodDeploymentOptions] => [
            `${path}/${method}`,
            { throttlingRateLimit: throttling[name].rate, throttlingBurstLimit: throttling[name].burst },
          ]),
        ),
      },
    });
    // The CDK's construct has no such properties yet. A custom domain has its own policy, and closes this address.
    const { defaultChild } = api.node;
    if (domain === null && defaultChild instanceof CfnRestApi) {
      defaultChild.securityPolicy = SecurityPolicy.TLS13_1_2_PQ_2025_09;
      defaultChild.endpointAccessMode = "BASIC";
    }
    // The stack defines its own output.
    api.node.tryRemoveChild("Endpoint");
    api.latestDeployment?.addToLogicalId({
      compressedFrom: COMPRESSED_FROM.toBytes(),
      ownDomain: domain !== null,
    });
    return api;
  }

  #addRoutes(api: RestApi, { authorizer, handlers, hasFirewall }: EntitlementsApiProps): void {
    addGatewayResponses(api);
    acceptFinding(api, {
      "AwsSolutions-APIG2":
        "The functions validate: API Gateway's validator cannot return the list of issues that the contract promises.",
      "AwsSolutions-APIG6":
        "Execution logs contain paths with account identifiers; the access log has every request.",
      "AwsSolutions-IAM4[Policy::arn:<AWS::Partition>:iam::aws:policy/service-role/AmazonAPIGatewayPushToCloudWatchLogs]":
        "API Gateway requires this policy on its logging role, of which an account and region has one.",
      ...(!hasFirewall && {
        "AwsSolutions-APIG3": "This stage does without AWS WAF, which is billed by the month.",
      }),
    });
    const tokenAuthorizer = new TokenAuthorizer(this, "Authorizer", {
      handler: authorizer,
      identitySource: "method.request.header.Authorization",
      // Rejects a header that cannot be an API key before any function runs.
      validationRegex: AUTHORIZATION_PATTERN,
      resultsCacheTtl: Duration.seconds(POLICY_CACHED_SECONDS),
    });
    for (const [name, endpoint] of allEndpoints)
      explain(
        api.root
          .resourceForPath(endpoint.path)
          .addMethod(
            endpoint.method,
            new LambdaIntegration(handlers[name], { allowTestInvoke: false }),
            endpoint.scope === null
              ? { authorizationType: AuthorizationType.NONE }
              : { authorizationType: AuthorizationType.CUSTOM, authorizer: tokenAuthorizer },
          ),
        endpoint,
      );
  }

  /** X-Ray's default rule traces the first request of every second besides its share: on a small service, all of them. */
  #addSampling({ serviceName, stage, tracedPercent }: EntitlementsApiProps): void {
    new CfnSamplingRule(this, "Sampling", {
      samplingRule: {
        ruleName: `entitlements-${stage}`,
        version: 1,
        priority: 100,
        reservoirSize: 0,
        fixedRate: tracedPercent / 100,
        serviceName: `${serviceName}/${STAGE}`,
        serviceType: "AWS::ApiGateway::Stage",
        httpMethod: "*",
        urlPath: "*",
        host: "*",
        resourceArn: "*",
      },
    });
  }
}
