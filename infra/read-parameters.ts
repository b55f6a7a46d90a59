import * as z from "zod";
import type { EndpointName } from "../lib/contract/endpoints.ts";
import {
  ENDPOINT_NAMES,
  FUNCTION_NAMES,
  functionParameters,
  routeParameters,
  type FunctionName,
  type FunctionValues,
  type Throttling,
} from "./functions.ts";
import {
  DEFAULT_STAGE,
  PARAMETERS,
  stageName,
  UNRESERVED,
  type Given,
  type Parameter,
  type ValuesOf,
} from "./parameters.ts";

/** All problems with the parameters, in one message. */
export class ParameterError extends Error {
  override readonly name = "ParameterError";
}

/** From `-c <name>=<value>`, the context of `cdk.json`, or `stages.json`. */
export interface Parameters extends ValuesOf<typeof PARAMETERS> {
  /** `customer-entitlements`, with `-<stage>` appended unless that is `production`. */
  readonly serviceName: string;
  readonly functions: Readonly<Record<FunctionName, FunctionValues>>;
  readonly throttling: Readonly<Record<EndpointName, Throttling>>;
  readonly domain: {
    readonly name: string;
    /** In AWS Certificate Manager, in the region of the API. */
    readonly certificateArn: string;
    /** Route 53 zone that gets an alias record; null: the record is created elsewhere. */
    readonly hostedZoneId: string | null;
  } | null;
  /** A development stage has alarms only if somebody is to get them. */
  readonly hasAlarms: boolean;
  readonly hasFirewall: boolean;
}

type Values = Readonly<Record<string, unknown>>;
type ByName = Readonly<Record<string, Parameter<unknown>>>;

/** Context keys that belong to the CDK itself. */
const isOfTheCdk = (name: string): boolean =>
  /[:@/]/.test(name) || ["cli-telemetry", "acknowledged-issue-numbers"].includes(name);

const ofEach = <Name extends string>(
  names: readonly Name[],
  parametersOf: (name: Name) => ByName,
): Readonly<Record<string, ByName>> => Object.fromEntries(names.map((name) => [name, parametersOf(name)]));

const FUNCTIONS = ofEach(FUNCTION_NAMES, functionParameters);
const ROUTES = ofEach(ENDPOINT_NAMES, routeParameters);

/** Names of all parameters: a deployment's, and `<function>.<parameter>`. */
export const parameterNames = (): readonly string[] => [
  ...Object.keys(PARAMETERS),
  ...[FUNCTIONS, ROUTES].flatMap((each) =>
    Object.entries(each).flatMap(([name, parameters]) =>
      Object.keys(parameters).map((key) => `${name}.${key}`),
    ),
  ),
];

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

/** The value of a parameter, or else its default. */
type Take = <Value>(name: string, parameter: Parameter<Value>, given: Given) => Value;

const takingFrom =
  (values: Values, complain: (problem: string) => void): Take =>
  (name, { schema, defaultOf }, given) => {
    const value = values[name];
    if (value === undefined) return defaultOf(given);
    const parsed = schema.safeParse(value);
    if (parsed.success) return parsed.data;
    complain(`${name} must be ${String(schema.meta()?.["expected"])}; it is ${JSON.stringify(value)}.`);
    return defaultOf(given);
  };

/** Values that decide the other defaults. */
const givenBy = (take: Take): Given => {
  const unknown = { serviceName: "", isDisposable: false, accountConcurrency: null };
  const stage = take("stage", PARAMETERS.stage, unknown);
  const presets = take("presets", PARAMETERS.presets, { ...unknown, isDisposable: stage === "development" });
  return {
    serviceName: stage === DEFAULT_STAGE ? "customer-entitlements" : `customer-entitlements-${stage}`,
    isDisposable: presets === "development",
    accountConcurrency: take("accountConcurrency", PARAMETERS.accountConcurrency, unknown),
  };
};

const conflictsIn = ({ functions, accountConcurrency, ...parameters }: Parameters): readonly string[] => {
  const { domainName, certificateArn, hostedZoneId, alarmTopicArn, alarmEmail } = parameters;
  const reserved = Object.values(functions).reduce((sum, one) => sum + (one.reservedConcurrency ?? 0), 0);
  const conflicts: readonly (readonly [isMet: boolean, problem: string])[] = [
    [
      accountConcurrency !== null && reserved > 0 && reserved + UNRESERVED > accountConcurrency,
      `Reserved concurrency is ${reserved}, but Lambda must keep ${UNRESERVED} of ${accountConcurrency} unreserved. Lower a reservedConcurrency.`,
    ],
    [
      parameters.addressLimitLogs && !parameters.hasFirewall,
      "addressLimitLogs needs requestsPerAddress, synchronizesPerAddress, iosNotificationsFromAppleOnly or blockedAddresses: without them nothing is refused by address.",
    ],
    [
      parameters.domain === null && (domainName ?? certificateArn ?? hostedZoneId) !== null,
      "domainName and certificateArn belong together.",
    ],
    [
      alarmTopicArn !== null && alarmEmail !== null,
      "alarmEmail and alarmTopicArn exclude each other: the e-mail address subscribes to a topic that the stack creates.",
    ],
  ];
  return conflicts.flatMap(([isMet, problem]) => (isMet ? [problem] : []));
};

const read = (take: Take): Parameters => {
  const given = givenBy(take);
  const valuesOf = (parameters: ByName, before = ""): Values =>
    Object.fromEntries(
      Object.entries(parameters).map(([name, parameter]) => [name, take(before + name, parameter, given)]),
    );
  const valuesOfEach = (each: Readonly<Record<string, ByName>>): Values =>
    Object.fromEntries(
      Object.entries(each).map(([name, parameters]) => [name, valuesOf(parameters, `${name}.`)]),
    );
  const own = valuesOf(PARAMETERS) as { [Name in keyof typeof PARAMETERS]: Parameters[Name] };
  const { domainName: name, certificateArn, hostedZoneId } = own;
  return {
    ...own,
    serviceName: given.serviceName,
    functions: valuesOfEach(FUNCTIONS) as Parameters["functions"],
    throttling: valuesOfEach(ROUTES) as Parameters["throttling"],
    domain: name === null || certificateArn === null ? null : { name, certificateArn, hostedZoneId },
    hasAlarms: !given.isDisposable || own.alarmTopicArn !== null || own.alarmEmail !== null,
    hasFirewall:
      own.requestsPerAddress !== null ||
      own.synchronizesPerAddress !== null ||
      own.iosNotificationsFromAppleOnly ||
      own.blockedAddresses.length > 0,
  };
};

/** Parameters by stage, as in `stages.json`. */
type Stages = Readonly<Record<string, Values>>;

/** The stage's entry. One that is missing from the file may be misspelt: the defaults would remove a stage's domain. */
const entryOf = (stage: string, stages: Stages, complain: (problem: string) => void): Values => {
  const entry = Object.hasOwn(stages, stage) ? stages[stage] : undefined;
  if (entry === undefined)
    complain(
      `stages.json has no entry for the stage ${stage}. It has: ${Object.keys(stages).join(", ") || "none"}. An empty entry, {}, takes the defaults.`,
    );
  return entry ?? {};
};

/**
 * Reads a stage's parameters. The CDK's context wins over the stage's entry in `stages`, which wins over the presets. The
 * stage `development` is disposable; every other stage is retained and protected, unless it sets `presets=development`.
 *
 * @param stages null: there is no `stages.json`
 * @throws ParameterError naming every invalid value, every unknown parameter and a missing entry
 */
export const readParameters = (values: Values, stages: Stages | null = null): Parameters => {
  const problems = new Set<string>();
  const stage = String(values["stage"] ?? DEFAULT_STAGE);
  const { stage: misplaced, ...kept } =
    stages === null ? {} : entryOf(stage, stages, (problem) => problems.add(problem));
  const given: Values = { ...kept, ...values };
  const parameters = read(takingFrom(given, (problem) => problems.add(problem)));
  for (const conflict of conflictsIn(parameters)) problems.add(conflict);
  const known = new Set(parameterNames());
  for (const name of Object.keys(given))
    if (!known.has(name) && !isOfTheCdk(name))
      problems.add(`There is no parameter ${name}: docs/deploy.md lists them.`);
  if (misplaced !== undefined) problems.add("A stage cannot name its stage: stages.json does already.");
  if (problems.size > 0)
    throw new ParameterError(["The deployment parameters are not valid:", ...problems].join("\n- "));
  return parameters;
};

const stagesFile = z.record(stageName, z.record(z.string(), z.unknown()));

/** @throws ParameterError unless it is an object with one object of parameters per stage */
export const readStages = (json: string): Stages => {
  try {
    return stagesFile.parse(JSON.parse(json));
  } catch {
    throw new ParameterError(
      `stages.json must be a JSON object such as {"production": {"alarmEmail": "you@example.com"}}; a stage is ${String(stageName.meta()?.["expected"])}.`,
    );
  }
};
