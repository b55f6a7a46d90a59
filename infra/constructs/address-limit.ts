import { Stack } from "aws-cdk-lib";
import { CfnWebACL, CfnWebACLAssociation } from "aws-cdk-lib/aws-wafv2";
import { Construct } from "constructs";
import { endpoints } from "../../lib/contract/endpoints.ts";
import { ERRORS } from "../../lib/contract/errors.ts";
import { contractBody } from "./gateway-responses.ts";

export interface AddressLimitProps {
  readonly serviceName: string;
  readonly apiId: string;
  readonly stageName: string;
  /** Requests that one address may send in five minutes. */
  readonly requests: number;
}

const WINDOW_SECONDS = 300;
const BODY = "too-many-requests";

/**
 * Holds each address to so many requests to synchronize, the one endpoint that takes no credential. What is over is
 * answered by AWS WAF with the contract's body, and counts no more once the address is quiet.
 *
 * @see https://docs.aws.amazon.com/waf/latest/developerguide/waf-rule-statement-type-rate-based.html
 */
export class AddressLimit extends Construct {
  constructor(scope: Construct, id: string, props: AddressLimitProps) {
    super(scope, id);
    const { status } = ERRORS.TOO_MANY_REQUESTS;
    const metric = (name: string): CfnWebACL.VisibilityConfigProperty => ({
      cloudWatchMetricsEnabled: true,
      metricName: `${props.serviceName}-${name}`,
      // A sample would show headers, and with them credentials.
      sampledRequestsEnabled: false,
    });
    const acl = new CfnWebACL(this, "Acl", {
      name: props.serviceName,
      description: "Limits what one address may synchronize",
      scope: "REGIONAL",
      defaultAction: { allow: {} },
      visibilityConfig: metric("requests"),
      customResponseBodies: {
        [BODY]: { contentType: "APPLICATION_JSON", content: contractBody("TOO_MANY_REQUESTS") },
      },
      rules: [
        {
          name: "synchronize-per-address",
          priority: 0,
          action: {
            block: {
              customResponse: {
                responseCode: status,
                customResponseBodyKey: BODY,
                responseHeaders: [{ name: "Retry-After", value: String(WINDOW_SECONDS) }],
              },
            },
          },
          visibilityConfig: metric("synchronize-per-address"),
          statement: {
            rateBasedStatement: {
              limit: props.requests,
              evaluationWindowSec: WINDOW_SECONDS,
              aggregateKeyType: "IP",
              scopeDownStatement: {
                byteMatchStatement: {
                  fieldToMatch: { uriPath: {} },
                  // Anywhere: the API's stage comes before it, and a slash may follow.
                  positionalConstraint: "CONTAINS",
                  searchString: endpoints.synchronizeIosStorePurchases.path,
                  textTransformations: [{ priority: 0, type: "URL_DECODE" }],
                },
              },
            },
          },
        },
      ],
    });
    const { partition, region } = Stack.of(this);
    new CfnWebACLAssociation(this, "Association", {
      webAclArn: acl.attrArn,
      resourceArn: `arn:${partition}:apigateway:${region}::/restapis/${props.apiId}/stages/${props.stageName}`,
    });
  }
}
