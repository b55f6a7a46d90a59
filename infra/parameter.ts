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
export const always = <Value>(
  schema: z.ZodType<Value>,
  value: NoInfer<Value>,
  meaning: string,
): Parameter<Value> => ({ schema, defaultOf: () => value, shown: shownOf(value), meaning });

/** A default for permanent stages, and one for disposable stages. */
export const byStage = <Value>(
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

export const oneOf = <const Value extends string>(...values: readonly Value[]): z.ZodType<Value> =>
  z.enum(values).meta({ expected: values.join(" or ") });

export const text = (pattern: RegExp, expected: string): z.ZodType<string> =>
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
export const key = text(/^arn:aws[\w-]*:kms:[\w-]+:\d{12}:key\/[\w-]+$/, "the ARN of a KMS key");
export const units = orNone(whole(1, 1_000_000));

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
