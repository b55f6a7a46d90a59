import { readFileSync } from "node:fs";
import * as z from "zod";
import type { EndpointName } from "../lib/contract/endpoints.ts";
import { openRequestsPerAddress } from "./account-concurrency.ts";
import { addressBlocks, hasBlocks, NO_BLOCKS } from "./address-blocks.ts";
import {
  ENDPOINT_PARAMETERS,
  FUNCTION_PARAMETERS,
  type FunctionName,
  type FunctionValues,
  type Throttling,
} from "./function-parameters.ts";
import { always, byStage, computed, type Parameter } from "./parameter.ts";
import {
  certificate,
  domainName,
  email,
  eventBuses,
  flag,
  key,
  oneOf,
  orNone,
  prefix,
  retention,
  stageName,
  tableName,
  topic,
  units,
  versionName,
  whole,
  zone,
} from "./parameter-values.ts";

const packageFile = z.object({ version: z.string() });
const packageVersion = (): string =>
  packageFile.parse(JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8"))).version;

const perAddress = orNone(whole(10, 2_000_000_000));

export const DEFAULT_STAGE = "production";

/** Every parameter of a deployment. Schemas, both kinds of defaults and the guide's table derive from it. */
export const PARAMETERS = {
  stage: always(stageName, DEFAULT_STAGE, "the copy to deploy; only as `-c stage=…`"),
  presets: byStage(
    oneOf("development", "production"),
    "production",
    "development",
    "whose defaults the stage takes",
  ),
  version: computed(
    versionName,
    "the package's",
    packageVersion,
    "the output `Version`, and a tag of the resources",
  ),
  tableName: computed(
    tableName,
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
  accountConcurrency: always(
    orNone(whole(10, 1_000_000)),
    null,
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
    ({ isDisposable, accountConcurrency }) =>
      isDisposable ? null : openRequestsPerAddress(accountConcurrency),
    "synchronizes, and notifications from elsewhere than Apple, from one address in five minutes (AWS WAF; [floods](#floods))",
  ),
  backendAddresses: always(
    addressBlocks,
    NO_BLOCKS,
    "addresses and blocks that neither limit counts (AWS WAF)",
  ),
  iosNotificationsFromAppleOnly: byStage(
    flag,
    true,
    false,
    "App Store notifications only from Apple's addresses, 17.0.0.0/8 (AWS WAF)",
  ),
  blockedAddresses: always(
    addressBlocks,
    NO_BLOCKS,
    "addresses and blocks that get 429 on every route (AWS WAF)",
  ),
  addressLimitLogs: always(flag, false, "logs what AWS WAF refuses, with addresses"),
  accessLogAddresses: always(flag, false, "the caller's address in the access log"),
  secretPrefix: computed(
    prefix,
    "`<name>/`",
    ({ serviceName }) => `${serviceName}/`,
    "the beginning of the names of secrets that functions may read; ends with `/`",
  ),
  tableKeyArn: always(orNone(key), null, "a KMS key of yours for the table"),
  secretsKeyArn: always(orNone(key), null, "a KMS key of yours for the secrets"),
  eventBuses: always(
    orNone(eventBuses),
    null,
    "ARNs of EventBridge buses that manifests may name, with commas",
  ),
  logRetentionDays: byStage(retention, 30, 7, "how long logs are kept"),
  tracedPercent: byStage(whole(0, 100), 5, 100, "requests that X-Ray records; no run of a schedule"),
  invocationReports: always(flag, false, "Lambda's report of each invocation in the log"),
  alarmEmail: always(
    orNone(email),
    null,
    "gets the alarms; development has alarms only with this or the next",
  ),
  alarmTopicArn: always(orNone(topic), null, "a topic of yours, in place of a new one"),
  dashboard: always(flag, false, "a dashboard, for $3 a month"),
  monthlyBudget: always(
    orNone(whole(1, 1_000_000)),
    null,
    "US dollars for the whole account: tells the alarms' topic at 80 %, at 100 %, and when the forecast exceeds it; it stops nothing",
  ),
  domainName: always(orNone(domainName), null, "a domain of your own"),
  certificateArn: always(orNone(certificate), null, "its certificate"),
  hostedZoneId: always(orNone(zone), null, "its Route 53 zone, which gets the record"),
  managesLogRole: always(
    flag,
    true,
    "sets the role with which API Gateway logs, of which an account and region has one; `false` if yours has one",
  ),
} as const satisfies Readonly<Record<string, Parameter<unknown>>>;

type Values = {
  readonly [Name in keyof typeof PARAMETERS]: z.output<(typeof PARAMETERS)[Name]["schema"]>;
};

export interface DomainParameters {
  readonly name: string;
  /** In AWS Certificate Manager, in the region of the API. */
  readonly certificateArn: string;
  /** Route 53 zone that gets an alias record; null: the record is created elsewhere. */
  readonly hostedZoneId: string | null;
}

/** Parameters of a deployment, from `-c <name>=<value>`, the context of `cdk.json`, or `stages.json`. */
export interface Parameters extends Values {
  /** Name of every named resource: `customer-entitlements`, with `-<stage>` appended unless that is `production`. */
  readonly serviceName: string;
  readonly functions: Readonly<Record<FunctionName, FunctionValues>>;
  readonly throttling: Readonly<Record<EndpointName, Throttling>>;
  readonly domain: DomainParameters | null;
  /** A development stage has alarms only if somebody is to get them. */
  readonly hasAlarms: boolean;
}

/** Rows of the guide's table: name, default, meaning. */
export const parameterRows = (): readonly (readonly [name: string, shown: string, meaning: string])[] => {
  const rowsOf = (parameters: Readonly<Record<string, Row>>, before = "") =>
    Object.entries(parameters).map(
      ([name, { shown, meaning }]) => [`\`${before}${name}\``, shown, meaning] as const,
    );
  return [
    ...rowsOf(PARAMETERS),
    ...rowsOf({ ...ENDPOINT_PARAMETERS, ...FUNCTION_PARAMETERS }, "<function>."),
  ];
};

type Row = Pick<Parameter<unknown>, "shown" | "meaning">;

/** Whether AWS WAF stands before the API. */
export const hasFirewall = ({
  requestsPerAddress,
  synchronizesPerAddress,
  iosNotificationsFromAppleOnly,
  blockedAddresses,
}: Pick<
  Parameters,
  "requestsPerAddress" | "synchronizesPerAddress" | "iosNotificationsFromAppleOnly" | "blockedAddresses"
>): boolean =>
  requestsPerAddress !== null ||
  synchronizesPerAddress !== null ||
  iosNotificationsFromAppleOnly ||
  hasBlocks(blockedAddresses);
