/**
 * List prices of us-east-1 in dollars, as they stood in November 2026, without free tiers or discounts.
 *
 * @see https://aws.amazon.com/api-gateway/pricing/
 * @see https://aws.amazon.com/lambda/pricing/
 * @see https://aws.amazon.com/dynamodb/pricing/on-demand/
 * @see https://aws.amazon.com/cloudwatch/pricing/
 * @see https://aws.amazon.com/xray/pricing/
 * @see https://aws.amazon.com/waf/pricing/
 */
export const PRICES = {
  /** REST API, per request. */
  apiRequest: 3.5e-6,
  /** Lambda, per invocation and per GB-second on arm64. */
  invocation: 0.2e-6,
  gigabyteSecond: 0.000_013_333_4,
  /** DynamoDB on demand, standard table class. */
  readUnit: 0.125e-6,
  writeUnit: 0.625e-6,
  tableGigabyteMonth: 0.25,
  recoveryGigabyteMonth: 0.2,
  /** CloudWatch Logs, ingestion per GB. */
  logGigabyte: 0.5,
  metricMonth: 0.3,
  trace: 5e-6,
  /** Transfer to the internet, per GB. */
  transferredGigabyte: 0.09,
  /** A web ACL and three rules. */
  wafMonth: 8,
  /** Price of one request to the stage, whichever its route. */
  wafRequest: 0.6e-6,
} as const;
