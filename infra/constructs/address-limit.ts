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
  /** Requests per IP address in five minutes. */
  readonly requests: number;
}

const WINDOW_SECONDS = 300;
const BODY = "too-many-requests";

/**
 * Rate limit per IP address on synchronize, the only endpoint without a credential. AWS WAF answers requests over the
 * limit with the contract's body, until the address's rate falls below it.
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
      // Samples contain headers, and with them credentials.
      sampledRequestsEnabled: false,
    });
    const acl = new CfnWebACL(this, "Acl", {
      name: props.serviceName,
      description: "Limits synchronize requests per IP address",
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
                  // The API's stage precedes the path, and a slash may follow it.
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
