import { readFileSync } from "node:fs";
import * as z from "zod";
import { endpoints, type EndpointName } from "../lib/contract/endpoints.ts";
import { addressBlocks, hasBlocks, NO_BLOCKS, type AddressBlocks } from "./address-blocks.ts";
import { concurrencyLimit, reservationProblem, routeLimits } from "./account-concurrency.ts";
import { AUTHORIZER, SCHEDULED_FUNCTIONS, type ScheduledFunctionName } from "./other-functions.ts";

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
   * of a permanent stage with a known concurrency, a share for each endpoint that takes no API key.
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
   * Requests without a credential per IP address in five minutes, counted by AWS WAF: synchronize, and iOS-store
   * notifications that are not from Apple's addresses; null: not counted. Default: 1,000; development stage: null.
   */
  readonly synchronizesPerAddress: number | null;
  /** Whether AWS WAF refuses iOS-store notifications that are not from Apple's addresses. Default: false. */
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
  /** Existing topic; null (default): one is created. */
  readonly topicArn: string | null;
  /** E-mail address subscribed to the created topic; null (default): none. */
  readonly email: string | null;
  /** US dollars that the account may cost in a month before the topic is notified; null (default): no budget. */
  readonly monthlyBudget: number | null;
}

const ENDPOINT_NAMES = Object.keys(endpoints) as EndpointName[];

export type FunctionName = "authorizeCredential" | EndpointName | ScheduledFunctionName;

const isScheduled = (name: FunctionName): name is ScheduledFunctionName =>
  Object.hasOwn(SCHEDULED_FUNCTIONS, name);

/** All problems with the parameters, in one message. */
export class ParameterError extends Error {
  override readonly name = "ParameterError";
}

/** Retention periods that CloudWatch Logs accepts, in days. */
const RETENTIONS = [1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 3653];

// Values from the command line are strings.
const whole = (minimum: number, maximum: number): z.ZodType<number> =>
  z
    .union([z.number(), z.string().regex(/^\d+$/).transform(Number)])
    .refine((value) => Number.isInteger(value) && value >= minimum && value <= maximum)
    .meta({ expected: `a whole number from ${minimum} to ${maximum}` });

const flag: z.ZodType<boolean> = z
  .union([z.boolean(), z.enum(["true", "false"]).transform((value) => value === "true")])
  .meta({ expected: "true or false" });

const oneOf = <const Value extends string>(...values: readonly Value[]): z.ZodType<Value> =>
  z.enum(values).meta({ expected: values.join(" or ") });

const text = (pattern: RegExp, expected: string): z.ZodType<string> =>
  z.string().regex(pattern).meta({ expected });

const retention = whole(1, 3653)
  .refine((days) => RETENTIONS.includes(days))
  .meta({ expected: `one of ${RETENTIONS.join(", ")}` });

/** `none` clears a default. */
const orNone = <Value>(value: z.ZodType<Value>): z.ZodType<Value | null> =>
  z
    .union([z.literal(["none", null]).transform(() => null), value])
    .meta({ expected: `${String(value.meta()?.["expected"])}, or none` });

const stageName = text(/^[a-z][a-z0-9-]{0,15}$/, "1 to 16 lower-case letters, digits and hyphens");
const tableName = text(/^[\w.-]{3,255}$/, "the name of a DynamoDB table");
const prefix = text(/^[\w/+=.@-]{1,200}$/, "the beginning of a secret's name");
const domainName = text(/^(?:[a-z0-9-]+\.)+[a-z]{2,}$/, "a domain name in lower case");
const certificate = text(/^arn:aws[\w-]*:acm:[\w-]+:\d{12}:certificate\/[\w-]+$/, "the ARN of a certificate");
const zone = text(/^[A-Z0-9]{1,32}$/, "the identifier of a Route 53 zone");
const topic = text(/^arn:aws[\w-]*:sns:[\w-]+:\d{12}:[\w-]+$/, "the ARN of an SNS topic");
const eventBuses = text(
  /^arn:aws[\w-]*:events:[\w-]+:\d{12}:event-bus\/[\w./-]+(?:,arn:aws[\w-]*:events:[\w-]+:\d{12}:event-bus\/[\w./-]+)*$/,
  "ARNs of event buses, with commas between them",
);
const email = text(/^[^\s@]+@[^\s@]+$/, "an e-mail address");
const key = text(/^arn:aws[\w-]*:kms:[\w-]+:\d{12}:key\/[\w-]+$/, "the ARN of a KMS key");
const versionName = text(/^[\w.+-]{1,64}$/, "a version or a commit");
const units = orNone(whole(1, 1_000_000));

/** Context keys that belong to the CDK itself. */
const isOfTheCdk = (name: string): boolean =>
  /[:@/]/.test(name) || ["cli-telemetry", "acknowledged-issue-numbers"].includes(name);

/** Reads values from the context and collects their problems. */
class Context {
  readonly #values: Readonly<Record<string, unknown>>;
  readonly #known = new Set<string>();
  readonly problems: string[] = [];

  constructor(values: Readonly<Record<string, unknown>>) {
    this.#values = values;
  }

  take<Value>(name: string, schema: z.ZodType<Value>, preset: NoInfer<Value>): Value {
    this.#known.add(name);
    const given = this.#values[name];
    if (given === undefined) return preset;
    const parsed = schema.safeParse(given);
    if (parsed.success) return parsed.data;
    this.problems.push(
      `${name} must be ${String(schema.meta()?.["expected"])}; it is ${JSON.stringify(given)}.`,
    );
    return preset;
  }

  refuseOthers(): void {
    for (const name of Object.keys(this.#values))
      if (!this.#known.has(name) && !isOfTheCdk(name)) this.problems.push(`There is no parameter ${name}.`);
  }

  get names(): readonly string[] {
    return [...this.#known];
  }
}

/** API Gateway's integration timeout is 29 seconds, and the authorizer's 30. */
const LONGEST_REQUEST_SECONDS = 28;

/** Lambda's own limit. */
const LONGEST_RUN_SECONDS = 900;

const FUNCTION_NAMES: readonly FunctionName[] = [
  "authorizeCredential",
  ...ENDPOINT_NAMES,
  ...(Object.keys(SCHEDULED_FUNCTIONS) as ScheduledFunctionName[]),
];

const DEFAULT_STAGE = "production";

const packageFile = z.object({ version: z.string() });
const packageVersion = (): string =>
  packageFile.parse(JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8"))).version;

interface StagePresets {
  readonly removal: TableParameters["removal"];
  readonly isProtected: boolean;
  readonly maxReadCapacity: number;
  readonly maxWriteCapacity: number;
  /** For every endpoint; null: each endpoint's own. */
  readonly throttling: Throttling | null;
  readonly synchronizesPerAddress: number | null;
  readonly logRetentionDays: number;
  readonly tracedPercent: number;
}

/** Defaults for the two kinds of stage: disposable and permanent. */
const STAGE_PRESETS: Readonly<Record<"development" | "production", StagePresets>> = {
  development: {
    removal: "destroy",
    isProtected: false,
    maxReadCapacity: 200,
    maxWriteCapacity: 200,
    throttling: { rate: 10, burst: 20 },
    synchronizesPerAddress: null,
    logRetentionDays: 7,
    tracedPercent: 100,
  },
  production: {
    removal: "retain",
    isProtected: true,
    maxReadCapacity: 4000,
    maxWriteCapacity: 4000,
    throttling: null,
    // A carrier may have thousands of phones behind one address, each synchronizing a few times a day.
    synchronizesPerAddress: 1000,
    logRetentionDays: 30,
    tracedPercent: 5,
  },
};

const dataOf = (name: FunctionName) => {
  if (name === "authorizeCredential") return AUTHORIZER;
  return isScheduled(name) ? SCHEDULED_FUNCTIONS[name] : endpoints[name].defaults;
};

const functionParameters = (
  context: Context,
  name: FunctionName,
  reserved: number | null,
): FunctionParameters => {
  const { memoryMegabytes, timeoutSeconds } = dataOf(name);
  const longest = isScheduled(name) ? LONGEST_RUN_SECONDS : LONGEST_REQUEST_SECONDS;
  return {
    memory: context.take(`${name}.memory`, whole(128, 10_240), memoryMegabytes),
    timeout: context.take(`${name}.timeout`, whole(1, longest), timeoutSeconds),
    reservedConcurrency: context.take(`${name}.reservedConcurrency`, orNone(whole(1, 10_000)), reserved),
    provisionedConcurrency: context.take(`${name}.provisionedConcurrency`, orNone(whole(1, 10_000)), null),
  };
};

const throttling = (
  context: Context,
  name: EndpointName,
  presets: StagePresets,
  accountConcurrency: number | null,
): Throttling => {
  const preset = presets.throttling ?? routeLimits(name, accountConcurrency);
  return {
    rate: context.take(`${name}.rate`, whole(1, 10_000), preset.rate),
    burst: context.take(`${name}.burst`, whole(1, 5000), preset.burst),
  };
};

const domainParameters = (context: Context): DomainParameters | null => {
  const name = context.take("domainName", orNone(domainName), null);
  const certificateArn = context.take("certificateArn", orNone(certificate), null);
  const hostedZoneId = context.take("hostedZoneId", orNone(zone), null);
  if (name !== null && certificateArn !== null) return { name, certificateArn, hostedZoneId };
  if (name !== null || certificateArn !== null || hostedZoneId !== null)
    context.problems.push("domainName and certificateArn belong together.");
  return null;
};

const alarmParameters = (context: Context): AlarmParameters => {
  const topicArn = context.take("alarmTopicArn", orNone(topic), null);
  const address = context.take("alarmEmail", orNone(email), null);
  if (topicArn !== null && address !== null)
    context.problems.push(
      "alarmEmail and alarmTopicArn exclude each other: the e-mail address subscribes to a topic that the stack creates.",
    );
  const monthlyBudget = context.take("monthlyBudget", orNone(whole(1, 1_000_000)), null);
  return { topicArn, email: address, monthlyBudget };
};

/** Whether AWS WAF stands before the API. */
export const hasFirewall = ({
  synchronizesPerAddress,
  iosNotificationsFromAppleOnly,
  blockedAddresses,
}: Pick<
  ApiParameters,
  "synchronizesPerAddress" | "iosNotificationsFromAppleOnly" | "blockedAddresses"
>): boolean =>
  synchronizesPerAddress !== null || iosNotificationsFromAppleOnly || hasBlocks(blockedAddresses);

const firewallParameters = (context: Context, presets: StagePresets) => {
  const firewall = {
    synchronizesPerAddress: context.take(
      "synchronizesPerAddress",
      orNone(whole(10, 2_000_000_000)),
      presets.synchronizesPerAddress,
    ),
    iosNotificationsFromAppleOnly: context.take("iosNotificationsFromAppleOnly", flag, false),
    blockedAddresses: context.take("blockedAddresses", addressBlocks, NO_BLOCKS),
    addressLimitLogs: context.take("addressLimitLogs", flag, false),
  };
  if (firewall.addressLimitLogs && !hasFirewall(firewall))
    context.problems.push(
      "addressLimitLogs needs synchronizesPerAddress, iosNotificationsFromAppleOnly or blockedAddresses: without them nothing is refused by address.",
    );
  return firewall;
};

const forEach = <Name extends string, Value>(
  names: readonly Name[],
  valueOf: (name: Name) => Value,
): Record<Name, Value> =>
  Object.fromEntries(names.map((name) => [name, valueOf(name)])) as Record<Name, Value>;

const read = (context: Context): Parameters => {
  const stage = context.take("stage", stageName, DEFAULT_STAGE);
  const kind = context.take(
    "presets",
    oneOf("development", "production"),
    stage === "development" ? "development" : "production",
  );
  const presets = STAGE_PRESETS[kind];
  const accountConcurrency = context.take("accountConcurrency", orNone(whole(10, 1_000_000)), null);
  const functions = forEach(FUNCTION_NAMES, (name) =>
    // Disposable stages leave the account's executions to the others.
    functionParameters(
      context,
      name,
      presets.throttling === null ? concurrencyLimit(name, accountConcurrency) : null,
    ),
  );
  const problem = reservationProblem(
    Object.values(functions).map(({ reservedConcurrency }) => reservedConcurrency),
    accountConcurrency,
  );
  if (problem !== null) context.problems.push(problem);
  const serviceName = stage === "production" ? "customer-entitlements" : `customer-entitlements-${stage}`;
  return {
    stage,
    serviceName,
    version: context.take("version", versionName, packageVersion()),
    table: {
      name: context.take("tableName", tableName, serviceName),
      keyArn: context.take("tableKeyArn", orNone(key), null),
      removal: context.take("removal", oneOf("retain", "destroy"), presets.removal),
      deletionProtection: context.take("deletionProtection", flag, presets.isProtected),
      pointInTimeRecovery: context.take("pointInTimeRecovery", flag, presets.isProtected),
      maxReadCapacity: context.take("maxReadCapacity", units, presets.maxReadCapacity),
      maxWriteCapacity: context.take("maxWriteCapacity", units, presets.maxWriteCapacity),
    },
    functions,
    accountConcurrency,
    api: {
      throttling: forEach(ENDPOINT_NAMES, (name) => throttling(context, name, presets, accountConcurrency)),
      ...firewallParameters(context, presets),
      accessLogAddresses: context.take("accessLogAddresses", flag, false),
      domain: domainParameters(context),
      managesLogRole: context.take("managesLogRole", flag, true),
    },
    secretsKeyArn: context.take("secretsKeyArn", orNone(key), null),
    secretPrefix: context.take("secretPrefix", prefix, `${serviceName}/`),
    logRetentionDays: context.take("logRetentionDays", retention, presets.logRetentionDays),
    tracedPercent: context.take("tracedPercent", whole(0, 100), presets.tracedPercent),
    invocationReports: context.take("invocationReports", flag, false),
    alarms: alarmParameters(context),
    eventBuses: context.take("eventBuses", orNone(eventBuses), null)?.split(",") ?? [],
  };
};

type Values = Readonly<Record<string, unknown>>;

/** The stage in the CDK's context, not validated. */
export const stageOf = ({ stage = DEFAULT_STAGE }: Values): string => String(stage);

/**
 * Reads a stage's parameters. The CDK's context wins over the stage's entry in `stages`, which wins over the presets. The
 * stage `development` is disposable; every other stage is retained and protected, unless it sets `presets=development`.
 *
 * @param stages parameters by stage, as in `stages.json`
 * @throws ParameterError naming every invalid value and every unknown parameter
 */
export const readParameters = (values: Values, stages: Readonly<Record<string, Values>> = {}): Parameters => {
  const stage = stageOf(values);
  const { stage: misplaced, ...kept } = (Object.hasOwn(stages, stage) ? stages[stage] : undefined) ?? {};
  const context = new Context({ ...kept, ...values });
  const parameters = read(context);
  context.refuseOthers();
  if (misplaced !== undefined)
    context.problems.push("A stage cannot name its stage: stages.json does already.");
  if (context.problems.length > 0)
    throw new ParameterError(["The deployment parameters are not valid:", ...context.problems].join("\n- "));
  return parameters;
};

const stagesFile = z.record(stageName, z.record(z.string(), z.unknown()));

/**
 * Parses `stages.json`: an object with one object of parameters per stage.
 *
 * @throws ParameterError for anything else
 */
export const readStages = (json: string): Readonly<Record<string, Values>> => {
  try {
    return stagesFile.parse(JSON.parse(json));
  } catch {
    throw new ParameterError(
      `stages.json must be a JSON object such as {"production": {"alarmEmail": "you@example.com"}}; a stage is ${String(stageName.meta()?.["expected"])}.`,
    );
  }
};

/** Names of all parameters. */
export const parameterNames = (): readonly string[] => {
  const context = new Context({});
  read(context);
  return context.names;
};
