import { Duration } from "aws-cdk-lib";
import { Rule, Schedule as EventSchedule } from "aws-cdk-lib/aws-events";
import { LambdaFunction } from "aws-cdk-lib/aws-events-targets";
import { Construct } from "constructs";
import { acceptFinding } from "./accept-finding.ts";
import type { ServiceFunction } from "./service-function.ts";

export interface ScheduleProps {
  readonly of: ServiceFunction;
  readonly every: Duration;
}

/** Invokes a function at a fixed rate. */
export class Schedule extends Construct {
  constructor(scope: Construct, id: string, { of, every }: ScheduleProps) {
    super(scope, id);
    const rule = new Rule(this, "Rule", {
      description: `Every ${every.toMinutes()} minutes`,
      schedule: EventSchedule.rate(every),
      // No retries: the next invocation does what this one leaves undone.
      targets: [new LambdaFunction(of.handler, { retryAttempts: 0, maxEventAge: Duration.minutes(1) })],
    });
    acceptFinding(rule, {
      "Serverless-EventBusDLQ": "The next invocation does what this one leaves undone.",
    });
  }
}
