import { readFileSync } from "node:fs";
import * as z from "zod";
import type { EndpointName } from "../lib/contract/endpoints.ts";
import {
  functionParameters,
  openRequestsPerAddress,
  routeParameters,
  type FunctionName,
  type FunctionValues,
  type Throttling,
} from "./function-parameters.ts";
import {
  addressBlocks,
  always,
  byStage,
  computed,
  eventBuses,
  flag,
  key,
  oneOf,
  optional,
  orNone,
  stageName,
  text,
  units,
  whole,
  type Parameter,
  type ValuesOf,
} from "./parameter.ts";

const packageFile = z.object({ version: z.string() });
const packageVersion = (): string =>
  packageFile.parse(JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8"))).version;

/** Retention periods that CloudWatch Logs accepts, in days. */
const RETENTIONS = [1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 3653];

const perAddress = orNone(whole(10, 2_000_000_000));

export const DEFAULT_STAGE = "production";

export const PARAMETERS = {
  stage: always(stageName, DEFAULT_STAGE, "the copy to deploy; only as `-c stage=…`"),
  presets: byStage(
    oneOf("development", "production"),
    "production",
    "development",
    "whose defaults the stage takes",
  ),
  version: computed(
    text(/^[\w.+-]{1,64}$/, "a version or a commit"),
    "the package's",
    packageVersion,
    "the output `Version`, and a tag of the resources",
  ),
  tableName: computed(
    text(/^[\w.-]{3,255}$/, "the name of a DynamoDB table"),
    "`<name>`",
    ({ serviceName }) => serviceName,
    "the table that the service uses: another one after a [restore](recovery.md#restore-the-table)",
  ),
  removal: byStage(
    oneOf("retain", "destroy"),
    "retain",
    "destroy",
    "what happens to the table and the master secret with their stack",
  ),
  deletionProtection: byStage(flag, true, false, "protects the table and both stacks"),
  pointInTimeRecovery: byStage(flag, true, false, "the table can be restored to any second of 35 days"),
  maxReadCapacity: byStage(
    units,
    4000,
    200,
    "read units a second; DynamoDB refuses more, which limits the bill",
  ),
  maxWriteCapacity: byStage(units, 4000, 200, "the same for write units"),
  accountConcurrency: optional(
    whole(10, 1_000_000),
    "executions at a time that this stage may count on: the account's, or its part ([floods](#floods))",
  ),
  requestsPerAddress: byStage(
    perAddress,
    // 33 a second: more than most backends send, and half an execution of the authorizer.
    10_000,
    null,
    "requests to all routes from one address in five minutes, except Apple's notifications (AWS WAF)",
  ),
  synchronizesPerAddress: computed(
    perAddress,
    "300 or 1000; none",
    openRequestsPerAddress,
    "synchronizes, and notifications from elsewhere than Apple, from one address in five minutes (AWS WAF; [floods](#floods))",
  ),
  backendAddresses: always(addressBlocks, [], "addresses and blocks that neither limit counts (AWS WAF)"),
  iosNotificationsFromAppleOnly: byStage(
    flag,
    true,
    false,
    "App Store notifications only from Apple's addresses, 17.0.0.0/8 (AWS WAF)",
  ),
  blockedAddresses: always(addressBlocks, [], "addresses and blocks that get 429 on every route (AWS WAF)"),
  addressLimitLogs: always(flag, false, "logs what AWS WAF refuses, with addresses"),
  accessLogAddresses: always(flag, false, "the caller's address in the access log"),
  secretPrefix: computed(
    // Without the slash it might begin other secrets' names, such as the master secret's.
    text(/^[\w/+=.@-]{1,199}\/$/, "the beginning of a secret's name, with a slash at its end"),
    "`<name>/`",
    ({ serviceName }) => `${serviceName}/`,
    "the beginning of the names of secrets that functions may read; ends with `/`",
  ),
  tableKeyArn: optional(key, "a KMS key of yours for the table"),
  secretsKeyArn: optional(key, "a KMS key of yours for the secrets"),
  eventBuses: optional(eventBuses, "ARNs of EventBridge buses that manifests may name, with commas"),
  logRetentionDays: byStage(
    whole(1, 3653)
      .refine((days) => RETENTIONS.includes(days))
      .meta({ expected: `one of ${RETENTIONS.join(", ")}` }),
    30,
    7,
    "how long logs are kept",
  ),
  tracedPercent: byStage(whole(0, 100), 5, 100, "requests that X-Ray records; no run of a schedule"),
  invocationReports: always(flag, false, "Lambda's report of each invocation in the log"),
  alarmEmail: optional(
    text(/^[^\s@]+@[^\s@]+$/, "an e-mail address"),
    "gets the alarms; development has alarms only with this or the next",
  ),
  alarmTopicArn: optional(
    text(/^arn:aws[\w-]*:sns:[\w-]+:\d{12}:[\w-]+$/, "the ARN of an SNS topic"),
    "a topic of yours, in place of a new one",
  ),
  dashboard: always(flag, false, "a dashboard, for $3 a month"),
  monthlyBudget: optional(
    whole(1, 1_000_000),
    "US dollars for the whole account: tells the alarms' topic at 80 %, at 100 %, and when the forecast exceeds it; it stops nothing",
  ),
  domainName: optional(
    text(/^(?:[a-z0-9-]+\.)+[a-z]{2,}$/, "a domain name in lower case"),
    "a domain of your own",
  ),
  certificateArn: optional(
    text(/^arn:aws[\w-]*:acm:[\w-]+:\d{12}:certificate\/[\w-]+$/, "the ARN of a certificate"),
    "its certificate",
  ),
  hostedZoneId: optional(
    text(/^[A-Z0-9]{1,32}$/, "the identifier of a Route 53 zone"),
    "its Route 53 zone, which gets the record",
  ),
  managesLogRole: always(
    flag,
    true,
    "sets the role with which API Gateway logs, of which an account and region has one; `false` if yours has one",
  ),
} as const satisfies Readonly<Record<string, Parameter<unknown>>>;

export interface DomainParameters {
  readonly name: string;
  /** In AWS Certificate Manager, in the region of the API. */
  readonly certificateArn: string;
  /** Route 53 zone that gets an alias record; null: the record is created elsewhere. */
  readonly hostedZoneId: string | null;
}

/** From `-c <name>=<value>`, the context of `cdk.json`, or `stages.json`. */
export interface Parameters extends ValuesOf<typeof PARAMETERS> {
  /** `customer-entitlements`, with `-<stage>` appended unless that is `production`. */
  readonly serviceName: string;
  readonly functions: Readonly<Record<FunctionName, FunctionValues>>;
  readonly throttling: Readonly<Record<EndpointName, Throttling>>;
  readonly domain: DomainParameters | null;
  /** A development stage has alarms only if somebody is to get them. */
  readonly hasAlarms: boolean;
  readonly hasFirewall: boolean;
}

/** Rows of the guide's table: name, default, meaning. */
export const parameterRows = (): readonly (readonly [name: string, shown: string, meaning: string])[] => {
  const ofFunctions = { ...routeParameters("readChanges"), ...functionParameters("readChanges") };
  return [
    ...Object.entries<Parameter<unknown>>(PARAMETERS),
    ...Object.entries<Parameter<unknown>>(ofFunctions).map(
      ([name, parameter]) => [`<function>.${name}`, parameter] as const,
    ),
  ].map(([name, { shown, meaning }]) => [`\`${name}\``, shown, meaning]);
};
