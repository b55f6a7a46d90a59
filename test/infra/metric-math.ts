/** Points of a metric, one for each period; null: missing. */
export type Series = readonly (number | null)[];

type Value = number | Series | readonly (number | Series)[];

const TOKEN = /\s*(\d+(?:\.\d+)?|[A-Za-z_]\w*|>=|<=|==|&&|\|\||[-+*/<>()[\],])/y;

const tokensOf = (expression: string): string[] => {
  const tokens: string[] = [];
  TOKEN.lastIndex = 0;
  while (TOKEN.lastIndex < expression.trimEnd().length) {
    const [, token] = TOKEN.exec(expression) ?? [];
    if (token === undefined) throw new Error(`This is no metric math: ${expression}`);
    tokens.push(token);
  }
  return tokens;
};

const OPERATORS: Readonly<Record<string, readonly [strength: number, of: (a: number, b: number) => number]>> =
  {
    "||": [1, (a, b) => Number(a !== 0 || b !== 0)],
    "&&": [2, (a, b) => Number(a !== 0 && b !== 0)],
    "==": [3, (a, b) => Number(a === b)],
    "<": [3, (a, b) => Number(a < b)],
    "<=": [3, (a, b) => Number(a <= b)],
    ">": [3, (a, b) => Number(a > b)],
    ">=": [3, (a, b) => Number(a >= b)],
    "+": [4, (a, b) => a + b],
    "-": [4, (a, b) => a - b],
    "*": [5, (a, b) => a * b],
    "/": [5, (a, b) => a / b],
  };

const isSeries = (value: Value): value is Series =>
  Array.isArray(value) && value.every((point) => point === null || typeof point === "number");

/**
 * Value of an expression of CloudWatch's metric math, as far as alarms use it. As in CloudWatch, a result is missing where
 * an operand is, and so is a division by zero; MAX, MIN and SUM of an array leave out what is missing.
 *
 * @see https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/using-metric-math.html
 */
export const metricMath = (
  expression: string,
  metrics: Readonly<Record<string, Series>>,
  periods: number,
): Series => {
  const tokens = tokensOf(expression);
  let position = 0;
  const take = (expected?: string): string => {
    const token = tokens[position];
    position += 1;
    if (token === undefined || (expected !== undefined && token !== expected))
      throw new Error(`Expected ${expected ?? "more"} in ${expression}, not ${token ?? "its end"}.`);
    return token;
  };

  const asSeries = (value: Value | undefined): Series => {
    if (typeof value === "number") return Array.from({ length: periods }, () => value);
    if (value !== undefined && isSeries(value)) return value;
    throw new Error(`An array of metrics is no operand: ${expression}`);
  };
  const pointwise = (of: (...points: number[]) => number, ...values: readonly Value[]): Series => {
    const all = values.map(asSeries);
    return Array.from({ length: periods }, (_, index) => {
      const points = all.map((series) => series[index] ?? null).filter((point) => point !== null);
      const result = points.length < all.length ? NaN : of(...points);
      return Number.isFinite(result) ? result : null;
    });
  };
  const acrossSeries = (of: (...points: number[]) => number, value: Value | undefined): Series => {
    if (!Array.isArray(value) || isSeries(value)) throw new Error(`Not an array of metrics: ${expression}`);
    const all = (value as readonly (number | Series)[]).map(asSeries);
    return Array.from({ length: periods }, (_, index) => {
      const points = all.map((series) => series[index] ?? null).filter((point) => point !== null);
      return points.length === 0 ? null : of(...points);
    });
  };
  const call = (name: string, args: readonly Value[]): Value => {
    const [first, second, third] = args;
    switch (name) {
      case "FILL":
        return asSeries(first).map((point, index) => point ?? asSeries(second)[index] ?? null);
      case "IF":
        return asSeries(first).map((point, index) =>
          point === null ? null : (asSeries(point === 0 ? third : second)[index] ?? null),
        );
      case "MAX":
        return acrossSeries(Math.max, first);
      case "MIN":
        return acrossSeries(Math.min, first);
      case "SUM":
        return acrossSeries((...points) => points.reduce((a, b) => a + b, 0), first);
      default:
        throw new Error(`This evaluation does not know ${name}.`);
    }
  };

  const listUntil = (end: string): Value[] => {
    const values: Value[] = [];
    while (tokens[position] !== end) {
      values.push(sum(0));
      if (tokens[position] === ",") take();
    }
    take(end);
    return values;
  };
  const operand = (): Value => {
    const token = take();
    if (token === "(") {
      const value = sum(0);
      take(")");
      return value;
    }
    if (token === "[") return listUntil("]") as readonly (number | Series)[];
    if (/^\d/.test(token)) return Number(token);
    if (tokens[position] === "(") {
      take("(");
      return call(token, listUntil(")"));
    }
    const metric = metrics[token];
    if (metric === undefined) throw new Error(`There is no metric ${token} in ${expression}.`);
    return metric;
  };
  const sum = (weakest: number): Value => {
    let left = operand();
    for (;;) {
      const [strength, of] = OPERATORS[tokens[position] ?? ""] ?? [];
      if (strength === undefined || of === undefined || strength <= weakest) return left;
      take();
      left = pointwise(of, left, sum(strength));
    }
  };

  const result = asSeries(sum(0));
  if (position < tokens.length) throw new Error(`Unexpected ${tokens[position]} in ${expression}.`);
  return result;
};
