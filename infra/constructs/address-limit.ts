import { Fn, RemovalPolicy, Stack } from "aws-cdk-lib";
import { LogGroup } from "aws-cdk-lib/aws-logs";
import { CfnIPSet, CfnLoggingConfiguration, CfnWebACL, CfnWebACLAssociation } from "aws-cdk-lib/aws-wafv2";
import { Construct } from "constructs";
import { endpoints, type Endpoint } from "../../lib/contract/endpoints.ts";
import { errorBody, ERRORS, ServiceError, type ErrorCode } from "../../lib/contract/errors.ts";
import type { Parameters } from "../read-parameters.ts";
import { firewallMetric, PER_ADDRESS } from "../watch/service-metrics.ts";

interface AddressLimitProps extends Parameters {
  readonly apiId: string;
  readonly stageName: string;
}

type Version = "IPV4" | "IPV6";

const WINDOW_SECONDS = 300;

/**
 * The addresses that the App Store notifies from, in production and in the sandbox.
 *
 * @see https://developer.apple.com/documentation/appstoreservernotifications/enabling-app-store-server-notifications
 */
const APPLES_ADDRESSES = ["17.0.0.0/8"];

/** Headers that may hold a credential. */
const SECRET_HEADERS = ["authorization", "cookie"];

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

type Action = CfnWebACL.RuleActionProperty;

const bodyKeyOf = (code: ErrorCode): string => code.toLowerCase().replaceAll("_", "-");

/** A WAF block with the contract's error body. */
const refusing = (code: ErrorCode, responseHeaders?: { name: string; value: string }[]): Action => ({
  block: {
    customResponse: {
      responseCode: ERRORS[code].status,
      customResponseBodyKey: bodyKeyOf(code),
      ...(responseHeaders && { responseHeaders }),
    },
  },
});

const TOO_MANY = refusing("TOO_MANY_REQUESTS", [{ name: "Retry-After", value: String(WINDOW_SECONDS) }]);

const bodiesOf = (...codes: readonly ErrorCode[]): Record<string, CfnWebACL.CustomResponseBodyProperty> =>
  Object.fromEntries(
    codes.map((code) => {
      const content = JSON.stringify(errorBody(new ServiceError(code)));
      return [bodyKeyOf(code), { contentType: "APPLICATION_JSON", content }];
    }),
  );

interface Rule {
  readonly name: string;
  readonly action: Action;
  readonly statement: Statement;
}

const limited = (name: string, limit: number | null, counted: Statement): Rule | null =>
  limit === null
    ? null
    : {
        name,
        action: TOO_MANY,
        statement: {
          rateBasedStatement: {
            limit,
            evaluationWindowSec: WINDOW_SECONDS,
            aggregateKeyType: "IP",
            scopeDownStatement: counted,
          },
        },
      };

/**
 * AWS WAF before the API. It limits requests per IP address: to all routes, since anybody can run the authorizer, and
 * more strictly to those that take no credential. It counts neither backends nor Apple's notifications, many of which
 * come from few addresses. If only Apple may notify, the route does not exist for others.
 *
 * @see https://docs.aws.amazon.com/waf/latest/developerguide/waf-rule-statement-type-rate-based.html
 */
export class AddressLimit extends Construct {
  readonly #props: AddressLimitProps;

  constructor(scope: Construct, id: string, props: AddressLimitProps) {
    super(scope, id);
    this.#props = props;
    const metric = (name: string): CfnWebACL.VisibilityConfigProperty => ({
      cloudWatchMetricsEnabled: true,
      metricName: firewallMetric(props.serviceName, name),
      // Samples contain headers, and with them credentials.
      sampledRequestsEnabled: false,
    });
    const acl = new CfnWebACL(this, "Acl", {
      name: props.serviceName,
      description: "Limits requests per IP address",
      scope: "REGIONAL",
      defaultAction: { allow: {} },
      visibilityConfig: metric("requests"),
      customResponseBodies: bodiesOf("TOO_MANY_REQUESTS", "ROUTE_NOT_FOUND"),
      rules: this.#rules().flatMap((rule, priority) =>
        rule === null
          ? []
          : [
              {
                ...rule,
                priority,
                visibilityConfig: metric(rule.statement.rateBasedStatement ? PER_ADDRESS : rule.name),
              },
            ],
      ),
    });
    const { partition, region } = Stack.of(this);
    new CfnWebACLAssociation(this, "Association", {
      webAclArn: acl.attrArn,
      resourceArn: `arn:${partition}:apigateway:${region}::/restapis/${props.apiId}/stages/${props.stageName}`,
    });
    if (props.addressLimitLogs) this.#logBlocked(acl.attrArn);
  }

  /** By priority; null: the stage does without. */
  #rules(): readonly (Rule | null)[] {
    const { backendAddresses, blockedAddresses } = this.#props;
    const fromApple = this.#setOf("ApplesAddresses", "apple", "The App Store notifies from these", "IPV4", [
      ...APPLES_ADDRESSES,
    ]);
    const backend = this.#from("Backend", "Addresses of backends", backendAddresses);
    const blocked = this.#from("Blocked", "Addresses that the operator has blocked", blockedAddresses);
    const notified = sentTo(endpoints.receiveIosStoreNotification);
    const notifiedByOthers = all(notified, not(fromApple));
    const withoutCredential = any(
      sentTo(endpoints.synchronizeIosStorePurchases),
      sentTo(endpoints.receiveAndroidStoreNotification),
      notifiedByOthers,
    );
    const counting = (counted: Statement): Statement =>
      backend === null ? counted : all(counted, not(backend));
    return [
      blocked === null ? null : { name: "blocked-addresses", action: TOO_MANY, statement: blocked },
      limited("synchronize-per-address", this.#props.synchronizesPerAddress, counting(withoutCredential)),
      this.#props.iosNotificationsFromAppleOnly
        ? {
            name: "ios-notifications-from-apple-only",
            action: refusing("ROUTE_NOT_FOUND"),
            statement: notifiedByOthers,
          }
        : null,
      limited(
        "requests-per-address",
        this.#props.requestsPerAddress,
        counting(not(all(notified, fromApple))),
      ),
    ];
  }

  /** Requests from a set of addresses. */
  #setOf(id: string, name: string, description: string, version: Version, blocks: string[]): Statement {
    const { attrArn: arn } = new CfnIPSet(this, id, {
      name: `${this.#props.serviceName}-${name}`,
      description,
      scope: "REGIONAL",
      ipAddressVersion: version,
      addresses: blocks,
    });
    return { ipSetReferenceStatement: { arn } };
  }

  /** Requests from these addresses; null: there are none. */
  #from(name: string, description: string, blocks: readonly string[]): Statement | null {
    const sets = (["IPV4", "IPV6"] as const).flatMap((version) => {
      const ofVersion = blocks.filter((block) => block.includes(":") === (version === "IPV6"));
      const setName = `${name}-${version}`.toLowerCase();
      return ofVersion.length === 0
        ? []
        : [this.#setOf(name + version, setName, description, version, ofVersion)];
    });
    return sets.length < 2 ? (sets[0] ?? null) : any(...sets);
  }

  /**
   * Logs the address and headers of each blocked request, without credentials, path and query, which contain accounts.
   *
   * @see https://docs.aws.amazon.com/waf/latest/developerguide/logging-cw-logs.html
   */
  #logBlocked(aclArn: string): void {
    const scope = new Construct(this, "BlockedRequests");
    const group = new LogGroup(scope, "Logs", {
      // AWS WAF accepts no other name.
      logGroupName: `aws-waf-logs-${this.#props.serviceName}`,
      retention: this.#props.logRetentionDays,
      removalPolicy: RemovalPolicy.DESTROY,
    });
    const logging = new CfnLoggingConfiguration(scope, "Logging", {
      resourceArn: aclArn,
      // Without the `:*` that a group's ARN ends with.
      logDestinationConfigs: [Fn.select(0, Fn.split(":*", group.logGroupArn))],
      redactedFields: [
        { uriPath: {} },
        { queryString: {} },
        ...SECRET_HEADERS.map((name) => ({ singleHeader: { Name: name } })),
      ],
      loggingFilter: {
        DefaultBehavior: "DROP",
        Filters: [
          {
            Behavior: "KEEP",
            Requirement: "MEETS_ANY",
            Conditions: [{ ActionCondition: { Action: "BLOCK" } }],
          },
        ],
      },
    });
    logging.node.addDependency(group);
  }
}
