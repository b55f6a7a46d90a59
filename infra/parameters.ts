import { readFileSync } from "node:fs";
import { isIPv4, isIPv6 } from "node:net";
import * as z from "zod";

/** Values that decide the other defaults. */
export interface Given {
  readonly serviceName: string;
  /** Whether the stage takes the defaults of `development`: it can be thrown away. */
  readonly isDisposable: boolean;
  readonly accountConcurrency: number | null;
}

/** A parameter of a deployment, and its row in docs/deploy.md. */
export interface Parameter<Value> {
  readonly schema: z.ZodType<Value>;
  readonly defaultOf: (given: Given) => Value;
  /** The default in the guide. */
  readonly shown: string;
  readonly meaning: string;
}

export type ValuesOf<Parameters extends Readonly<Record<string, Parameter<unknown>>>> = {
  readonly [Name in keyof Parameters]: z.output<Parameters[Name]["schema"]>;
};

const shownOf = (value: unknown): string => {
  if (typeof value === "number") return value < 10_000 ? String(value) : value.toLocaleString("en-US");
  return typeof value === "object" ? "none" : `\`${String(value)}\``;
};

/** One default for every stage. */
const always = <Value>(
  schema: z.ZodType<Value>,
  value: NoInfer<Value>,
  meaning: string,
): Parameter<Value> => ({ schema, defaultOf: () => value, shown: shownOf(value), meaning });

/** A default for permanent stages, and one for disposable stages. */
const byStage = <Value>(
  schema: z.ZodType<Value>,
  production: NoInfer<Value>,
  development: NoInfer<Value>,
  meaning: string,
): Parameter<Value> => ({
  schema,
  defaultOf: ({ isDisposable }) => (isDisposable ? development : production),
  shown: `${shownOf(production)}; ${shownOf(development)}`,
  meaning,
});

/** A default that other parameters decide, with its text in the guide. */
export const computed = <Value>(
  schema: z.ZodType<Value>,
  shown: string,
  defaultOf: (given: Given) => NoInfer<Value>,
  meaning: string,
): Parameter<Value> => ({ schema, defaultOf, shown, meaning });

// Values from the command line are strings.
export const whole = (minimum: number, maximum: number): z.ZodType<number> =>
  z
    .union([z.number(), z.string().regex(/^\d+$/).transform(Number)])
    .refine((value) => Number.isInteger(value) && value >= minimum && value <= maximum)
    .meta({ expected: `a whole number from ${minimum} to ${maximum}` });

export const flag: z.ZodType<boolean> = z
  .union([z.boolean(), z.enum(["true", "false"]).transform((value) => value === "true")])
  .meta({ expected: "true or false" });

const oneOf = <const Value extends string>(...values: readonly Value[]): z.ZodType<Value> =>
  z.enum(values).meta({ expected: values.join(" or ") });

const text = (pattern: RegExp, expected: string): z.ZodType<string> =>
  z.string().regex(pattern).meta({ expected });

/** `none` clears a default. */
export const orNone = <Value>(value: z.ZodType<Value>): z.ZodType<Value | null> =>
  z
    .union([z.literal(["none", null]).transform(() => null), value])
    .meta({ expected: `${String(value.meta()?.["expected"])}, or none` });

/** A parameter that every stage does without by default. */
export const optional = <Value>(value: z.ZodType<Value>, meaning: string): Parameter<Value | null> =>
  always(orNone(value), null, meaning);

export const stageName = text(/^[a-z][a-z0-9-]{0,15}$/, "1 to 16 lower-case letters, digits and hyphens");
export const eventBuses: z.ZodType<readonly string[]> = z
  .string()
  .transform((names) => names.split(","))
  .pipe(z.array(z.string().regex(/^arn:aws[\w-]*:events:[\w-]+:\d{12}:event-bus\/[\w./-]+$/)))
  .meta({ expected: "ARNs of event buses, with commas between them" });
const key = text(/^arn:aws[\w-]*:kms:[\w-]+:\d{12}:key\/[\w-]+$/, "the ARN of a KMS key");
const units = orNone(whole(1, 1_000_000));

const BLOCKS_IN_A_SET = 10_000;

/** In CIDR notation; null: neither an address nor a block. */
const blockOf = (text: string): string | null => {
  const [address = "", length, ...others] = text.split("/");
  const longest = isIPv4(address) ? 32 : isIPv6(address) ? 128 : 0;
  const bits = length === undefined ? longest : /^\d{1,3}$/.test(length) ? Number(length) : 0;
  return others.length === 0 && bits >= 1 && bits <= longest ? `${address}/${bits}` : null;
};

const listed = z.union([
  z.array(z.string()),
  // From the command line.
  z.string().transform((text) => text.split(/[\s,]+/).filter((part) => part !== "")),
]);

/** A list of addresses and blocks (CIDR) of both kinds. */
export const addressBlocks: z.ZodType<readonly string[]> = listed
  .refine((texts) => texts.length <= BLOCKS_IN_A_SET && texts.every((text) => blockOf(text) !== null))
  .transform((texts) => [...new Set(texts.flatMap((text) => blockOf(text) ?? []))].sort())
  .meta({ expected: "a list of addresses or blocks, such as 198.51.100.7,2001:db8::/32" });

/** Executions that Lambda keeps for functions without a reservation. */
export const UNRESERVED = 100;

/** Whether half of the concurrency can be reserved. */
export const isReservable = (accountConcurrency: number | null): accountConcurrency is number =>
  accountConcurrency !== null && accountConcurrency >= 2 * UNRESERVED;

/**
 * Requests without an API key from one address in five minutes; null: unlimited. By the small limit an address has a
 * twentieth of the rate of synchronizes, and a tenth of that of notifications.
 */
const openRequestsPerAddress = ({ isDisposable, accountConcurrency }: Given): number | null => {
  if (isDisposable) return null;
  return isReservable(accountConcurrency) ? 1000 : 300;
};

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
