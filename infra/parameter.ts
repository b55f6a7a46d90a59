import type * as z from "zod";

/** Values that decide the other defaults. */
export interface Given {
  readonly serviceName: string;
  /** Whether the stage takes the defaults of `development`: it can be thrown away. */
  readonly isDisposable: boolean;
  readonly accountConcurrency: number | null;
}

/** A parameter of a deployment: its values, its default, and its row in docs/deploy.md. */
export interface Parameter<Value> {
  readonly schema: z.ZodType<Value>;
  readonly defaultOf: (given: Given) => Value;
  /** The default in the guide. */
  readonly shown: string;
  readonly meaning: string;
}

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
