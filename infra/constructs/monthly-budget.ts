import { Stack } from "aws-cdk-lib";
import { CfnBudget } from "aws-cdk-lib/aws-budgets";
import { PolicyStatement, ServicePrincipal } from "aws-cdk-lib/aws-iam";
import type { ITopic } from "aws-cdk-lib/aws-sns";
import { Construct } from "constructs";

export interface MonthlyBudgetProps {
  readonly serviceName: string;
  /** US dollars a month. */
  readonly dollars: number;
  readonly topic: ITopic;
}

const notify = (
  notificationType: "ACTUAL" | "FORECASTED",
  threshold: number,
  topic: ITopic,
): CfnBudget.NotificationWithSubscribersProperty => ({
  notification: {
    notificationType,
    comparisonOperator: "GREATER_THAN",
    threshold,
    thresholdType: "PERCENTAGE",
  },
  subscribers: [{ subscriptionType: "SNS", address: topic.topicArn }],
});

/**
 * Monthly budget of the whole account: AWS separates the costs of stacks only by tags that the payer has activated. It
 * notifies and stops nothing.
 */
export class MonthlyBudget extends Construct {
  constructor(scope: Construct, id: string, { serviceName, dollars, topic }: MonthlyBudgetProps) {
    super(scope, id);
    const { account, partition, region } = Stack.of(this);
    // No effect on a topic that this stack does not create: its owner must allow the same.
    const { policyDependable } = topic.addToResourcePolicy(
      new PolicyStatement({
        sid: "BudgetsOfThisAccount",
        principals: [new ServicePrincipal("budgets.amazonaws.com")],
        actions: ["sns:Publish"],
        resources: [topic.topicArn],
        conditions: {
          StringEquals: { "aws:SourceAccount": account },
          ArnLike: { "aws:SourceArn": `arn:${partition}:budgets::${account}:*` },
        },
      }),
    );
    const budget = new CfnBudget(this, "Budget", {
      budget: {
        // An account has one list of budgets for all regions, and a stage may be in two while it moves.
        budgetName: `${serviceName}-${region}`,
        budgetType: "COST",
        timeUnit: "MONTHLY",
        budgetLimit: { amount: dollars, unit: "USD" },
      },
      notificationsWithSubscribers: [
        notify("ACTUAL", 80, topic),
        notify("ACTUAL", 100, topic),
        notify("FORECASTED", 100, topic),
      ],
    });
    if (policyDependable !== undefined) budget.node.addDependency(policyDependable);
  }
}
