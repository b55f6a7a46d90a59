import { Stack } from "aws-cdk-lib";
import type { RetentionDays } from "aws-cdk-lib/aws-logs";
import { CfnIPSet, CfnWebACL, CfnWebACLAssociation } from "aws-cdk-lib/aws-wafv2";
import { Construct } from "constructs";
import { endpoints, type Endpoint } from "../../lib/contract/endpoints.ts";
import { ERRORS, type ErrorCode } from "../../lib/contract/errors.ts";
import { hasBlocks, type AddressBlocks } from "../address-blocks.ts";
import { FirewallLogs } from "./firewall-logs.ts";
import { contractBody } from "./gateway-responses.ts";
import { firewallMetric } from "./service-metrics.ts";

export interface AddressLimitProps {
  readonly serviceName: string;
  readonly apiId: string;
  readonly stageName: string;
  /** Requests per IP address in five minutes; null: any number. */
  readonly requests: number | null;
  /** Whether iOS-store notifications are refused unless Apple's addresses send them. */
  readonly iosNotificationsFromAppleOnly: boolean;
  /** Addresses whose requests are refused. */
  readonly blockedAddresses: AddressBlocks;
  /** Whether a line is logged for each request that is refused here. */
  readonly logs: boolean;
  readonly logRetentionDays: RetentionDays;
}

const WINDOW_SECONDS = 300;

/**
 * The addresses that the App Store notifies from, in production and in the sandbox.
 *
 * @see https://developer.apple.com/documentation/appstoreservernotifications/enabling-app-store-server-notifications
 */
const APPLES_ADDRESSES = ["17.0.0.0/8"];

type Statement = CfnWebACL.StatementProperty;

const sentTo = ({ path }: Endpoint): Statement => ({
  byteMatchStatement: {
    fieldToMatch: { uriPath: {} },
    // The API's stage precedes the path, and a slash may follow it.
    positionalConstraint: "CONTAINS",
    searchString: path,
    textTransformations: [{ priority: 0, type: "URL_DECODE" }],
  },
});

const all = (...statements: Statement[]): Statement => ({ andStatement: { statements } });
const any = (...statements: Statement[]): Statement => ({ orStatement: { statements } });

/** A WAF block with the contract's error body. */
const refusing = (
  code: ErrorCode,
  responseHeaders: readonly { readonly name: string; readonly value: string }[] = [],
): CfnWebACL.RuleActionProperty => ({
  block: {
    customResponse: {
      responseCode: ERRORS[code].status,
      customResponseBodyKey: bodyKeyOf(code),
      ...(responseHeaders.length > 0 && { responseHeaders: [...responseHeaders] }),
    },
  },
});

const tooMany = (): CfnWebACL.RuleActionProperty =>
  refusing("TOO_MANY_REQUESTS", [{ name: "Retry-After", value: String(WINDOW_SECONDS) }]);

const bodyKeyOf = (code: ErrorCode): string => code.toLowerCase().replaceAll("_", "-");

const bodiesOf = (...codes: readonly ErrorCode[]): Record<string, CfnWebACL.CustomResponseBodyProperty> =>
  Object.fromEntries(
    codes.map((code) => [bodyKeyOf(code), { contentType: "APPLICATION_JSON", content: contractBody(code) }]),
  );

/**
 * AWS WAF on the endpoints whose body is the only proof. It limits requests per IP address, except Apple's
 * notifications, many of which come from few addresses. Over the limit it answers with the contract's body until the
 * address's rate falls below it. If only Apple may notify, the route does not exist for others. Addresses blocked by
 * the operator get the limit's answer on every route.
 *
 * @see https://docs.aws.amazon.com/waf/latest/developerguide/waf-rule-statement-type-rate-based.html
 */
export class AddressLimit extends Construct {
  constructor(scope: Construct, id: string, props: AddressLimitProps) {
    super(scope, id);
    const metric = (name: string): CfnWebACL.VisibilityConfigProperty => ({
      cloudWatchMetricsEnabled: true,
      metricName: firewallMetric(props.serviceName, name),
      // Samples contain headers, and with them credentials.
      sampledRequestsEnabled: false,
    });
    const apple = new CfnIPSet(this, "ApplesAddresses", {
      name: `${props.serviceName}-apple`,
      description: "The App Store notifies from these",
      scope: "REGIONAL",
      ipAddressVersion: "IPV4",
      addresses: APPLES_ADDRESSES,
    });
    const notApple: Statement = {
      notStatement: { statement: { ipSetReferenceStatement: { arn: apple.attrArn } } },
    };
    const notifiedByOthers = all(sentTo(endpoints.receiveIosStoreNotification), notApple);

    const rule = (
      name: string,
      priority: number,
      action: CfnWebACL.RuleActionProperty,
      statement: Statement,
    ): CfnWebACL.RuleProperty => ({ name, priority, action, visibilityConfig: metric(name), statement });
    const limitOf = (requests: number): CfnWebACL.RuleProperty =>
      rule("synchronize-per-address", 1, tooMany(), {
        rateBasedStatement: {
          limit: requests,
          evaluationWindowSec: WINDOW_SECONDS,
          aggregateKeyType: "IP",
          scopeDownStatement: any(sentTo(endpoints.synchronizeIosStorePurchases), notifiedByOthers),
        },
      });
    const acl = new CfnWebACL(this, "Acl", {
      name: props.serviceName,
      description: "Limits requests without a credential per IP address",
      scope: "REGIONAL",
      defaultAction: { allow: {} },
      visibilityConfig: metric("requests"),
      customResponseBodies: bodiesOf("TOO_MANY_REQUESTS", "ROUTE_NOT_FOUND"),
      rules: [
        ...(hasBlocks(props.blockedAddresses)
          ? [rule("blocked-addresses", 0, tooMany(), this.#from(props))]
          : []),
        ...(props.requests === null ? [] : [limitOf(props.requests)]),
        ...(props.iosNotificationsFromAppleOnly
          ? [rule("ios-notifications-from-apple-only", 2, refusing("ROUTE_NOT_FOUND"), notifiedByOthers)]
          : []),
      ],
    });
    const { partition, region } = Stack.of(this);
    new CfnWebACLAssociation(this, "Association", {
      webAclArn: acl.attrArn,
      resourceArn: `arn:${partition}:apigateway:${region}::/restapis/${props.apiId}/stages/${props.stageName}`,
    });
    if (props.logs) new FirewallLogs(this, "BlockedRequests", { ...props, aclArn: acl.attrArn });
  }

  /** Requests from the blocked addresses. */
  #from({ serviceName, blockedAddresses: { ipv4, ipv6 } }: AddressLimitProps): Statement {
    const setOf = (version: "IPV4" | "IPV6", addresses: readonly string[]): Statement => {
      const set = new CfnIPSet(this, `Blocked${version}`, {
        name: `${serviceName}-blocked-${version.toLowerCase()}`,
        description: "Addresses that the operator has blocked",
        scope: "REGIONAL",
        ipAddressVersion: version,
        addresses: [...addresses],
      });
      return { ipSetReferenceStatement: { arn: set.attrArn } };
    };
    const sets = [
      ...(ipv4.length > 0 ? [setOf("IPV4", ipv4)] : []),
      ...(ipv6.length > 0 ? [setOf("IPV6", ipv6)] : []),
    ];
    const [only] = sets;
    return sets.length === 1 && only !== undefined ? only : any(...sets);
  }
}
