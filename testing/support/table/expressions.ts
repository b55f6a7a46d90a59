import { isDeepStrictEqual } from "node:util";

/** An item, as the document client takes and gives it. */
export type Item = Record<string, unknown>;

/** What the names and values in an expression stand for. */
interface Placeholders {
  readonly ExpressionAttributeNames?: Readonly<Record<string, string>> | undefined;
  readonly ExpressionAttributeValues?: Readonly<Record<string, unknown>> | undefined;
}

type Test = (item: Item, placeholders: Placeholders) => boolean;

/** Strings in DynamoDB's order: by their UTF-8 bytes. */
export const compareText = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b));

const unknown = (expression: string): Error =>
  new Error(`The memory table does not understand the expression ${expression}.`);

/**
 * Attributes that expressions name without a placeholder. `memory-table.test.ts` shows that none is one of DynamoDB's
 * reserved words.
 *
 * @see https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ReservedWords.html
 */
export const PLAIN_NAMES: ReadonlySet<string> = new Set([
  "account",
  "aliasOf",
  "application",
  "ask",
  "customer",
  "erasedUntil",
  "leaseUntil",
  "link",
  "pausedUntil",
  "pk",
  "revision",
  "revokedAt",
  "secretEpochs",
  "since",
  "sk",
  "tableFormat",
  "version",
  "worker",
]);

const nameOf = (name: string, { ExpressionAttributeNames }: Placeholders): string => {
  if (PLAIN_NAMES.has(name)) return name;
  const given = ExpressionAttributeNames?.[name];
  if (given === undefined) throw unknown(name);
  return given;
};

const valueOf = (name: string, { ExpressionAttributeValues }: Placeholders): unknown => {
  const given = ExpressionAttributeValues?.[name];
  if (given === undefined) throw unknown(name);
  return given;
};

/** Negative, zero or positive; NaN: values of different types have no order. */
const order = (a: unknown, b: unknown): number => {
  if (typeof a === "number" && typeof b === "number") return a - b;
  return typeof a === "string" && typeof b === "string" ? compareText(a, b) : Number.NaN;
};

const COMPARISONS: Readonly<Record<string, (a: unknown, b: unknown) => boolean>> = {
  "=": isDeepStrictEqual,
  "<>": (a, b) => !isDeepStrictEqual(a, b),
  "<": (a, b) => order(a, b) < 0,
  "<=": (a, b) => order(a, b) <= 0,
  ">": (a, b) => order(a, b) > 0,
  ">=": (a, b) => order(a, b) >= 0,
};

const TOKEN = /\s*(?:(<>|<=|>=|[=<>(),]|[#:]?\w+(?:\.#\w+)?))/gy;

/** Presence, prefixes, comparisons of an attribute, or of one in a map, with a value, AND, OR and parentheses. */
const parse = (expression: string): Test => {
  const tokens = [...expression.matchAll(TOKEN)].map(([, token = ""]) => token);
  if (tokens.join("") !== expression.replaceAll(/\s/g, "")) throw unknown(expression);
  const next = (): string => {
    const token = tokens.shift();
    if (token === undefined) throw unknown(expression);
    return token;
  };
  const take = (wanted: string): void => {
    if (next() !== wanted) throw unknown(expression);
  };
  const inParentheses = <T>(content: () => T): T => {
    take("(");
    const taken = content();
    take(")");
    return taken;
  };

  const term = (): Test => {
    if (tokens[0] === "(") return inParentheses(any);
    const first = next();
    if (first === "attribute_exists" || first === "attribute_not_exists") {
      const name = inParentheses(next);
      return (item, given) => Object.hasOwn(item, nameOf(name, given)) === (first === "attribute_exists");
    }
    if (first === "begins_with") {
      const [name, prefix] = inParentheses(() => {
        const subject = next();
        take(",");
        return [subject, next()] as const;
      });
      return (item, given) => {
        const value = item[nameOf(name, given)];
        return typeof value === "string" && value.startsWith(String(valueOf(prefix, given)));
      };
    }
    const [compares, operand] = [COMPARISONS[next()], next()];
    if (compares === undefined || !operand.startsWith(":")) throw unknown(expression);
    const path = first.split(".");
    return (item, given) => {
      const value = path.reduce<unknown>((part, name) => (part as Item | null)?.[nameOf(name, given)], item);
      return compares(value, valueOf(operand, given));
    };
  };
  /** Operands of one kind with a word between them. */
  const joined = (word: string, operand: () => Test): Test[] => {
    const operands = [operand()];
    while (tokens[0] === word) {
      next();
      operands.push(operand());
    }
    return operands;
  };
  const all = (): Test => {
    const terms = joined("AND", term);
    return (item, given) => terms.every((holds) => holds(item, given));
  };
  const any = (): Test => {
    const alternatives = joined("OR", all);
    return (item, given) => alternatives.some((holds) => holds(item, given));
  };

  const parsed = any();
  if (tokens.length > 0) throw unknown(expression);
  return parsed;
};

const parsed = new Map<string, Test>();

/** Whether an item matches a condition, filter or key condition; undefined: every item does. */
export const matches = (expression: string | undefined, item: Item, placeholders: Placeholders): boolean => {
  if (expression === undefined) return true;
  const test = parsed.get(expression) ?? parse(expression);
  parsed.set(expression, test);
  return test(item, placeholders);
};

const ACTIONS = /(SET|REMOVE|ADD) (.*?)(?= SET | REMOVE | ADD |$)/g;

/** The parts of a list, which are separated by commas outside parentheses. */
const partsOf = (list: string): string[] => list.split(/,\s*(?![^(]*\))/);

/** The item after `SET a = :b, c = if_not_exists(c, :d) REMOVE e, f ADD g :h`. */
export const updated = (item: Item, expression: string, placeholders: Placeholders): Item => {
  const after = { ...item };
  const assigned = (text: string): unknown => {
    const [, kept, preset = ""] = /^if_not_exists\((#?\w+), (:\w+)\)$/.exec(text) ?? [];
    if (kept === undefined) return valueOf(text, placeholders);
    const name = nameOf(kept, placeholders);
    return Object.hasOwn(item, name) ? item[name] : valueOf(preset, placeholders);
  };
  const actions = [...expression.matchAll(ACTIONS)];
  if (actions.map(([whole]) => whole).join(" ") !== expression) throw unknown(expression);
  for (const [, action, list = ""] of actions)
    for (const part of partsOf(list)) {
      const [name = "", text = ""] = part.split(action === "ADD" ? " " : " = ");
      const attribute = nameOf(name, placeholders);
      if (action === "REMOVE") delete after[attribute];
      else if (action === "SET") after[attribute] = assigned(text);
      else {
        const [before, difference] = [after[attribute] ?? 0, valueOf(text, placeholders)];
        if (typeof before !== "number" || typeof difference !== "number") throw unknown(part);
        after[attribute] = before + difference;
      }
    }
  return after;
};

/** The attributes that a projection names; undefined: all. */
export const projected = (item: Item, projection: string | undefined, placeholders: Placeholders): Item => {
  if (projection === undefined) return item;
  const names = new Set(partsOf(projection).map((name) => nameOf(name, placeholders)));
  return Object.fromEntries(Object.entries(item).filter(([name]) => names.has(name)));
};
