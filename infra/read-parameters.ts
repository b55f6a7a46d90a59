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

/** Context keys that belong to the CDK itself. */
const isOfTheCdk = (name: string): boolean =>
  /[:@/]/.test(name) || ["cli-telemetry", "acknowledged-issue-numbers"].includes(name);

/** Reads values from the context and collects their problems. */
class Context {
  readonly #values: Readonly<Record<string, unknown>>;
  readonly #known = new Set<string>();
  readonly #problems = new Set<string>();

  constructor(values: Readonly<Record<string, unknown>>) {
    this.#values = values;
  }

  take<Value>(name: string, schema: z.ZodType<Value>, preset: NoInfer<Value>): Value {
    this.#known.add(name);
    const given = this.#values[name];
    if (given === undefined) return preset;
    const parsed = schema.safeParse(given);
    if (parsed.success) return parsed.data;
    this.complain(`${name} must be ${String(schema.meta()?.["expected"])}; it is ${JSON.stringify(given)}.`);
    return preset;
  }

  /** Takes every parameter of a record. */
  takeAll<Values>(
    parameters: { readonly [Name in keyof Values]: Parameter<Values[Name]> },
    given: Given,
  ): Values {
    const entries = Object.entries<Parameter<unknown>>(parameters);
    return Object.fromEntries(
      entries.map(([name, { schema, defaultOf }]) => [name, this.take(name, schema, defaultOf(given))]),
    ) as Values;
  }

  /** Takes every parameter that each function of these names has. */
  takeEach<Name extends string, Values>(
    names: readonly Name[],
    parameters: { readonly [Key in keyof Values]: FunctionParameter<Name, Values[Key]> },
    given: Given,
  ): Record<Name, Values> {
    const entries = Object.entries<FunctionParameter<Name, unknown>>(parameters);
    const valuesOf = (name: Name) =>
      Object.fromEntries(
        entries.map(([key, { schemaOf, defaultOf }]) => [
          key,
          this.take(`${name}.${key}`, schemaOf(name), defaultOf(name, given)),
        ]),
      );
    return Object.fromEntries(names.map((name) => [name, valuesOf(name)])) as Record<Name, Values>;
  }

  complain(...problems: readonly string[]): void {
    for (const problem of problems) this.#problems.add(problem);
  }

  refuseOthers(): void {
    for (const name of Object.keys(this.#values))
      if (!this.#known.has(name) && !isOfTheCdk(name)) this.complain(`There is no parameter ${name}.`);
  }

  get names(): readonly string[] {
    return [...this.#known];
  }

  get problems(): readonly string[] {
    return [...this.#problems];
  }
}

const ENDPOINT_NAMES = Object.keys(endpoints) as EndpointName[];

const FUNCTION_NAMES: readonly FunctionName[] = [
  "authorizeCredential",
  ...ENDPOINT_NAMES,
  ...(Object.keys(SCHEDULED_FUNCTIONS) as ScheduledFunctionName[]),
];

/** Values that decide the other defaults, read first. */
const givenIn = (context: Context): Given & { readonly stage: string } => {
  const stage = context.take("stage", PARAMETERS.stage.schema, DEFAULT_STAGE);
  const start = { serviceName: serviceNameOf(stage), accountConcurrency: null };
  const { schema, defaultOf } = PARAMETERS.presets;
  const preset = defaultOf({ ...start, isDisposable: stage === "development" });
  return {
    stage,
    serviceName: start.serviceName,
    isDisposable: context.take("presets", schema, preset) === "development",
    accountConcurrency: context.take("accountConcurrency", PARAMETERS.accountConcurrency.schema, null),
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

const read = (context: Context): Parameters => {
  const given = givenIn(context);
  const values = context.takeAll<{ [Name in keyof typeof PARAMETERS]: Parameters[Name] }>(PARAMETERS, given);
  const parameters: Parameters = {
    ...values,
    serviceName: given.serviceName,
    functions: context.takeEach<FunctionName, Parameters["functions"][FunctionName]>(
      FUNCTION_NAMES,
      FUNCTION_PARAMETERS,
      given,
    ),
    throttling: context.takeEach<EndpointName, Parameters["throttling"][EndpointName]>(
      ENDPOINT_NAMES,
      ENDPOINT_PARAMETERS,
      given,
    ),
    domain: domainOf(values),
    hasAlarms: !given.isDisposable || values.alarmTopicArn !== null || values.alarmEmail !== null,
  };
  context.complain(...conflictsIn(parameters));
  return parameters;
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
  if (misplaced !== undefined) context.complain("A stage cannot name its stage: stages.json does already.");
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
