import { readFileSync } from "node:fs";
import * as z from "zod";
import { endpoints, type EndpointName } from "../lib/contract/endpoints.ts";
import { addressBlocks, NO_BLOCKS } from "./address-blocks.ts";
import {
  concurrencyLimit,
  openRequestsPerAddress,
  reservationProblem,
  routeLimits,
} from "./account-concurrency.ts";
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
import { STAGE_PRESETS, type StagePresets } from "./stage-presets.ts";
import { AUTHORIZER, SCHEDULED_FUNCTIONS, type ScheduledFunctionName } from "./other-functions.ts";
import {
  hasFirewall,
  type AlarmParameters,
  type DomainParameters,
  type FunctionName,
  type FunctionParameters,
  type Parameters,
  type Throttling,
} from "./parameters.ts";

const ENDPOINT_NAMES = Object.keys(endpoints) as EndpointName[];

const isScheduled = (name: FunctionName): name is ScheduledFunctionName =>
  Object.hasOwn(SCHEDULED_FUNCTIONS, name);

/** All problems with the parameters, in one message. */
export class ParameterError extends Error {
  override readonly name = "ParameterError";
}

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

const alarmParameters = (context: Context, presets: StagePresets): AlarmParameters => {
  const topicArn = context.take("alarmTopicArn", orNone(topic), null);
  const address = context.take("alarmEmail", orNone(email), null);
  if (topicArn !== null && address !== null)
    context.problems.push(
      "alarmEmail and alarmTopicArn exclude each other: the e-mail address subscribes to a topic that the stack creates.",
    );
  const monthlyBudget = context.take("monthlyBudget", orNone(whole(1, 1_000_000)), null);
  const isOn = presets.isWatched || topicArn !== null || address !== null;
  return { isOn, topicArn, email: address, monthlyBudget };
};

const firewallParameters = (context: Context, presets: StagePresets, accountConcurrency: number | null) => {
  const perAddress = orNone(whole(10, 2_000_000_000));
  const firewall = {
    requestsPerAddress: context.take("requestsPerAddress", perAddress, presets.requestsPerAddress),
    synchronizesPerAddress: context.take(
      "synchronizesPerAddress",
      perAddress,
      presets.requestsPerAddress === null ? null : openRequestsPerAddress(accountConcurrency),
    ),
    backendAddresses: context.take("backendAddresses", addressBlocks, NO_BLOCKS),
    iosNotificationsFromAppleOnly: context.take(
      "iosNotificationsFromAppleOnly",
      flag,
      presets.iosNotificationsFromAppleOnly,
    ),
    blockedAddresses: context.take("blockedAddresses", addressBlocks, NO_BLOCKS),
    addressLimitLogs: context.take("addressLimitLogs", flag, false),
  };
  if (firewall.addressLimitLogs && !hasFirewall(firewall))
    context.problems.push(
      "addressLimitLogs needs requestsPerAddress, synchronizesPerAddress, iosNotificationsFromAppleOnly or blockedAddresses: without them nothing is refused by address.",
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
      ...firewallParameters(context, presets, accountConcurrency),
      accessLogAddresses: context.take("accessLogAddresses", flag, false),
      domain: domainParameters(context),
      managesLogRole: context.take("managesLogRole", flag, true),
    },
    secretsKeyArn: context.take("secretsKeyArn", orNone(key), null),
    secretPrefix: context.take("secretPrefix", prefix, `${serviceName}/`),
    logRetentionDays: context.take("logRetentionDays", retention, presets.logRetentionDays),
    tracedPercent: context.take("tracedPercent", whole(0, 100), presets.tracedPercent),
    invocationReports: context.take("invocationReports", flag, false),
    alarms: alarmParameters(context, presets),
    dashboard: context.take("dashboard", flag, presets.isWatched),
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
