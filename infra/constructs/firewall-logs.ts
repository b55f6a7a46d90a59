import { Fn, RemovalPolicy } from "aws-cdk-lib";
import { LogGroup, type RetentionDays } from "aws-cdk-lib/aws-logs";
import { CfnLoggingConfiguration } from "aws-cdk-lib/aws-wafv2";
import { Construct } from "constructs";

export interface FirewallLogsProps {
  readonly serviceName: string;
  readonly aclArn: string;
  readonly logRetentionDays: RetentionDays;
}

/** Headers that may hold a credential. */
const SECRET_HEADERS = ["authorization", "cookie"];

/**
 * A line for each request that the firewall blocks: its address and headers, without credentials, path and query, which
 * contain accounts.
 *
 * @see https://docs.aws.amazon.com/waf/latest/developerguide/logging-cw-logs.html
 */
export class FirewallLogs extends Construct {
  constructor(scope: Construct, id: string, { serviceName, aclArn, logRetentionDays }: FirewallLogsProps) {
    super(scope, id);
    const group = new LogGroup(this, "Logs", {
      // AWS WAF accepts no other name.
      logGroupName: `aws-waf-logs-${serviceName}`,
      retention: logRetentionDays,
      removalPolicy: RemovalPolicy.DESTROY,
    });
    const logging = new CfnLoggingConfiguration(this, "Logging", {
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
