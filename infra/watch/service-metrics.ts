import { Aws, Duration } from "aws-cdk-lib";
import { MathExpression, Metric, Stats } from "aws-cdk-lib/aws-cloudwatch";
import { DIMENSIONS, METRICS } from "../../lib/contract/metrics.ts";
import { TABLE } from "../../lib/table/keys.ts";

export type MetricName = Exclude<keyof typeof METRICS, "namespace">;
type DimensionName = Exclude<keyof typeof DIMENSIONS, "service">;
type Dimensions = Readonly<Partial<Record<DimensionName, string>>>;

/** Name in CloudWatch of the firewall rules that limit an address: AWS WAF adds up rules of one name. */
export const PER_ADDRESS = "per-address";

/** Name in CloudWatch of a firewall rule; `requests` for the whole firewall. */
export const firewallMetric = (serviceName: string, rule: string): string => `${serviceName}-${rule}`;

export const PERIOD = Duration.minutes(5);

const OPERATIONS = [
  "BatchGetItem",
  "DeleteItem",
  "GetItem",
  "PutItem",
  "Query",
  "TransactGetItems",
  "TransactWriteItems",
  "UpdateItem",
] as const;

/** CloudWatch metrics of the service and of its AWS resources. Counts are sums over five minutes. */
export class ServiceMetrics {
  readonly #sources;

  constructor(sources: {
    readonly serviceName: string;
    readonly stageName: string;
    readonly tableName: string;
    /** Deployed names, by the function's. */
    readonly functionNames: Readonly<Record<string, string>>;
  }) {
    this.#sources = sources;
  }

  own(name: MetricName, dimensions: Dimensions = {}, statistic: string = Stats.SUM): Metric {
    return this.#metric(METRICS.namespace, METRICS[name], statistic, {
      [DIMENSIONS.service]: this.#sources.serviceName,
      ...Object.fromEntries(
        (Object.keys(dimensions) as DimensionName[]).map((name) => [DIMENSIONS[name], dimensions[name]]),
      ),
    });
  }

  /** One series for each combination of dimension values with data. */
  ownByAll(name: MetricName, dimensions: readonly DimensionName[]): MathExpression {
    const schema = [DIMENSIONS.service, ...dimensions.map((dimension) => DIMENSIONS[dimension])];
    return new MathExpression({
      expression: `SEARCH('{${METRICS.namespace},${schema.join(",")}} MetricName="${METRICS[name]}" service="${this.#sources.serviceName}"', 'Sum', ${PERIOD.toSeconds()})`,
      usingMetrics: {},
      label: "",
      period: PERIOD,
    });
  }

  api(name: "Count" | "4XXError" | "5XXError" | "Latency", statistic: string = Stats.SUM): Metric {
    const { serviceName: ApiName, stageName: Stage } = this.#sources;
    return this.#metric("AWS/ApiGateway", name, statistic, { ApiName, Stage });
  }

  ofFunction(folder: string, name: string, statistic: string = Stats.SUM): Metric {
    const functionName = this.#sources.functionNames[folder];
    if (functionName === undefined) throw new Error(`There is no function ${folder}.`);
    return this.#metric("AWS/Lambda", name, statistic, { FunctionName: functionName });
  }

  ofFunctions(name: string, statistic: string = Stats.SUM): Metric[] {
    return Object.keys(this.#sources.functionNames).map((folder) =>
      this.ofFunction(folder, name, statistic).with({ label: folder }),
    );
  }

  table(name: string): Metric {
    return this.#metric("AWS/DynamoDB", name, Stats.SUM, { TableName: this.#sources.tableName });
  }

  /** Requests that DynamoDB throttled, on the table and its index. */
  tableThrottles(): Metric[] {
    const { tableName } = this.#sources;
    const index = { TableName: tableName, GlobalSecondaryIndexName: TABLE.ownerIndex };
    return [
      this.table("ReadThrottleEvents"),
      this.table("WriteThrottleEvents"),
      this.#metric("AWS/DynamoDB", "WriteThrottleEvents", Stats.SUM, index),
    ];
  }

  /** Requests that DynamoDB answered with a server error. */
  tableErrors(): Metric[] {
    return OPERATIONS.map((Operation) =>
      this.#metric("AWS/DynamoDB", "SystemErrors", Stats.SUM, {
        TableName: this.#sources.tableName,
        Operation,
      }),
    );
  }

  /** Requests that the limits per address refused. */
  blockedAddresses(): Metric {
    const { serviceName } = this.#sources;
    return this.#metric("AWS/WAFV2", "BlockedRequests", Stats.SUM, {
      WebACL: firewallMetric(serviceName, "requests"),
      Rule: firewallMetric(serviceName, PER_ADDRESS),
      Region: Aws.REGION,
    });
  }

  #metric(
    namespace: string,
    metricName: string,
    statistic: string,
    dimensionsMap: Record<string, string>,
  ): Metric {
    return new Metric({ namespace, metricName, statistic, dimensionsMap, period: PERIOD });
  }
}

/** Sum of metrics, of which one without data is 0. The label prefixes metric ids: one word, unique in its graph. */
export const sumOf = (label: string, metrics: readonly Metric[], period: Duration = PERIOD): MathExpression =>
  new MathExpression({
    label,
    expression: metrics.map((_, index) => `FILL(${label}${index}, 0)`).join(" + "),
    usingMetrics: Object.fromEntries(metrics.map((metric, index) => [`${label}${index}`, metric])),
    period,
  });
