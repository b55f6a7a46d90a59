import * as z from "zod";
import { endpoints, type EndpointName } from "../lib/contract/endpoints.ts";
import { reservationProblem } from "./account-concurrency.ts";
import { SCHEDULED_FUNCTIONS, type ScheduledFunctionName } from "./other-functions.ts";
import { stageName } from "./parameter-values.ts";
import {
  ENDPOINT_PARAMETERS,
  FUNCTION_PARAMETERS,
  type FunctionName,
  type FunctionParameter,
} from "./function-parameters.ts";
import type { Given, Parameter } from "./parameter.ts";
import {
  DEFAULT_STAGE,
  hasFirewall,
  PARAMETERS,
  type DomainParameters,
  type Parameters,
} from "./parameters.ts";

/** All problems with the parameters, in one message. */
export class ParameterError extends Error {
  override readonly name = "ParameterError";
}

type Values = Readonly<Record<string, unknown>>;

/** Context keys that belong to the CDK itself. */
const isOfTheCdk = (name: string): boolean =>
  /[:@/]/.test(name) || ["cli-telemetry", "acknowledged-issue-numbers"].includes(name);

const ENDPOINT_NAMES = Object.keys(endpoints) as EndpointName[];

const FUNCTION_NAMES: readonly FunctionName[] = [
  "authorizeCredential",
  ...ENDPOINT_NAMES,
  ...(Object.keys(SCHEDULED_FUNCTIONS) as ScheduledFunctionName[]),
];

type Readable = Pick<Parameter<unknown>, "schema" | "defaultOf">;

/** The parameters that each function of these names has, by `<function>.<parameter>`. */
const ofEach = <Name extends string>(
  names: readonly Name[],
  parameters: Readonly<Record<string, FunctionParameter<Name, unknown>>>,
): (readonly [string, Readable])[] =>
  names.flatMap((name) =>
    Object.entries(parameters).map(
      ([key, { schemaOf, defaultOf }]) =>
        [
          `${name}.${key}`,
          { schema: schemaOf(name), defaultOf: (given: Given) => defaultOf(name, given) },
        ] as const,
    ),
  );

const ALL: ReadonlyMap<string, Readable> = new Map([
  ...Object.entries<Readable>(PARAMETERS),
  ...ofEach<FunctionName>(FUNCTION_NAMES, FUNCTION_PARAMETERS),
  ...ofEach<EndpointName>(ENDPOINT_NAMES, ENDPOINT_PARAMETERS),
]);

/** Names of all parameters. */
export const parameterNames = (): readonly string[] => [...ALL.keys()];

/** Takes a value, or else the preset, and tells of an invalid one. */
type Take = <Value>(name: string, schema: z.ZodType<Value>, preset: NoInfer<Value>) => Value;

const takingFrom =
  (values: Values, complain: (problem: string) => void): Take =>
  (name, schema, preset) => {
    const given = values[name];
    if (given === undefined) return preset;
    const parsed = schema.safeParse(given);
    if (parsed.success) return parsed.data;
    complain(`${name} must be ${String(schema.meta()?.["expected"])}; it is ${JSON.stringify(given)}.`);
    return preset;
  };

/** Values that decide the other defaults. */
const givenBy = (take: Take): Given => {
  const stage = take("stage", PARAMETERS.stage.schema, DEFAULT_STAGE);
  const start = { serviceName: serviceNameOf(stage), accountConcurrency: null };
  const { schema, defaultOf } = PARAMETERS.presets;
  const preset = defaultOf({ ...start, isDisposable: stage === "development" });
  return {
    serviceName: start.serviceName,
    isDisposable: take("presets", schema, preset) === "development",
    accountConcurrency: take("accountConcurrency", PARAMETERS.accountConcurrency.schema, null),
  };
};

const serviceNameOf = (stage: string): string =>
  stage === DEFAULT_STAGE ? "customer-entitlements" : `customer-entitlements-${stage}`;

const domainOf = ({ domainName: name, certificateArn, hostedZoneId }: Domain): DomainParameters | null =>
  name === null || certificateArn === null ? null : { name, certificateArn, hostedZoneId };

type Domain = Pick<Parameters, "domainName" | "certificateArn" | "hostedZoneId">;

/** Problems of parameters that do not fit together. */
const conflictsIn = (parameters: Parameters): readonly string[] => {
  const { domainName, certificateArn, hostedZoneId, alarmTopicArn, alarmEmail } = parameters;
  const hasDomain = [domainName, certificateArn, hostedZoneId].some((part) => part !== null);
  const reserved = Object.values(parameters.functions).map(({ reservedConcurrency }) => reservedConcurrency);
  const reservation = reservationProblem(reserved, parameters.accountConcurrency);
  return [
    ...(reservation === null ? [] : [reservation]),
    ...(parameters.addressLimitLogs && !hasFirewall(parameters)
      ? [
          "addressLimitLogs needs requestsPerAddress, synchronizesPerAddress, iosNotificationsFromAppleOnly or blockedAddresses: without them nothing is refused by address.",
        ]
      : []),
    ...(hasDomain && parameters.domain === null ? ["domainName and certificateArn belong together."] : []),
    ...(alarmTopicArn !== null && alarmEmail !== null
      ? [
          "alarmEmail and alarmTopicArn exclude each other: the e-mail address subscribes to a topic that the stack creates.",
        ]
      : []),
  ];
};

const read = (take: Take): Parameters => {
  const given = givenBy(take);
  const all: Values = Object.fromEntries(
    [...ALL].map(([name, { schema, defaultOf }]) => [name, take(name, schema, defaultOf(given))] as const),
  );
  const own = Object.fromEntries(Object.keys(PARAMETERS).map((name) => [name, all[name]])) as {
    [Name in keyof typeof PARAMETERS]: Parameters[Name];
  };
  const eachOf = (names: readonly string[], parameters: object): Values =>
    Object.fromEntries(
      names.map((name) => [
        name,
        Object.fromEntries(Object.keys(parameters).map((key) => [key, all[`${name}.${key}`]])),
      ]),
    );
  return {
    ...own,
    serviceName: given.serviceName,
    functions: eachOf(FUNCTION_NAMES, FUNCTION_PARAMETERS) as Parameters["functions"],
    throttling: eachOf(ENDPOINT_NAMES, ENDPOINT_PARAMETERS) as Parameters["throttling"],
    domain: domainOf(own),
    hasAlarms: !given.isDisposable || own.alarmTopicArn !== null || own.alarmEmail !== null,
  };
};

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
  const given: Values = { ...kept, ...values };
  const problems = new Set<string>();
  const parameters = read(takingFrom(given, (problem) => problems.add(problem)));
  for (const conflict of conflictsIn(parameters)) problems.add(conflict);
  for (const name of Object.keys(given))
    if (!ALL.has(name) && !isOfTheCdk(name)) problems.add(`There is no parameter ${name}.`);
  if (misplaced !== undefined) problems.add("A stage cannot name its stage: stages.json does already.");
  if (problems.size > 0)
    throw new ParameterError(["The deployment parameters are not valid:", ...problems].join("\n- "));
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
