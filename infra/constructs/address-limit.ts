import { Stack } from "aws-cdk-lib";
import type { RetentionDays } from "aws-cdk-lib/aws-logs";
import { CfnIPSet, CfnWebACL, CfnWebACLAssociation } from "aws-cdk-lib/aws-wafv2";
import { Construct } from "constructs";
import { endpoints, type Endpoint } from "../../lib/contract/endpoints.ts";
import { ERRORS, type ErrorCode } from "../../lib/contract/errors.ts";
import { hasBlocks, type AddressBlocks } from "../address-blocks.ts";
import type { Parameters } from "../parameters.ts";
import { FirewallLogs } from "./firewall-logs.ts";
import { contractBody } from "./gateway-responses.ts";
import { firewallMetric, PER_ADDRESS } from "../watch/service-metrics.ts";

export interface AddressLimitProps extends Pick<
  Parameters,
  | "requestsPerAddress"
  | "synchronizesPerAddress"
  | "backendAddresses"
  | "iosNotificationsFromAppleOnly"
  | "blockedAddresses"
  | "addressLimitLogs"
> {
  readonly serviceName: string;
  readonly apiId: string;
  readonly stageName: string;
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
    textTransformations: [
      { priority: 0, type: "URL_DECODE" },
      { priority: 1, type: "NORMALIZE_PATH" },
    ],
  },
});

const all = (...statements: Statement[]): Statement => ({ andStatement: { statements } });
const any = (...statements: Statement[]): Statement => ({ orStatement: { statements } });
const not = (statement: Statement): Statement => ({ notStatement: { statement } });

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
 * AWS WAF before the API. It limits requests per IP address: to all routes, since anybody can run the authorizer, and
 * less to those that take no credential. It counts neither backends nor Apple's notifications, many of which come from
 * few addresses. Over a limit it answers with the contract's body until the address's rate falls below it. If only Apple
 * may notify, the route does not exist for others. Addresses blocked by the operator get the limits' answer.
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
    const fromApple: Statement = { ipSetReferenceStatement: { arn: apple.attrArn } };
    const notified = sentTo(endpoints.receiveIosStoreNotification);
    const notifiedByOthers = all(notified, not(fromApple));
    const withoutCredential = any(
      sentTo(endpoints.synchronizeIosStorePurchases),
      sentTo(endpoints.receiveAndroidStoreNotification),
      notifiedByOthers,
    );
    const fromOthers = hasBlocks(props.backendAddresses)
      ? [not(this.#from("Backend", "Addresses of backends", props.serviceName, props.backendAddresses))]
      : [];

    const rule = (
      name: string,
      priority: number,
      action: CfnWebACL.RuleActionProperty,
      statement: Statement,
    ): CfnWebACL.RuleProperty => ({ name, priority, action, visibilityConfig: metric(name), statement });
    const limit = (
      name: string,
      priority: number,
      requests: number | null,
      counted: Statement,
    ): CfnWebACL.RuleProperty[] =>
      requests === null
        ? []
        : [
            {
              ...rule(name, priority, tooMany(), {
                rateBasedStatement: {
                  limit: requests,
                  evaluationWindowSec: WINDOW_SECONDS,
                  aggregateKeyType: "IP",
                  scopeDownStatement: fromOthers.length === 0 ? counted : all(counted, ...fromOthers),
                },
              }),
              visibilityConfig: metric(PER_ADDRESS),
            },
          ];
    const acl = new CfnWebACL(this, "Acl", {
      name: props.serviceName,
      description: "Limits requests per IP address",
      scope: "REGIONAL",
      defaultAction: { allow: {} },
      visibilityConfig: metric("requests"),
      customResponseBodies: bodiesOf("TOO_MANY_REQUESTS", "ROUTE_NOT_FOUND"),
      rules: [
        ...(hasBlocks(props.blockedAddresses)
          ? [
              rule(
                "blocked-addresses",
                0,
                tooMany(),
                this.#from(
                  "Blocked",
                  "Addresses that the operator has blocked",
                  props.serviceName,
                  props.blockedAddresses,
                ),
              ),
            ]
          : []),
        ...limit("synchronize-per-address", 1, props.synchronizesPerAddress, withoutCredential),
        ...(props.iosNotificationsFromAppleOnly
          ? [rule("ios-notifications-from-apple-only", 2, refusing("ROUTE_NOT_FOUND"), notifiedByOthers)]
          : []),
        ...limit("requests-per-address", 3, props.requestsPerAddress, not(all(notified, fromApple))),
      ],
    });
    const { partition, region } = Stack.of(this);
    new CfnWebACLAssociation(this, "Association", {
      webAclArn: acl.attrArn,
      resourceArn: `arn:${partition}:apigateway:${region}::/restapis/${props.apiId}/stages/${props.stageName}`,
    });
    if (props.addressLimitLogs) new FirewallLogs(this, "BlockedRequests", { ...props, aclArn: acl.attrArn });
  }

  /** Requests from these addresses. */
  #from(name: string, description: string, serviceName: string, { ipv4, ipv6 }: AddressBlocks): Statement {
    const setOf = (version: "IPV4" | "IPV6", addresses: readonly string[]): Statement => {
      const set = new CfnIPSet(this, `${name}${version}`, {
        name: `${serviceName}-${name.toLowerCase()}-${version.toLowerCase()}`,
        description,
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
