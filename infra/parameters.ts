import type { EndpointName } from "../lib/contract/endpoints.ts";
import { hasBlocks, type AddressBlocks } from "./address-blocks.ts";
import type { ScheduledFunctionName } from "./other-functions.ts";

export type FunctionName = "authorizeCredential" | EndpointName | ScheduledFunctionName;

/** Parameters of a deployment, from `-c <name>=<value>`, the context of `cdk.json`, or `stages.json`. */
export interface Parameters {
  /** Name of the stage, one of the independent copies in an account and region. Default: `production`. */
  readonly stage: string;
  /** Name of every named resource: `customer-entitlements`, with `-<stage>` appended unless that is `production`. */
  readonly serviceName: string;
  /** Version that is deployed, for a tag and an output. Default: the package's. */
  readonly version: string;
  readonly table: TableParameters;
  readonly functions: Readonly<Record<FunctionName, FunctionParameters>>;
  /**
   * Concurrent executions that this stage can count on: the account's limit, or a part of it; null (default): unknown,
   * and perhaps the ten of a new account.
   */
  readonly accountConcurrency: number | null;
  readonly api: ApiParameters;
  /** Name prefix of the secrets that functions may read. Default: the service's name and a slash. */
  readonly secretPrefix: string;
  /** Customer's key (AWS KMS) that encrypts those secrets; null (default): Secrets Manager's own. */
  readonly secretsKeyArn: string | null;
  /** Default: 30; development stage: 7. */
  readonly logRetentionDays: number;
  /** Percentage of requests that X-Ray traces. Default: 5; development stage: 100. */
  readonly tracedPercent: number;
  /** Whether Lambda logs a report of each invocation: time of initialization, duration, memory. Default: false. */
  readonly invocationReports: boolean;
  readonly alarms: AlarmParameters;
  /** Whether there is a dashboard. Default: true; development stage: false. */
  readonly dashboard: boolean;
  /** ARNs of the EventBridge buses that destinations may name. Default: none. */
  readonly eventBuses: readonly string[];
}

export interface TableParameters {
  /** Customer's key (AWS KMS) that encrypts the table; null (default): DynamoDB's own. */
  readonly keyArn: string | null;
  /** Table that the service uses: the stage's own (default), or a restored one. */
  readonly name: string;
  /** Removal policy of the table when its stack is deleted. Default: `retain`; development stage: `destroy`. */
  readonly removal: "retain" | "destroy";
  /** Protects the table from deletion and both stacks from termination. Default: true; development stage: false. */
  readonly deletionProtection: boolean;
  /** Default: true; development stage: false. */
  readonly pointInTimeRecovery: boolean;
  /**
   * Request units per second above which DynamoDB throttles, to cap the bill; null: the account's quota.
   * Default: 4,000; development stage: 200.
   */
  readonly maxReadCapacity: number | null;
  readonly maxWriteCapacity: number | null;
}

export interface FunctionParameters {
  /** In MB. Default: as the function's data says. */
  readonly memory: number;
  /** In seconds. Default: as the function's data says. */
  readonly timeout: number;
  /**
   * Concurrent executions reserved for this function, and its maximum; null: the account's shared pool. Default: null;
   * of a permanent stage with a known concurrency, a share for the authorizer and each endpoint that takes no API key.
   */
  readonly reservedConcurrency: number | null;
  /** Execution environments kept initialized; null (default): none. */
  readonly provisionedConcurrency: number | null;
}

export interface ApiParameters {
  /**
   * Default: each endpoint's own, but less for those that take no API key while the account's concurrency is unknown;
   * development stage: 10 requests per second and a burst of 20 per endpoint.
   */
  readonly throttling: Readonly<Record<EndpointName, Throttling>>;
  /**
   * Requests to all routes per IP address in five minutes, counted by AWS WAF, except Apple's notifications; null: not
   * counted. Default: 10,000; development stage: null.
   */
  readonly requestsPerAddress: number | null;
  /**
   * Requests without a credential per IP address in five minutes, counted by AWS WAF: synchronize, and notifications
   * that are not from Apple's addresses; null: not counted. Default: 1,000, or 300 while the account's concurrency is
   * unknown; development stage: null.
   */
  readonly synchronizesPerAddress: number | null;
  /** Addresses that neither limit counts: the backends'. Default: none. */
  readonly backendAddresses: AddressBlocks;
  /**
   * Whether AWS WAF refuses iOS-store notifications that are not from Apple's addresses. Default: true; development
   * stage: false.
   */
  readonly iosNotificationsFromAppleOnly: boolean;
  /** Addresses that AWS WAF refuses on every route. Default: none. */
  readonly blockedAddresses: AddressBlocks;
  /** Whether AWS WAF logs a line for each request that it refuses. Default: false. */
  readonly addressLimitLogs: boolean;
  /** Whether the access log has the caller's IP address. Default: false. */
  readonly accessLogAddresses: boolean;
  /** Custom domain. Default: null, API Gateway's own address. */
  readonly domain: DomainParameters | null;
  /** Whether the stack sets API Gateway's logging role, of which an account and region has one. Default: true. */
  readonly managesLogRole: boolean;
}

export interface Throttling {
  /** Requests per second. */
  readonly rate: number;
  /** Requests at once. */
  readonly burst: number;
}

export interface DomainParameters {
  readonly name: string;
  /** In AWS Certificate Manager, in the region of the API. */
  readonly certificateArn: string;
  /** Route 53 zone that gets an alias record; null: the record is created elsewhere. */
  readonly hostedZoneId: string | null;
}

export interface AlarmParameters {
  /** Whether there are alarms: in a development stage, only if somebody is to get them. */
  readonly isOn: boolean;
  /** Existing topic; null (default): one is created. */
  readonly topicArn: string | null;
  /** E-mail address subscribed to the created topic; null (default): none. */
  readonly email: string | null;
  /** US dollars that the account may cost in a month before the topic is notified; null (default): no budget. */
  readonly monthlyBudget: number | null;
}

/** Whether AWS WAF stands before the API. */
export const hasFirewall = ({
  requestsPerAddress,
  synchronizesPerAddress,
  iosNotificationsFromAppleOnly,
  blockedAddresses,
}: Pick<
  ApiParameters,
  "requestsPerAddress" | "synchronizesPerAddress" | "iosNotificationsFromAppleOnly" | "blockedAddresses"
>): boolean =>
  requestsPerAddress !== null ||
  synchronizesPerAddress !== null ||
  iosNotificationsFromAppleOnly ||
  hasBlocks(blockedAddresses);
